import { expect, test } from 'bun:test'
import { CredentialWrites } from '../../src/accounts/credential-writes.ts'
import { type AccessToken, LIVE_CREDENTIALS_MAX } from '../../src/core/catalogue/agency.ts'
import { systemIds } from '../../src/lib/ids.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { AGENCY, CALLER, sampleId } from '../support/samples.ts'

const token = (n: number): AccessToken => ({
  id: sampleId('tok', n),
  agencyId: AGENCY.id,
  name: 'Maria',
  role: 'desk',
  prefix: 'hp_live_',
  secretSha256: `${n}`,
  createdAt: 0,
  expiresAt: null,
  revokedAt: null,
})

test('a token that is still being stored counts towards the limit after another one has been stored', async () => {
  const tokens = Array.from({ length: LIVE_CREDENTIALS_MAX - 2 }, (_, n) => token(n))
  const inserts: (() => void)[] = []
  const writes = new CredentialWrites<AccessToken>(
    {
      access: 'access_token',
      isHere: () => true,
      find: () => null,
      of: () => tokens,
      put: (stored) => void tokens.push(stored),
      forgetEnded: () => {},
      insert: () => new Promise((resolve) => inserts.push(resolve)),
      revoke: async () => {},
      load: async () => [],
      settle: async () => {},
    },
    { clock: new FakeClock(), newId: systemIds },
  )
  const [first, second] = [writes.create(token(1_001), CALLER), writes.create(token(1_002), CALLER)]
  inserts[0]?.()
  expect(await first).toMatchObject({ kind: 'done' })
  const third = writes.create(token(1_003), CALLER)
  for (const stored of inserts) stored()
  expect(await third).toMatchObject({ kind: 'refused' })
  expect(await second).toMatchObject({ kind: 'done' })
})
