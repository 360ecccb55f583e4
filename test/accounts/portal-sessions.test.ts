import { describe, expect, test } from 'bun:test'
import { PortalAccess } from '../../src/accounts/portal-access.ts'
import {
  PortalSessions,
  SESSION_IDLE_MS_MAX,
  SESSIONS_PER_AGENCY_MAX,
  SESSIONS_PER_MEMBER_MAX,
  type SessionsToKeep,
  type StoredSession,
} from '../../src/accounts/portal-sessions.ts'
import { makeSecret } from '../../src/accounts/secrets.ts'
import { type AccessToken, type Agency, TOKEN_PREFIX } from '../../src/core/catalogue/agency.ts'
import type { Member } from '../../src/core/catalogue/catalogue.ts'
import { sha256Hex, systemIds } from '../../src/lib/ids.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'
import { AGENCY, sampleId } from '../support/samples.ts'

const OPERATOR_TOKENS = ['o'.repeat(32), 'p'.repeat(40)]
const MINUTE_MS = 60_000
const { secret: TOKEN, sha256, prefix } = makeSecret(TOKEN_PREFIX, (bytes) => new Uint8Array(bytes).fill(7))

/** Rows in memory, which can be away. */
class Rows {
  readonly stored = new Map<string, StoredSession>()
  readonly kept: SessionsToKeep[] = []
  isAway = false

  async insert(session: StoredSession): Promise<void> {
    this.#mustBeThere()
    this.stored.set(session.sha256, { ...session })
  }

  async keep(what: SessionsToKeep): Promise<void> {
    this.#mustBeThere()
    this.kept.push(what)
    for (const { sha256, seenAt } of what.seen) {
      const row = this.stored.get(sha256)
      if (row !== undefined) this.stored.set(sha256, { ...row, seenAt })
    }
    for (const [sha256, { seenAt }] of this.stored)
      if (what.ended.includes(sha256) || seenAt < what.idleSince) this.stored.delete(sha256)
  }

  #mustBeThere(): void {
    if (this.isAway) throw new Error('away')
  }
}

const FROM = { device: 'Firefox', address: '192.0.2.1', way: 'token' } as const

function setUp({
  rows = new Rows(),
  clock = new FakeClock(),
  operatorTokens = OPERATOR_TOKENS,
  stored = true,
  isOnlyProvider = false,
} = {}) {
  const failures: unknown[] = []
  let token: AccessToken = {
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
  let agency: Agency = AGENCY
  const catalogue = {
    accessTokens: {
      holderByHash: (hash: string): Member | null =>
        hash === sha256 ? { kind: 'access_token', member: token, agency } : null,
    },
    member: (kind: Member['kind'], agencyId: string, id: string): Member | null =>
      kind === 'access_token' && agencyId === agency.id && id === token.id ? { kind, member: token, agency } : null,
  }
  const sessions = new PortalSessions({
    rows,
    catalogue,
    clock,
    newId: systemIds,
    onFailure: (error) => failures.push(error),
  })
  sessions.start(stored ? [...rows.stored.values()] : [])
  const access = new PortalAccess({ operatorTokens, catalogue, clock, sessions, isOnlyProvider })
  return {
    rows,
    clock,
    sessions,
    access,
    failures,
    change: (changed: Partial<AccessToken>, changedAgency: Partial<Agency> = {}) => {
      token = { ...token, ...changed }
      agency = { ...agency, ...changedAgency }
    },
    open: async (sent = TOKEN): Promise<string> => {
      const signedIn = await access.signIn(sent, FROM)
      if (signedIn === null) throw new Error('Expected to be signed in')
      return signedIn.secret
    },
    admits: (secret: string, isUse = true): boolean => access.admitSession(secret, { isUse }) !== null,
  }
}

describe('a session', () => {
  test('stands for the token it was opened with, and only the hash of its secret is stored', async () => {
    const { open, access, rows } = setUp()
    const secret = await open()
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(access.admitSession(secret, { isUse: true })).toMatchObject({
      kind: 'access_token',
      member: { name: 'Maria' },
    })
    expect([...rows.stored.keys()]).toEqual([sha256Hex(secret)])
    expect(JSON.stringify([...rows.stored.values()])).not.toContain(secret)
  })

  test('of the operator stands for him; nothing that is stored of it depends on the token alone', async () => {
    const { open, access, rows } = setUp()
    const secrets = [await open(OPERATOR_TOKENS[0]), await open(OPERATOR_TOKENS[0])]
    for (const secret of secrets) expect(access.admitSession(secret, { isUse: true })?.kind).toBe('operator')
    const hmacs = [...rows.stored.values()].map(({ holder }) => (holder.kind === 'operator' ? holder.tokenHmac : ''))
    expect(new Set(hmacs).size).toBe(2)
    expect(hmacs).not.toContain(sha256Hex(OPERATOR_TOKENS[0] ?? ''))
  })

  test('that was opened with a token ends where the provider is the only way in; the operator’s does not', async () => {
    const before = setUp()
    const [own, operators] = [await before.open(), await before.open(OPERATOR_TOKENS[0])]
    const after = setUp({ rows: before.rows, isOnlyProvider: true })
    expect([after.admits(own), after.admits(operators)]).toEqual([false, true])
    await after.sessions.flush()
    expect(after.rows.stored.size).toBe(1)
  })

  test('is opened by no wrong token', async () => {
    const { access, rows } = setUp()
    for (const token of ['', 'x', sha256, `${TOKEN}x`, `Bearer ${TOKEN}`, OPERATOR_TOKENS.join(',')])
      expect(await access.signIn(token, FROM)).toBeNull()
    expect(rows.stored.size).toBe(0)
  })

  test('is found by nothing but its secret', async () => {
    const { open, admits } = setUp()
    const secret = await open()
    for (const other of ['', `${secret}=`, ` ${secret}`, sha256Hex(secret), secret.toLowerCase(), 'x'.repeat(100_000)])
      expect(admits(other)).toBe(false)
    expect(admits(secret)).toBe(true)
  })

  test('that cannot be stored is not opened', async () => {
    const { access, rows, sessions } = setUp()
    rows.isAway = true
    expect(await access.signIn(TOKEN, FROM).catch((error: Error) => error.message)).toBe('away')
    expect(sessions.count).toBe(0)
  })

  test('is not opened if the token is revoked while it is being stored', async () => {
    const { access, rows, change, sessions, clock } = setUp()
    const insert = rows.insert.bind(rows)
    rows.insert = async (session) => {
      await insert(session)
      change({ revokedAt: 1 })
    }
    expect(await access.signIn(TOKEN, FROM)).toBeNull()
    expect(sessions.count).toBe(0)
    await clock.advance(1_000)
    expect(rows.stored.size).toBe(0)
  })
})

describe('a session ends', () => {
  test('when nobody has used it for 12 hours, not a moment earlier', async () => {
    const { open, admits, clock } = setUp()
    const [used, unused] = [await open(), await open()]
    await clock.advance(SESSION_IDLE_MS_MAX - 1)
    expect(admits(used)).toBe(true)
    await clock.advance(2)
    expect(admits(unused)).toBe(false)
    await clock.advance(SESSION_IDLE_MS_MAX - 2)
    expect(admits(used)).toBe(true)
  })

  test('although a program of the page continues asking for changes', async () => {
    const { open, admits, clock } = setUp()
    const secret = await open()
    await clock.advance(SESSION_IDLE_MS_MAX)
    expect(admits(secret, false)).toBe(true)
    await clock.advance(1)
    expect(admits(secret, false)).toBe(false)
  })

  test.each<[string, Partial<AccessToken>, Partial<Agency>]>([
    ['is revoked', { revokedAt: 1 }, {}],
    ['has expired', { expiresAt: 1 }, {}],
    ['belongs to a suspended agency', {}, { status: 'suspended' }],
  ])('with the next request when its token %s, and is deleted', async (_, token, agency) => {
    const { open, access, admits, change, clock, rows } = setUp()
    const secret = await open()
    const identity = access.admitSession(secret, { isUse: true })
    change(token, agency)
    if (identity === null) throw new Error('Expected to be admitted')
    expect(access.readmit(identity)).toBeNull()
    expect(admits(secret)).toBe(false)
    change({ revokedAt: null, expiresAt: null }, { status: 'active' })
    expect(admits(secret)).toBe(false)
    await clock.advance(1_000)
    expect(rows.stored.size).toBe(0)
  })

  test('within a minute when its token is no longer valid and nobody asks; so its row goes', async () => {
    const { open, change, clock, rows, sessions } = setUp()
    await open()
    change({ revokedAt: 1 })
    await clock.advance(MINUTE_MS + 1_000)
    expect([sessions.count, rows.stored.size]).toEqual([0, 0])
  })

  test('with its agency, for good', async () => {
    const { open, admits, sessions } = setUp()
    const [secret, operators] = [await open(), await open(OPERATOR_TOKENS[1])]
    sessions.endAllOf(sampleId('agc', 'another'))
    expect(admits(secret)).toBe(true)
    sessions.endAllOf(AGENCY.id)
    expect([admits(secret), admits(operators)]).toEqual([false, true])
  })

  test('at once when it is signed out of, even while the database is away; repeated, it is stored', async () => {
    const { open, admits, access, sessions, rows, failures, clock } = setUp()
    const secret = await open()
    const identity = access.admitSession(secret, { isUse: true })
    rows.isAway = true
    expect(await sessions.endStored(secret).catch((error: Error) => error.message)).toBe('away')
    expect(admits(secret)).toBe(false)
    expect(identity === null ? null : access.readmit(identity)).toBeNull()
    expect(await sessions.endStored(secret).catch((error: Error) => error.message)).toBe('away')
    await clock.advance(2_000)
    expect(failures.length).toBeGreaterThan(1)
    rows.isAway = false
    await sessions.endStored(secret)
    expect(rows.stored.size).toBe(0)
  })

  test('in the database too once that is back, without being asked again', async () => {
    const { open, sessions, rows, clock } = setUp()
    await open()
    rows.isAway = true
    sessions.endAllOf(AGENCY.id)
    await clock.advance(5_000)
    expect(rows.stored.size).toBe(1)
    rows.isAway = false
    await clock.advance(1_000)
    expect(rows.stored.size).toBe(0)
  })

  test.each([
    ['while the stored ones are read', 'meanwhile'],
    ['before they are read, and was not stored', 'before'],
  ] as const)('for good, also when it ends %s', async (_, when) => {
    const { open, admits, sessions, rows } = setUp()
    const [ended, kept] = [await open(OPERATOR_TOKENS[0]), await open(OPERATOR_TOKENS[0])]
    if (when === 'before') sessions.endBySecret(ended)
    // As they were before that was stored.
    const stored = [...rows.stored.values()]
    await sessions.adoptFrom(async () => {
      await sessions.endStored(ended)
      expect(rows.stored.size).toBe(1)
      return stored
    })
    expect([admits(ended), admits(kept), sessions.count]).toEqual([false, true, 1])
  })

  test('only itself, not the others of the same token', async () => {
    const { open, admits, sessions } = setUp()
    const [first, second] = [await open(), await open()]
    await sessions.endStored(first)
    expect([admits(first), admits(second)]).toEqual([false, true])
  })
})

describe('after a restart', () => {
  test('a session continues, and its 12 hours with it: to five minutes, and never longer', async () => {
    const before = setUp()
    const secret = await before.open()
    const started = before.clock.now()
    await before.clock.advance(4 * MINUTE_MS)
    before.admits(secret)
    await before.clock.advance(3 * MINUTE_MS)
    before.admits(secret)
    await before.clock.advance(1_000)
    const [row] = before.rows.stored.values()
    expect(row?.seenAt).toBe(started + 7 * MINUTE_MS)
    const clock = new FakeClock(started + 7 * MINUTE_MS + SESSION_IDLE_MS_MAX)
    expect(setUp({ rows: before.rows, clock }).admits(secret)).toBe(true)
    const late = setUp({ rows: before.rows, clock: new FakeClock(clock.now() + 1) })
    expect(late.admits(secret)).toBe(false)
    await late.clock.advance(1_000)
    expect(before.rows.stored.size).toBe(0)
  })

  test('a session whose token is no longer valid does not come back', async () => {
    const before = setUp()
    const secret = await before.open()
    before.change({ revokedAt: 1 })
    before.sessions.sweep()
    before.rows.stored.set('x', { ...before.rows.stored.values().next().value, sha256: 'x' } as StoredSession)
    const after = setUp({ rows: before.rows, stored: false })
    after.change({ revokedAt: 1 })
    after.sessions.start([...before.rows.stored.values()])
    expect([after.admits(secret), after.sessions.count]).toEqual([false, 0])
    await after.clock.advance(1_000)
    expect(before.rows.stored.size).toBe(0)
  })

  test('a session of the operator continues with the token it was opened with, and with no other', async () => {
    const before = setUp()
    const [first, second] = [await before.open(OPERATOR_TOKENS[0]), await before.open(OPERATOR_TOKENS[1])]
    const after = setUp({ rows: before.rows, operatorTokens: OPERATOR_TOKENS.slice(1) })
    expect([after.admits(first), after.admits(second)]).toEqual([false, true])
    const without = setUp({ rows: before.rows, operatorTokens: [] })
    expect(without.admits(second)).toBe(false)
  })
})

describe('of too many sessions', () => {
  test('the one of the token that was not used for longest ends', async () => {
    const { open, admits, clock, sessions } = setUp()
    const [first, second] = [await open(), await open()]
    for (let i = 2; i < SESSIONS_PER_MEMBER_MAX; i++) await open()
    const operators = await open(OPERATOR_TOKENS[0])
    await clock.advance(6 * MINUTE_MS)
    expect(admits(first)).toBe(true)
    await open()
    expect([admits(first), admits(second), admits(operators)]).toEqual([true, false, true])
    expect(sessions.count).toBe(SESSIONS_PER_MEMBER_MAX + 1)
  })

  test("an agency's own that was not used for longest ends, never another agency's or the operator's", () => {
    const token = { expiresAt: null, revokedAt: null } as AccessToken
    const catalogue = {
      member: (): Member => ({ kind: 'access_token', member: token, agency: AGENCY }),
    }
    const options = { rows: new Rows(), clock: new FakeClock(), newId: systemIds, onFailure: () => {} }
    const sessions = new PortalSessions({ ...options, catalogue })
    const now = new FakeClock().now()
    const session = (name: string, holder: StoredSession['holder'], seenAt: number): StoredSession => ({
      id: sampleId('ses', name),
      sha256: sha256Hex(name.padStart(43, '0')),
      holder,
      ...FROM,
      createdAt: now,
      seenAt,
    })
    const ofAgency = (agencyId: string, name: string) =>
      ({ kind: 'access_token', agencyId, id: sampleId('tok', name) }) as const
    const flood = Array.from({ length: 12_000 }, (_, i) => String(i))
    sessions.start([
      session('other', ofAgency(sampleId('agc', 'other'), 'other'), now - 10),
      session('operator', { kind: 'operator', tokenHmac: 'x' }, now - 10),
      ...flood.map((name) => session(name, ofAgency(AGENCY.id, name), now - (name === '7' ? 1 : 0))),
    ])
    const isOpen = (name: string) => sessions.find(name.padStart(43, '0')) !== null
    expect([isOpen('other'), isOpen('operator')]).toEqual([true, true])
    expect(flood.filter(isOpen)).toEqual(flood.slice(-SESSIONS_PER_AGENCY_MAX))
    sessions.endAllOf(AGENCY.id)
    expect(sessions.count).toBe(2)
  })
})

test('sessions of an agency that another process has now are unknown here, and still stored', async () => {
  const { open, admits, clock, rows, sessions } = setUp()
  const [ofAgency, ofOperator] = [await open(), await open(OPERATOR_TOKENS[0])]
  sessions.forget((agencyId) => agencyId !== AGENCY.id)
  expect(admits(ofAgency)).toBe(true)
  sessions.forget((agencyId) => agencyId === AGENCY.id)
  expect([admits(ofAgency), admits(ofOperator)]).toEqual([false, true])
  await clock.advance(1_000)
  expect(rows.stored.size).toBe(2)
})

test('stopping ends only when what is not stored yet has been written', async () => {
  const { open, access, rows, sessions } = setUp()
  const secret = await open()
  const keep = rows.keep.bind(rows)
  const held = Promise.withResolvers<void>()
  rows.keep = async (what) => {
    await held.promise
    await keep(what)
  }
  sessions.endBySecret(secret)
  let hasStopped = false
  const stopped = sessions.stop().then(() => {
    hasStopped = true
  })
  await settle()
  expect(hasStopped).toBe(false)
  held.resolve()
  await stopped
  expect([rows.stored.size, access.admitSession(secret, { isUse: false })]).toEqual([0, null])
})

test('that a single session was used is stored by a flush, and again later if that fails', async () => {
  const { open, admits, clock, rows, sessions } = setUp()
  const secret = await open()
  await clock.advance(5 * MINUTE_MS)
  const usedAt = clock.now()
  admits(secret)
  rows.isAway = true
  expect(await sessions.flush().catch((error: Error) => error.message)).toBe('away')
  rows.isAway = false
  await clock.advance(1_000)
  expect([...rows.stored.values()].map(({ seenAt }) => seenAt)).toEqual([usedAt])
})

test('that sessions are used is stored every five minutes, for all in one write', async () => {
  const { open, admits, clock, rows } = setUp()
  const secrets = [await open(), await open(OPERATOR_TOKENS[0])]
  for (let minute = 0; minute < 11; minute++) {
    await clock.advance(MINUTE_MS)
    for (let i = 0; i < 20; i++) for (const secret of secrets) admits(secret)
  }
  await clock.advance(1_000)
  expect(rows.kept.map(({ seen }) => seen.length)).toEqual([2, 2])
})
