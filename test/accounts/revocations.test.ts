import { beforeEach, describe, expect, test } from 'bun:test'
import { AccessTokenCommands } from '../../src/accounts/access-token-commands.ts'
import { AgencyCommands } from '../../src/accounts/agency-commands.ts'
import type { AgencyStore } from '../../src/accounts/agency-store.ts'
import { CalendarFeeds } from '../../src/accounts/calendar-feeds.ts'
import { FeeCommands } from '../../src/accounts/fee-commands.ts'
import { KeyCommands } from '../../src/accounts/key-commands.ts'
import { RevocationNotStoredError } from '../../src/accounts/store-retries.ts'
import { WriteError, type WriteOutcome } from '../../src/core/bookings/write-error.ts'
import type { AccessToken, Agency, ApiKey } from '../../src/core/catalogue/agency.ts'
import { Inventory } from '../../src/core/catalogue/agency.ts'
import { Catalogue } from '../../src/core/catalogue/catalogue.ts'
import type { FeeType } from '../../src/core/domain/unit.ts'
import { JournalError } from '../../src/core/journal/journal-error.ts'
import type { AuditDraft } from '../../src/core/journal/record.ts'
import { AssertionError } from '../../src/lib/assert.ts'
import { type IdSource, systemIds } from '../../src/lib/ids.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { AGENCY, CALLER, sampleId, sampleUnit } from '../support/samples.ts'

/*
 * What closes an access is in memory before it is stored; and after a write of unknown outcome memory follows the database,
 * however long that is away.
 */

const KEY: ApiKey = {
  id: sampleId('key', 'a'),
  agencyId: AGENCY.id,
  name: null,
  prefix: 'hr_live_',
  secretSha256: 'a',
  scopes: [],
  createdAt: 0,
  expiresAt: null,
  revokedAt: null,
  lastUsedAt: null,
}
const TOKEN: AccessToken = {
  id: sampleId('tok', 'a'),
  agencyId: AGENCY.id,
  name: 'Maria',
  role: 'desk',
  prefix: 'hp_live_',
  secretSha256: 'b',
  createdAt: 0,
  expiresAt: null,
  revokedAt: null,
}
const FEE: FeeType = {
  ...({ id: sampleId('fee', 'a'), label: 'City tax', kind: 'fixed', amount: 800, basisPoints: null } as const),
  ...({ includesWeeklyCleaning: false, application: 'every_stay', active: true } as const),
}

/** What the database has, and what becomes of the next writes and reads. */
class MemoryStore implements AgencyStore {
  agency: Agency = AGENCY
  key: ApiKey = KEY
  token: AccessToken = TOKEN
  fee: FeeType = FEE
  feedVersion = 0
  /** How writes fail; `unknown` has written. Null: they don't. */
  failing: WriteOutcome | Error | null = null
  writes = 0
  /** Ids of lines in the audit trail that are of a closing. */
  readonly lines = new Set<string>()
  isAway = false
  /** Writes wait for it. */
  access: Promise<void> = Promise.resolve()
  reads = 0

  async #write(change: () => void): Promise<void> {
    await this.access
    this.writes += 1
    if (this.failing instanceof Error) throw this.failing
    if (this.failing === null || this.failing === 'unknown') change()
    if (this.failing !== null) throw new WriteError(this.failing, 'x')
  }
  async #read<T>(what: () => T): Promise<T> {
    if (this.isAway) throw new Error('the database is away')
    this.reads += 1
    return what()
  }

  insertAgency = async () => true
  insertKey = async () => {}
  insertAccessToken = async () => {}
  insertFeeType = async () => {}
  updateGuest = async () => 'written' as const
  updateNotes = async () => true
  eraseTexts = async () => {}
  updateAgency = (agency: Agency, audit: AuditDraft) =>
    this.#write(() => {
      this.agency = agency
      this.lines.add(audit.auditId)
    })
  revokeKey = (key: ApiKey, revokedAt: number, audit: AuditDraft) =>
    this.#write(() => {
      this.key = { ...key, revokedAt: this.key.revokedAt ?? revokedAt }
      this.lines.add(audit.auditId)
    })
  revokeAccessToken = (token: AccessToken, revokedAt: number, audit: AuditDraft) =>
    this.#write(() => {
      this.token = { ...token, revokedAt: this.token.revokedAt ?? revokedAt }
      this.lines.add(audit.auditId)
    })
  updateFeeType = (_: string, fee: FeeType) => this.#write(() => Object.assign(this, { fee }))
  settle = () => this.#read(() => {})
  loadAgencies = () => this.#read(() => [this.agency])
  loadKeys = () => this.#read(() => [this.key])
  loadAccessTokens = () => this.#read(() => [this.token])
  loadPeople = () => this.#read(() => [])
  loadInventory = () => this.#read(() => new Inventory([], [this.fee]))
  version = () => this.#read(() => this.feedVersion)
  async raiseVersion(): Promise<number> {
    await this.#write(() => Object.assign(this, { feedVersion: this.feedVersion + 1 }))
    return this.feedVersion
  }
}

let store: MemoryStore
let clock: FakeClock
let catalogue: Catalogue
let commands: {
  agencies: AgencyCommands
  keys: KeyCommands
  tokens: AccessTokenCommands
  fees: FeeCommands
  feeds: CalendarFeeds
}

beforeEach(async () => {
  store = new MemoryStore()
  clock = new FakeClock()
  catalogue = new Catalogue(store)
  await catalogue.load()
  await catalogue.inventory(AGENCY.id)
  let ids = 0
  const newId: IdSource = (prefix) => sampleId(prefix, ++ids)
  const options = { catalogue, store, clock, newId }
  const makeSecret = () => ({ secret: 's', prefix: 'p', sha256: 'h' })
  commands = {
    agencies: new AgencyCommands(options),
    keys: new KeyCommands({ ...options, makeSecret }),
    tokens: new AccessTokenCommands({ ...options, makeSecret }),
    fees: new FeeCommands(options),
    feeds: new CalendarFeeds({ rows: store, secretKey: new Uint8Array(32), clock, newId }),
  }
})

/** What it throws, settled first: a promise that never settles would hang the test. */
async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  const [result] = await Promise.allSettled([promise])
  return result?.status === 'rejected' ? result.reason : null
}

const status = () => catalogue.agencyById(AGENCY.id)?.status
const suspend = () => commands.agencies.change(AGENCY.id, { status: 'suspended' }, CALLER)

const REVOCATIONS = [
  {
    of: 'key' as const,
    revoke: () => commands.keys.revoke(AGENCY, KEY.id, CALLER),
    revokedAt: () => catalogue.keys.byId(AGENCY.id, KEY.id)?.revokedAt ?? null,
    foundByHash: () => catalogue.keys.holderByHash(KEY.secretSha256)?.key,
    storedAt: () => store.key.revokedAt,
    readAgain: async () => {
      for (const key of await store.loadKeys()) catalogue.putKey(key)
    },
  },
  {
    of: 'access_token' as const,
    revoke: () => commands.tokens.revoke(AGENCY, TOKEN.id, CALLER),
    revokedAt: () => catalogue.accessTokens.byId(AGENCY.id, TOKEN.id)?.revokedAt ?? null,
    foundByHash: () => catalogue.accessTokens.holderByHash(TOKEN.secretSha256)?.member as AccessToken | undefined,
    storedAt: () => store.token.revokedAt,
    readAgain: async () => {
      for (const token of await store.loadAccessTokens()) catalogue.putAccessToken(token)
    },
  },
]

describe.each(REVOCATIONS)('a revocation of a $of', ({ of, revoke, revokedAt, foundByHash, storedAt, readAgain }) => {
  test('holds before it is stored', async () => {
    const access = Promise.withResolvers<void>()
    store.access = access.promise
    const revoking = revoke()
    expect(revokedAt()).toBe(clock.now())
    access.resolve()
    expect(await revoking).toMatchObject({ kind: 'done', value: { revokedAt: clock.now() } })
  })

  test.each(['unknown', 'not_written'] as const)(
    'that fails as %s takes effect anyway; repeated, it is stored with the time of the first',
    async (outcome) => {
      const first = clock.now()
      store.failing = outcome
      expect(await failureOf(revoke())).toMatchObject({ access: of })
      expect(revokedAt()).toBe(first)
      await clock.advance(60_000)
      store.failing = null
      expect(await revoke()).toMatchObject({ kind: 'done', value: { revokedAt: first } })
      expect(storedAt()).toBe(first)
    },
  )

  test('is not undone by one that is read again', async () => {
    store.failing = 'not_written'
    await failureOf(revoke())
    await readAgain()
    expect(revokedAt()).not.toBeNull()
    expect(foundByHash()?.revokedAt).not.toBeNull()
  })
})

describe('a suspension', () => {
  test('holds before it is stored, and behind a change that is under way', async () => {
    const access = Promise.withResolvers<void>()
    store.access = access.promise
    const naming = commands.agencies.change(AGENCY.id, { name: 'Renamed' }, CALLER)
    const suspending = suspend()
    expect(status()).toBe('suspended')
    access.resolve()
    await naming
    expect(status()).toBe('suspended')
    await suspending
    expect(store.agency).toMatchObject({ name: 'Renamed', status: 'suspended' })
  })

  test('that fails holds until it is lifted, whatever is read meanwhile; any later change stores it', async () => {
    store.failing = 'not_written'
    expect(await failureOf(suspend())).toBeInstanceOf(RevocationNotStoredError)
    // An unknown outcome makes the booking commands read the agency again: active, as far as the database knows.
    store.failing = 'unknown'
    const kept = store.agency
    const naming = failureOf(commands.agencies.change(AGENCY.id, { name: 'Lost' }, CALLER))
    await naming
    store.agency = kept
    expect(status()).toBe('suspended')
    store.failing = null
    await commands.agencies.change(AGENCY.id, { name: 'Renamed' }, CALLER)
    expect(store.agency).toMatchObject({ name: 'Renamed', status: 'suspended' })
    await commands.agencies.change(AGENCY.id, { status: 'active' }, CALLER)
    expect([status(), store.agency.status]).toEqual(['active', 'active'])
  })

  test('is not lifted by a change that was asked for before it', async () => {
    await suspend()
    const access = Promise.withResolvers<void>()
    store.access = access.promise
    const lifting = commands.agencies.change(AGENCY.id, { status: 'active' }, CALLER)
    const suspending = failureOf(suspend())
    store.access = Promise.resolve()
    access.resolve()
    await lifting
    expect(status()).toBe('suspended')
    await suspending
    expect(store.agency.status).toBe('suspended')
  })
})

describe('a closing that could not be stored', () => {
  const closings = [
    ['revocation', () => commands.keys.revoke(AGENCY, KEY.id, CALLER), () => store.key.revokedAt !== null],
    [
      'revocation of an access token',
      () => commands.tokens.revoke(AGENCY, TOKEN.id, CALLER),
      () => store.token.revokedAt !== null,
    ],
    ['suspension', () => suspend(), () => store.agency.status === 'suspended'],
  ] as const

  test.each(closings)(
    'is stored as soon as the database takes it, with its own line: a %s',
    async (_, close, isStored) => {
      store.failing = 'not_written'
      store.isAway = true
      expect(await failureOf(close())).toBeInstanceOf(RevocationNotStoredError)
      await clock.advance(60_000)
      expect(isStored()).toBe(false)
      store.failing = null
      store.isAway = false
      await clock.advance(1_000)
      expect([isStored(), store.lines.size, clock.nextTimerIn]).toEqual([true, 1, null])
    },
  )

  test.each(closings)('has one line when it was stored all along: a %s', async (_, close, isStored) => {
    store.failing = 'unknown'
    expect(await failureOf(close())).toBeInstanceOf(RevocationNotStoredError)
    await clock.advance(2_000)
    store.failing = null
    await clock.advance(1_000)
    expect([isStored(), store.lines.size, clock.nextTimerIn]).toEqual([true, 1, null])
  })

  test.each(closings)('is written once a second, however often it was asked for: a %s', async (_, close) => {
    store.failing = 'not_written'
    for (let n = 0; n < 5; n++) await failureOf(close())
    const before = store.writes
    await clock.advance(3_000)
    expect(store.writes - before).toBe(3)
  })

  test.each(closings)('is not written again after a repetition has stored it: a %s', async (_, close, isStored) => {
    store.failing = 'not_written'
    await failureOf(close())
    store.failing = null
    expect(await close()).toMatchObject({ kind: 'done' })
    const { writes } = store
    await clock.advance(5_000)
    expect([isStored(), store.writes, clock.nextTimerIn]).toEqual([true, writes, null])
  })

  test('is given up when the suspension is lifted', async () => {
    store.failing = 'not_written'
    await failureOf(suspend())
    store.failing = null
    await commands.agencies.change(AGENCY.id, { status: 'active' }, CALLER)
    await clock.advance(5_000)
    expect([status(), store.agency.status, clock.nextTimerIn]).toEqual(['active', 'active', null])
  })

  test('is stored without the other changes of its request, which were reported as not made', async () => {
    store.failing = 'not_written'
    await failureOf(commands.agencies.change(AGENCY.id, { name: 'Renamed', status: 'suspended' }, CALLER))
    store.failing = null
    await clock.advance(1_000)
    expect(store.agency).toMatchObject({ name: AGENCY.name, status: 'suspended' })
  })

  test.each(closings)('is stored after its writer’s epoch has risen meanwhile: a %s', async (_, close) => {
    store.failing = 'not_written'
    await failureOf(close())
    store.failing = new JournalError('fenced', 'x')
    await clock.advance(1_000)
    expect(clock.nextTimerIn).toBe(1_000)
    store.failing = null
    await clock.advance(1_000)
    expect(clock.nextTimerIn).toBeNull()
  })

  test.each(closings)('because of a bug is that bug: a %s', async (_, close) => {
    store.failing = new AssertionError('x')
    expect(await failureOf(close())).toBe(store.failing)
    expect(clock.nextTimerIn).toBeNull()
  })
})

describe('an agency that another process of the cluster has had meanwhile', () => {
  const comeBack = async () =>
    catalogue.putPart({
      agencies: await store.loadAgencies(),
      keys: await store.loadKeys(),
      accessTokens: await store.loadAccessTokens(),
      people: [],
    })

  test('is not suspended by a suspension that was not stored here', async () => {
    store.failing = new JournalError('fenced', 'x')
    await failureOf(suspend())
    catalogue.forget(AGENCY.id)
    await clock.advance(2_000)
    store.failing = null
    await comeBack()
    await commands.agencies.change(AGENCY.id, { name: 'Renamed' }, CALLER)
    expect([status(), store.agency.status, clock.nextTimerIn]).toEqual(['active', 'active', null])
  })

  test.each(REVOCATIONS)('has its $of revoked as soon as that is stored', async ({ revoke, revokedAt, storedAt }) => {
    store.failing = new JournalError('fenced', 'x')
    await failureOf(revoke())
    catalogue.forget(AGENCY.id)
    await clock.advance(2_000)
    await comeBack()
    store.failing = null
    await clock.advance(1_000)
    expect(storedAt()).not.toBeNull()
    expect(revokedAt()).toBe(storedAt())
  })
})

describe('after an unknown outcome memory follows the database', () => {
  test('when that is back: an agency is read every second until then', async () => {
    store.failing = 'unknown'
    store.isAway = true
    expect(await failureOf(commands.agencies.change(AGENCY.id, { name: 'Lost' }, CALLER))).toBeInstanceOf(WriteError)
    expect(catalogue.agencyById(AGENCY.id)?.name).toBe(AGENCY.name)
    await clock.advance(5_000)
    store.isAway = false
    await clock.advance(1_000)
    expect(catalogue.agencyById(AGENCY.id)?.name).toBe('Lost')
    const reads = store.reads
    await clock.advance(10_000)
    expect(store.reads).toBe(reads)
  })

  test('and until then nothing is added to what may be old', async () => {
    store.failing = 'unknown'
    store.isAway = true
    await failureOf(commands.agencies.change(AGENCY.id, { name: 'Lost' }, CALLER))
    store.failing = null
    const failure = await failureOf(commands.agencies.change(AGENCY.id, { defaultHoldHours: 1 }, CALLER))
    expect(failure).toMatchObject({ outcome: 'not_written' })
    store.isAway = false
    await commands.agencies.change(AGENCY.id, { defaultHoldHours: 1 }, CALLER)
    expect(store.agency).toMatchObject({ name: 'Lost', defaultHoldHours: 1 })
  })

  test('a fee that may have changed is not quoted from memory', async () => {
    const switchOff = () => commands.fees.change(AGENCY, FEE.id, (fee) => ({ ...fee, active: false }), CALLER)
    store.failing = 'unknown'
    store.isAway = true
    expect(await failureOf(switchOff())).toBeInstanceOf(WriteError)
    expect(catalogue.peekInventory(AGENCY.id)).toBeNull()
    expect(await failureOf(catalogue.inventory(AGENCY.id))).toBeInstanceOf(Error)
    store.isAway = false
    expect((await catalogue.inventory(AGENCY.id)).feeTypes[0]?.active).toBe(false)
  })

  test('a fee that has certainly not changed is served from memory, even while the database is away', async () => {
    store.failing = 'not_written'
    store.isAway = true
    const change = commands.fees.change(AGENCY, FEE.id, (fee) => ({ ...fee, active: false }), CALLER)
    expect(await failureOf(change)).toMatchObject({ outcome: 'not_written' })
    expect(catalogue.peekInventory(AGENCY.id)?.feeTypes[0]?.active).toBe(true)
  })
})

describe('a calendar address', () => {
  const unit = sampleUnit()
  const isOpen = (token: string) => commands.feeds.isToken(AGENCY, unit, token)
  const change = () => commands.feeds.change(AGENCY, unit, CALLER)

  test('is closed before the new one is stored', async () => {
    const old = await commands.feeds.token(AGENCY, unit)
    const access = Promise.withResolvers<void>()
    store.access = access.promise
    const changing = change()
    expect(await isOpen(old)).toBe(false)
    access.resolve()
    expect(await isOpen(await changing)).toBe(true)
    expect(await isOpen(old)).toBe(false)
  })

  test.each(['read before', 'never read'])('stays closed when the change fails, %s', async (when) => {
    const elsewhere = new CalendarFeeds({ rows: store, secretKey: new Uint8Array(32), clock, newId: systemIds })
    const old = await (when === 'read before' ? commands.feeds : elsewhere).token(AGENCY, unit)
    store.failing = 'not_written'
    expect(await failureOf(change())).toMatchObject({ access: 'calendar_address' })
    expect(await isOpen(old)).toBe(false)
    store.isAway = true
    expect(await isOpen(old)).toBe(false)
    store.isAway = false
    expect(await failureOf(commands.feeds.token(AGENCY, unit))).toBeInstanceOf(RevocationNotStoredError)
    store.failing = null
    const next = await change()
    expect([await isOpen(next), await isOpen(old)]).toEqual([true, false])
  })

  test('whose change has an unknown outcome is the new one as soon as that is known', async () => {
    const old = await commands.feeds.token(AGENCY, unit)
    store.failing = 'unknown'
    expect(await failureOf(change())).toBeInstanceOf(RevocationNotStoredError)
    const stored = await commands.feeds.token(AGENCY, unit)
    expect([stored === old, await isOpen(stored), await isOpen(old)]).toEqual([false, true, false])
  })

  test('that another process of the cluster has changed is the new one when its agency comes back', async () => {
    let term: number | null = 1
    const options = { rows: store, secretKey: new Uint8Array(32), clock, newId: systemIds }
    const feeds = new CalendarFeeds({ ...options, termOf: () => term })
    const elsewhere = new CalendarFeeds(options)
    const old = await feeds.token(AGENCY, unit)
    expect(await feeds.isToken(AGENCY, unit, old)).toBe(true)
    term = null
    const next = await elsewhere.change(AGENCY, unit, CALLER)
    term = 2
    expect([await feeds.isToken(AGENCY, unit, old), await feeds.isToken(AGENCY, unit, next)]).toEqual([false, true])
  })

  test('whose change met a bug stays closed, and the bug is reported', async () => {
    const old = await commands.feeds.token(AGENCY, unit)
    store.failing = new AssertionError('x')
    expect(await failureOf(change())).toBe(store.failing)
    expect(await isOpen(old)).toBe(false)
  })
})
