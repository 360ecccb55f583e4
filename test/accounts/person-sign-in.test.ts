import { beforeEach, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import type { Passkey } from '../../src/accounts/passkeys.ts'
import { browserOf, LinkSecrets, type PersonLink } from '../../src/accounts/person-links.ts'
import type { PersonRows } from '../../src/accounts/person-rows.ts'
import { LINK_READS_PER_MINUTE, PersonSignIn } from '../../src/accounts/person-sign-in.ts'
import type { Session } from '../../src/accounts/portal-sessions.ts'
import { WriteError } from '../../src/core/bookings/write-error.ts'
import { Catalogue } from '../../src/core/catalogue/catalogue.ts'
import type { Person } from '../../src/core/catalogue/people.ts'
import { MINUTE_MS } from '../../src/lib/clock.ts'
import { systemIds } from '../../src/lib/ids.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { AGENCY, CALLER, sampleId } from '../support/samples.ts'

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
const secretsOf = (key: number) => new LinkSecrets({ secretKey: new Uint8Array(32).fill(key), random: randomBytes })

/** By hash. */
const stored = new Map<string, PersonLink>()
let reads: number
let clock: FakeClock
let signIn: PersonSignIn
let isEnding: boolean
/** Called when a link that signs in is stored. */
let inserted: () => void
let catalogue: Catalogue
/** What an invitation that is used waits for. */
let invitationUsed: PromiseWithResolvers<boolean>
const open = new Set<Session>()
const added: string[] = []
let passkeys: readonly Passkey[]
beforeEach(() => {
  stored.clear()
  open.clear()
  added.length = 0
  passkeys = []
  reads = 0
  clock = new FakeClock()
  isEnding = false
  inserted = () => {}
  invitationUsed = Promise.withResolvers()
  const rows: Partial<PersonRows> = {
    peopleWithEmail: async () => [ANA],
    insertSignInLink: async (link) => {
      stored.set(link.sha256, link)
      inserted()
    },
    findLink: async (_, sha256) => {
      reads += 1
      return stored.get(sha256) ?? null
    },
    useInvitation: () => invitationUsed.promise,
    passkeysOf: async () => passkeys,
    renamePasskey: async ({ id }) => passkeys.some((passkey) => passkey.id === id),
    insertPasskey: async ({ name }) => {
      added.push(name)
      return true
    },
  }
  catalogue = new Catalogue({} as never)
  catalogue.putPart({ agencies: [AGENCY], keys: [], accessTokens: [], people: [ANA] })
  signIn = new PersonSignIn({
    catalogue,
    rows: rows as PersonRows,
    clock,
    newId: systemIds,
    links: secretsOf(7),
    changes: { isEnding: () => isEnding },
    passkeys: { verifyNew: async () => ({}) } as never,
    sessions: {
      isOpen: (session) => open.has(session),
      endAllOf: (_, except) => {
        for (const session of open) if (session !== except) open.delete(session)
      },
    },
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

  test('is not looked up once it has expired, nor with a later expiry than it was made with', async () => {
    const secret = await signIn.makeSignInLink(ANA, 1_000)
    const bytes = Buffer.from(secret.slice(3), 'base64url')
    bytes.writeUIntBE(clock.now() + MINUTE_MS, 32, 6)
    expect(await signIn.findLink(`hl_${bytes.toString('base64url')}`, null)).toBeNull()
    await clock.advance(1_000)
    expect(await signIn.findLink(secret, null)).toBeNull()
    expect(reads).toBe(0)
  })

  test.each(['valid', 'used'])(
    'that is %s is read a few times a minute at most, whatever browser shows it',
    async (state) => {
      const secret = await signIn.makeSignInLink(ANA, 2 * MINUTE_MS, 'its own')
      if (state === 'used') stored.clear()
      for (let n = 0; n < LINK_READS_PER_MINUTE; n++) await signIn.findLink(secret, String(n))
      for (const browser of [null, 'its own'])
        expect(await signIn.findLink(secret, browser)).toMatchObject({ of: 'link' })
      expect(reads).toBe(LINK_READS_PER_MINUTE)
      await signIn.findLink(await signIn.makeSignInLink(ANA, 2 * MINUTE_MS), null)
      await clock.advance(MINUTE_MS)
      await signIn.findLink(secret, null)
      expect(reads).toBe(LINK_READS_PER_MINUTE + 2)
    },
  )

  test('lets nobody in while the database may still have it after a change that has ended it', async () => {
    const secret = await signIn.makeSignInLink(ANA, 1_000)
    const found = await signIn.findLink(secret, null)
    if (found === null || !('link' in found)) throw new Error('Expected a link')
    isEnding = true
    invitationUsed.resolve(true)
    expect(await signIn.findLink(secret, null)).toBeNull()
    expect(await signIn.useInvitation(found, {} as never, {} as Session, CALLER)).toBe(false)
    isEnding = false
    expect(await signIn.useInvitation(found, {} as never, {} as Session, CALLER)).toBe(true)
  })
})

describe('a link from the provider', () => {
  const linkOf = async (browser: string) => {
    const [secret = ''] = await signIn.linksOf('Ana@example.com', browser)
    return signIn.findLink(secret, browser)
  }

  test('lets in who has the address that it was made for, without regard to case', async () => {
    expect(await linkOf(browserOf('Ana@example.com'))).toMatchObject({ member: { member: ANA } })
    catalogue.putPerson({ ...ANA, email: 'ANA@example.com', revision: 1 })
    expect(await linkOf(browserOf('Ana@example.com'))).not.toBeNull()
  })

  test('lets nobody in whose browser comes from another sign-in, though the provider named the same address there', async () => {
    const [secret = ''] = await signIn.linksOf('Ana@example.com', browserOf('Ana@example.com'))
    for (const browser of [browserOf('Ana@example.com'), '', null])
      expect(await signIn.findLink(secret, browser)).toBeNull()
  })

  test.each([
    ['another address', 'ana@example.org'],
    ['none', null],
  ])('lets nobody in when the person has got %s while it was made', async (_, email) => {
    inserted = () => catalogue.putPerson({ ...ANA, email, revision: 1 })
    expect(await linkOf(browserOf('Ana@example.com'))).toBeNull()
  })
})

describe('a passkey', () => {
  const member = { kind: 'person', agency: AGENCY, member: ANA } as const
  const session = (id: string) => ({ id }) as Session
  const add = (name: string, by: Session) =>
    signIn.add({ ...member, session: by }, { name, passkey: {} as never }, CALLER)

  test('that was removed while it is renamed has no name', async () => {
    passkeys = [{ id: sampleId('pky', 'phone'), name: 'phone' } as Passkey]
    const renamed = (name: string) => signIn.rename(member, { id: sampleId('pky', 'phone'), name }, CALLER)
    expect((await renamed('tablet')).kind).toBe('done')
    const late = renamed('laptop')
    passkeys = []
    expect((await late).kind).toBe('not_found')
  })

  test('is added in a session that is open', async () => {
    const own = session('own')
    open.add(own)
    expect((await add('phone', own)).kind).toBe('done')
    expect(added).toEqual(['phone'])
  })

  test('is not added in a session that an invitation ends meanwhile: all may have been lost to somebody', async () => {
    const [stolen, next] = [session('stolen'), session('next')]
    open.add(stolen).add(next)
    const link = { agencyId: AGENCY.id, personId: ANA.id, sha256: 'x' } as PersonLink
    const used = signIn.useInvitation({ link, member }, { name: 'new' } as never, next, CALLER)
    const late = add('stolen', stolen)
    invitationUsed.resolve(true)
    expect([await used, (await late).kind, added]).toEqual([true, 'refused', []])
    expect((await add('phone', next)).kind).toBe('done')
  })
})

describe('an invitation whose use failed', () => {
  test.each([
    ['unknown', 'ends'],
    ['not_written', 'leaves'],
  ] as const)('with the outcome %s %s the other sessions of the person', async (outcome, does) => {
    const [stolen, next] = [{ id: 'stolen' } as Session, { id: 'next' } as Session]
    open.add(stolen).add(next)
    const link = { agencyId: AGENCY.id, personId: ANA.id, sha256: 'x' } as PersonLink
    const found = { link, member: { kind: 'person', agency: AGENCY, member: ANA } } as const
    const used = signIn.useInvitation(found, { name: 'new' } as never, next, CALLER)
    invitationUsed.reject(new WriteError(outcome, 'the reply was lost'))
    expect(await used.catch((error: unknown) => error)).toBeInstanceOf(WriteError)
    expect(open.has(stolen)).toBe(does === 'leaves')
  })
})
