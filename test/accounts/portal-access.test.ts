import { describe, expect, test } from 'bun:test'
import { AnswerPace, BURST_PARTS } from '../../src/accounts/partner-access.ts'
import { PortalAccess } from '../../src/accounts/portal-access.ts'
import type { PortalSessions, Session } from '../../src/accounts/portal-sessions.ts'
import { makeSecret } from '../../src/accounts/secrets.ts'
import { TokenRateLimit } from '../../src/accounts/token-rate-limit.ts'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { type AccessToken, type RequiredRole, ROLES, suffices, TOKEN_PREFIX } from '../../src/core/catalogue/agency.ts'
import type { Member } from '../../src/core/catalogue/catalogue.ts'
import type { Person } from '../../src/core/catalogue/people.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { AGENCY, sampleId } from '../support/samples.ts'

const NOW = Date.UTC(2027, 0, 1)
const OPERATOR_TOKENS = ['o'.repeat(32), 'p'.repeat(40)]
const { secret, prefix, sha256 } = makeSecret(TOKEN_PREFIX, (bytes) => new Uint8Array(bytes).fill(7))
const TOKEN: AccessToken = {
  id: sampleId('tok', 'a'),
  agencyId: AGENCY.id,
  name: 'Maria',
  role: 'desk',
  prefix,
  secretSha256: sha256,
  createdAt: 0,
  expiresAt: null,
  revokedAt: null,
}

function accessTo(options: { token?: Partial<AccessToken>; agency?: Partial<Agency>; pace?: AnswerPace } = {}) {
  const { token = {}, agency = {}, pace = new AnswerPace(new FakeClock()) } = options
  const holder: Member = { kind: 'access_token', member: { ...TOKEN, ...token }, agency: { ...AGENCY, ...agency } }
  const catalogue = {
    accessTokens: { holderByHash: (hash: string) => (hash === sha256 ? holder : null) },
    member: (_: string, __: string, id: string) => (id === TOKEN.id ? holder : null),
  }
  const clock = { now: () => NOW }
  return new PortalAccess({ operatorTokens: OPERATOR_TOKENS, catalogue, clock, pace })
}

describe('the portal', () => {
  test.each(OPERATOR_TOKENS)('takes each of the operator’s tokens', (token) => {
    expect(accessTo().admit(`Bearer ${token}`)).toEqual({ kind: 'operator', session: null })
  })

  test('takes an access token, which begins with hp_live_', () => {
    expect(secret).toBe(`hp_live_${Buffer.alloc(32, 7).toString('base64url')}`)
    expect(accessTo().admit(`bearer  ${secret}`)).toMatchObject({ kind: 'access_token', member: TOKEN, agency: AGENCY })
  })

  test.each([
    null,
    '',
    'Bearer',
    secret,
    `Basic ${secret}`,
    `Bearer ${secret}x`,
    `Bearer ${secret.slice(0, -1)}`,
    `Bearer ${OPERATOR_TOKENS.join(',')}`,
    `Bearer ${sha256}`,
    `Bearer ${'x'.repeat(2_000)}`,
  ])('refuses %s', (authorization) => {
    expect(accessTo().admit(authorization)).toBeNull()
  })

  test.each<[string, Parameters<typeof accessTo>[0]]>([
    ['is revoked', { token: { revokedAt: NOW - 1 } }],
    ['has expired', { token: { expiresAt: NOW - 1 } }],
    ['belongs to a suspended agency', { agency: { status: 'suspended' } }],
  ])('refuses a token that %s, also when that comes to be while its body arrives', (_, state) => {
    const admitted = accessTo().admit(`Bearer ${secret}`)
    if (admitted === null) throw new Error('Expected to be admitted')
    expect(accessTo(state).admit(`Bearer ${secret}`)).toBeNull()
    expect(accessTo(state).readmit(admitted)).toBeNull()
    expect(accessTo(state).holderOf(`Bearer ${secret}`)?.member.id).toBe(TOKEN.id)
  })

  test('A1: notes that an agency is served, so that the large answers of others are farther apart', () => {
    const pace = new AnswerPace(new FakeClock())
    const noted: string[] = []
    pace.noteServed = (agencyId) => void noted.push(agencyId)
    const access = accessTo({ pace })
    for (const token of [secret, OPERATOR_TOKENS[0]]) {
      const identity = access.admit(`Bearer ${token}`)
      if (identity === null) throw new Error('Expected to be admitted')
      expect(access.take(identity)).toBeNull()
    }
    expect(noted).toEqual([AGENCY.id])
  })

  test('takes a token until the very moment it expires', () => {
    expect(accessTo({ token: { expiresAt: NOW } }).admit(`Bearer ${secret}`)).not.toBeNull()
  })

  test('without the operator’s tokens takes access tokens only', () => {
    const catalogue = { accessTokens: { holderByHash: () => null }, member: () => null }
    const access = new PortalAccess({ operatorTokens: [], catalogue, clock: { now: () => NOW } })
    expect(access.admit(`Bearer ${OPERATOR_TOKENS[0]}`)).toBeNull()
  })
})

test('a role suffices for itself and for those below it; nothing but the operator suffices for the operator', () => {
  const all: RequiredRole[] = [...ROLES, 'operator']
  const pairs = all.flatMap((held, h) => all.map((required, r) => [suffices(held, required), h >= r]))
  for (const [found, expected] of pairs) expect(found).toBe(expected as boolean)
  expect(ROLES).toEqual(['viewer', 'desk', 'manager', 'owner'])
})

test('work that the length of an answer does not show counts against the budget of the token and the pace of the agency', () => {
  const clock = new FakeClock()
  const rateLimit = new TokenRateLimit({ clock, requestsPerMinute: 10 })
  const holder: Member = { kind: 'access_token', member: TOKEN, agency: AGENCY }
  const access = new PortalAccess({
    operatorTokens: OPERATOR_TOKENS,
    catalogue: { accessTokens: { holderByHash: () => holder }, member: () => holder },
    clock: { now: () => NOW },
    rateLimit,
    pace: new AnswerPace(clock),
  })
  const [person, operator] = [access.admit(`Bearer ${secret}`), access.admit(`Bearer ${OPERATOR_TOKENS[0]}`)]
  if (person === null || operator === null) throw new Error('Expected to be admitted')
  expect([access.take(person), access.takeParts(person, 2.5), access.takeParts(operator, 1_000)]).toEqual([
    null,
    null,
    null,
  ])
  for (let left = 7; left > 0; left--) expect(access.take(person)).toBeNull()
  expect(access.take(person)).toMatchObject({ of: 'access token', limit: 10 })
  access.takeParts(person, BURST_PARTS)
  expect(access.takeParts(person, 1)).toBeInstanceOf(Promise)
})

test('a person who was changed while they signed in is not let in: the change has ended all other sessions', async () => {
  const member: Person = {
    ...({ id: sampleId('per', 'a'), agencyId: AGENCY.id, name: 'Ana', email: null, role: 'owner' } as const),
    ...{ createdAt: 0, removedAt: null, revision: 1 },
  }
  let now = member
  const ended: string[] = []
  const session = { id: 'ses_a' } as Session
  const change = () => {
    now = { ...member, role: 'viewer', revision: 2 }
  }
  const signIn = async (whileOpening: () => void, whileStoring: () => void) => {
    now = member
    const sessions: Partial<PortalSessions> = {
      open: async () => {
        whileOpening()
        return { session, secret: 'x' }
      },
      isOpen: () => true,
      end: ({ id }) => void ended.push(id),
    }
    const access = new PortalAccess({
      operatorTokens: [],
      catalogue: {
        accessTokens: { holderByHash: () => null },
        member: () => ({ kind: 'person', member: now, agency: AGENCY }),
      },
      clock: { now: () => NOW },
      sessions: sessions as PortalSessions,
    })
    return access.signInPerson(
      { kind: 'person', member, agency: AGENCY },
      { device: '', address: '', way: 'passkey' },
      async () => {
        whileStoring()
        return true
      },
    )
  }
  const nothing = () => {}
  expect(await signIn(change, nothing)).toBeNull()
  expect(await signIn(nothing, change)).toBeNull()
  expect(ended).toEqual([session.id, session.id])
  expect((await signIn(nothing, nothing))?.identity).toMatchObject({ session, member })
})
