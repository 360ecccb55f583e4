import { expect, test } from 'bun:test'
import { CredentialWrites } from '../../src/accounts/credential-writes.ts'
import { WriteError } from '../../src/core/bookings/write-error.ts'
import { type AccessToken, LIVE_CREDENTIALS_MAX } from '../../src/core/catalogue/agency.ts'
import { systemIds } from '../../src/lib/ids.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { AGENCY, CALLER, sampleId } from '../support/samples.ts'

const token = (n: number, agencyId = AGENCY.id): AccessToken => ({
  id: sampleId('tok', n),
  agencyId,
  name: 'Maria',
  role: 'desk',
  prefix: 'hp_live_',
  secretSha256: `${n}`,
  createdAt: 0,
  expiresAt: null,
  revokedAt: null,
})

/** @param tokens of the agency in memory, to which those that are made are added */
function open(tokens: AccessToken[], stored: readonly AccessToken[] = []) {
  const inserts: PromiseWithResolvers<void>[] = []
  const writes = new CredentialWrites<AccessToken>(
    {
      access: 'access_token',
      isHere: () => true,
      credentials: { byId: () => null, of: () => tokens, forgetEnded: () => {} },
      put: (made) => void tokens.push(made),
      insert: () => {
        const insert = Promise.withResolvers<void>()
        inserts.push(insert)
        return insert.promise
      },
      revoke: async () => {},
      load: async () => stored,
      settle: async () => {},
    },
    { clock: new FakeClock(), newId: systemIds },
  )
  return { writes, inserts }
}

test('a token that is still being stored counts towards the limit after another one has been stored', async () => {
  const { writes, inserts } = open(Array.from({ length: LIVE_CREDENTIALS_MAX - 2 }, (_, n) => token(n)))
  const [first, second] = [writes.add(token(1_001), CALLER), writes.add(token(1_002), CALLER)]
  inserts[0]?.resolve()
  expect(await first).toMatchObject({ kind: 'done' })
  const third = writes.add(token(1_003), CALLER)
  for (const insert of inserts) insert.resolve()
  expect(await third).toMatchObject({ kind: 'refused' })
  expect(await second).toMatchObject({ kind: 'done' })
})

test('a token that was not stored does not count towards the limit', async () => {
  const { writes, inserts } = open(Array.from({ length: LIVE_CREDENTIALS_MAX - 1 }, (_, n) => token(n)))
  const first = writes.add(token(1_001), CALLER)
  inserts[0]?.reject(new WriteError('not_written', 'x'))
  await expect(first).rejects.toMatchObject({ outcome: 'not_written' })
  const second = writes.add(token(1_002), CALLER)
  inserts[1]?.resolve()
  expect(await second).toMatchObject({ kind: 'done' })
})

test('a token that may not be stored is listed if it is; those of other agencies stay as they are in memory', async () => {
  const tokens: AccessToken[] = []
  const { writes, inserts } = open(tokens, [token(1), token(2, sampleId('agc', 'other'))])
  const creation = writes.add(token(1), CALLER)
  inserts[0]?.reject(new WriteError('unknown', 'x'))
  await expect(creation).rejects.toMatchObject({ outcome: 'unknown' })
  expect(tokens).toEqual([token(1)])
})
