import { beforeEach, describe, expect, test } from 'bun:test'
import { LinkSecrets, type PersonLink } from '../../src/accounts/person-links.ts'
import type { PersonRows } from '../../src/accounts/person-rows.ts'
import { PersonSignIn } from '../../src/accounts/person-sign-in.ts'
import { Catalogue } from '../../src/core/catalogue/catalogue.ts'
import type { Person } from '../../src/core/catalogue/people.ts'
import { systemIds } from '../../src/lib/ids.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { AGENCY, sampleId } from '../support/samples.ts'

const ANA: Person = {
  id: sampleId('per', 'ana'),
  agencyId: AGENCY.id,
  name: 'Ana',
  email: 'ana@example.com',
  role: 'desk',
  createdAt: 0,
  removedAt: null,
  revision: 0,
}
const secretsOf = (key: number) =>
  new LinkSecrets({ secretKey: new Uint8Array(32).fill(key), random: (bytes) => new Uint8Array(bytes) })

/** By hash. */
const stored = new Map<string, PersonLink>()
let reads: number
let signIn: PersonSignIn
beforeEach(() => {
  stored.clear()
  reads = 0
  const rows: Partial<PersonRows> = {
    insertSignInLink: async (link) => void stored.set(link.sha256, link),
    findLink: async (_, sha256) => {
      reads += 1
      return stored.get(sha256) ?? null
    },
  }
  const catalogue = new Catalogue({} as never)
  catalogue.putPart({ agencies: [AGENCY], keys: [], accessTokens: [], people: [ANA] })
  signIn = new PersonSignIn({
    catalogue,
    rows: rows as PersonRows,
    clock: new FakeClock(),
    newId: systemIds,
    links: secretsOf(7),
    passkeys: {} as never,
    sessions: {} as never,
  })
})

describe('a link', () => {
  test('is looked up only if this service has made its secret', async () => {
    const secret = await signIn.makeSignInLink(ANA, 1_000)
    expect(await signIn.findLink(secret, null)).toMatchObject({ member: { member: ANA } })
    expect(reads).toBe(1)
    const of = { agencyId: AGENCY.id, personId: ANA.id, kind: 'sign_in' } as const
    const { secret: forged } = secretsOf(8).make(of, { now: 0, lifetimeMs: 1_000 })
    const changed = secret.slice(0, -1) + (secret.endsWith('A') ? 'B' : 'A')
    for (const wrong of [forged, changed, `${secret.slice(0, 30)}BBBB${secret.slice(34)}`])
      expect(await signIn.findLink(wrong, null)).toBeNull()
    expect(reads).toBe(1)
  })
})
