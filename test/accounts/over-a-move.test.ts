import { beforeEach, describe, expect, test } from 'bun:test'
import { AgencyCommands } from '../../src/accounts/agency-commands.ts'
import type { AgencyStore } from '../../src/accounts/agency-store.ts'
import { CalendarFeeds } from '../../src/accounts/calendar-feeds.ts'
import { FeeCommands } from '../../src/accounts/fee-commands.ts'
import { PeopleCommands } from '../../src/accounts/people-commands.ts'
import { PersonChanges } from '../../src/accounts/person-changes.ts'
import type { PersonRows } from '../../src/accounts/person-rows.ts'
import { RETRY_EVERY_MS, RevocationNotStoredError } from '../../src/accounts/store-retries.ts'
import { WriteError } from '../../src/core/bookings/write-error.ts'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { Inventory } from '../../src/core/catalogue/agency.ts'
import { Catalogue } from '../../src/core/catalogue/catalogue.ts'
import type { Person } from '../../src/core/catalogue/people.ts'
import type { FeeType } from '../../src/core/domain/unit.ts'
import { systemIds } from '../../src/lib/ids.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'
import { AGENCY, CALLER, sampleId, sampleUnit } from '../support/samples.ts'

/*
 * An agency leaves this node and comes back while the answer to one of its changes is on its way: what is in memory is what was read when
 * it came back, because the other node may have changed it in between.
 */

const FEE: FeeType = {
  ...({ id: sampleId('fee', 'a'), label: 'City tax', kind: 'fixed', amount: 800, basisPoints: null } as const),
  ...({ includesWeeklyCleaning: false, application: 'every_stay', active: true } as const),
}
const MARIA: Person = {
  ...({ id: sampleId('per', 'maria'), agencyId: AGENCY.id, name: 'Maria', email: 'maria@example.com' } as const),
  ...({ role: 'manager', createdAt: 0, removedAt: null, revision: 5 } as const),
}

let clock: FakeClock
let stored: { agency: Agency; fees: readonly FeeType[]; person: Person }
/** The answers to writes wait for it. */
let answers: PromiseWithResolvers<void>
let reads: number
let term: number | null
let catalogue: Catalogue
let agencies: AgencyCommands
let fees: FeeCommands

beforeEach(async () => {
  clock = new FakeClock()
  stored = { agency: AGENCY, fees: [FEE], person: MARIA }
  answers = Promise.withResolvers<void>()
  reads = 0
  term = 1
  const store = {
    updateAgency: async (agency: Agency) => {
      stored.agency = agency
      await answers.promise
    },
    insertAgency: async (agency: Agency) => {
      stored.agency = agency
      await answers.promise
      return true
    },
    updateFeeType: async (_: string, fee: FeeType) => {
      stored.fees = [fee]
      await answers.promise
    },
    insertFeeType: async (_: string, fee: FeeType) => {
      stored.fees = [...stored.fees, fee]
      await answers.promise
    },
    settle: async () => {
      reads += 1
    },
    loadAgencies: async () => [stored.agency],
    loadKeys: async () => [],
    loadAccessTokens: async () => [],
    loadPeople: async () => [],
    loadInventory: async () => new Inventory([], stored.fees),
  }
  catalogue = new Catalogue(store, { served: { termOf: () => term, refusal: () => new Error('elsewhere') } })
  const options = { catalogue, store: store as unknown as AgencyStore, clock, newId: systemIds }
  agencies = new AgencyCommands(options)
  fees = new FeeCommands(options)
  comes()
  await catalogue.inventory(AGENCY.id)
})

function comes(): void {
  catalogue.putPart({ agencies: [stored.agency], keys: [], accessTokens: [], people: [stored.person] })
}

function leaves(): void {
  term = null
  catalogue.forget(AGENCY.id)
}

/** The agency goes to another node, which does this, and comes back. */
async function goesAndComesBack(otherNode: () => void): Promise<void> {
  leaves()
  otherNode()
  term = 2
  comes()
  await catalogue.inventory(AGENCY.id)
}

const name = () => catalogue.agencyById(AGENCY.id)?.name
const amounts = async () => (await catalogue.inventory(AGENCY.id)).feeTypes.map(({ amount }) => amount)

test('a change of the agency is not put over one of the other node', async () => {
  const change = agencies.change(AGENCY.id, { name: 'First' }, CALLER)
  await settle()
  await goesAndComesBack(() => (stored.agency = { ...stored.agency, name: 'Second' }))
  answers.resolve()
  expect(await change).toMatchObject({ kind: 'done' })
  expect(name()).toBe('Second')
  await agencies.change(AGENCY.id, { name: 'Third' }, CALLER)
  expect(name()).toBe('Third')
})

test('nor is a new agency', async () => {
  const made = agencies.create({ ...AGENCY, slug: 'other' }, CALLER, undefined, AGENCY.id)
  await settle()
  await goesAndComesBack(() => (stored.agency = { ...stored.agency, name: 'Second' }))
  answers.resolve()
  await made
  expect(name()).toBe('Second')
})

test('nor is a fee type', async () => {
  const change = fees.change(AGENCY, FEE.id, (fee) => ({ ...fee, amount: 900 }), CALLER)
  await settle()
  await goesAndComesBack(() => (stored.fees = [{ ...FEE, amount: 1_000 }]))
  answers.resolve()
  await change
  expect(await amounts()).toEqual([1_000])
})

test('a change of unknown outcome is not looked up once another node has the agency: that is told when it comes back', async () => {
  const change = agencies.change(AGENCY.id, { name: 'First' }, CALLER)
  await settle()
  leaves()
  answers.reject(new WriteError('unknown', 'x'))
  expect(await change.catch((error: Error) => error)).toBeInstanceOf(WriteError)
  await clock.advance(5_000)
  expect(reads).toBe(0)
  term = 2
  comes()
  expect(name()).toBe('First')
})

test('an address of a calendar that the other node has changed is open here, although a change of it failed here before', async () => {
  const unit = sampleUnit()
  let version = 0
  let isAway = true
  const feeds = new CalendarFeeds({
    rows: {
      version: async () => version,
      raiseVersion: async () => {
        if (isAway) throw new Error('The database does not answer')
        version += 1
        return version
      },
    },
    secretKey: new Uint8Array(32),
    clock,
    newId: systemIds,
    termOf: () => term,
  })
  await feeds.change(AGENCY, unit, CALLER).catch(() => {})
  await goesAndComesBack(() => (version = 1))
  const address = await feeds.token(AGENCY, unit)
  expect(await feeds.isToken(AGENCY, unit, address)).toBe(true)
  isAway = false
  await feeds.change(AGENCY, unit, CALLER)
  expect(await feeds.isToken(AGENCY, unit, address)).toBe(false)
})

describe('a change of a person that could not be stored', () => {
  let isAway: boolean
  let answering: Promise<void>
  /** Routes of the lines of the audit trail. */
  let lines: string[]
  let ended: number
  let people: PeopleCommands
  beforeEach(() => {
    isAway = true
    answering = Promise.resolve()
    lines = []
    ended = 0
    const rows: Partial<PersonRows> = {
      peopleWithPasskeys: async () => [],
      updatePerson: async (person, _, { route }) => {
        if (isAway) throw new WriteError('not_written', 'x')
        stored.person = person
        lines.push(route)
        await answering
      },
    }
    people = new PeopleCommands({
      ...({ catalogue, clock, newId: systemIds, provider: null, links: {} as never } as const),
      rows: rows as PersonRows,
      changes: new PersonChanges({
        ...{ catalogue, rows: rows as PersonRows, clock },
        sessions: {
          endAllOf: () => {
            ended += 1
          },
        },
      }),
      store: { settle: async () => {}, loadPeople: async () => [] },
    })
  })

  const failed = async (change: Promise<unknown>) =>
    expect(await change.catch((error: unknown) => error)).toBeInstanceOf(RevocationNotStoredError)
  const as = (route: string) => ({ ...CALLER, route })
  const update = (change: Parameters<PeopleCommands['update']>[2], route: string) =>
    people.update(AGENCY, MARIA.id, change, as(route))
  const remove = (route: string) => people.remove(AGENCY, MARIA.id, as(route))
  /** Of which there are retries. */
  const databaseIsBack = async () => {
    isAway = false
    await clock.advance(2 * RETRY_EVERY_MS)
  }
  const inMemory = () => catalogue.personById(AGENCY.id, MARIA.id)

  test('does not bring back a person whom the other node has removed', async () => {
    await failed(update({ role: 'owner' }, 'promote'))
    const removed: Person = { ...MARIA, email: null, removedAt: 1, revision: 6 }
    await goesAndComesBack(() => (stored.person = removed))
    await databaseIsBack()
    expect([stored.person, inMemory(), lines]).toEqual([removed, removed, []])
  })

  test('nor does the next change of the person store it', async () => {
    await failed(update({ role: 'owner' }, 'promote'))
    await goesAndComesBack(() => (stored.person = { ...MARIA, role: 'desk', revision: 6 }))
    isAway = false
    await update({ name: 'Maria A.' }, 'rename')
    expect([stored.person, lines]).toEqual([{ ...MARIA, role: 'desk', name: 'Maria A.', revision: 7 }, ['rename']])
    await databaseIsBack()
    expect([inMemory(), lines]).toEqual([stored.person, ['rename']])
  })

  test('is not reported as stored when it waited for its turn meanwhile', async () => {
    const both = [update({ role: 'owner' }, 'promote'), update({ name: 'Maria A.' }, 'rename')]
    await goesAndComesBack(() => (stored.person = { ...MARIA, role: 'desk', revision: 6 }))
    isAway = false
    for (const change of both) await failed(change)
    expect([stored.person.role, lines]).toEqual(['desk', []])
  })

  test('is stored also when the answer to one from before the move comes only then', async () => {
    isAway = false
    answering = answers.promise
    const first = update({ role: 'desk' }, 'demote')
    await settle()
    await goesAndComesBack(() => {})
    const second = update({ name: 'Maria A.' }, 'rename')
    answers.resolve()
    expect([await first, await second].map(({ kind }) => kind)).toEqual(['done', 'done'])
    expect(stored.person).toEqual({ ...MARIA, role: 'desk', name: 'Maria A.', revision: 7 })
    expect(lines).toEqual(['demote', 'rename'])
  })

  test('holds again when nobody else has changed the person: a database that is away takes the agency from every node', async () => {
    await failed(update({ role: 'desk' }, 'demote'))
    await failed(update({ name: 'Maria A.' }, 'rename'))
    await goesAndComesBack(() => {})
    ended = 0
    await databaseIsBack()
    const changed = { ...MARIA, role: 'desk', name: 'Maria A.', revision: 7 } as const
    expect([stored.person, inMemory(), lines]).toEqual([changed, changed, ['demote', 'rename']])
    expect(ended).toBe(1)
  })

  test('holds again also when one before it was stored with its retry', async () => {
    await failed(update({ role: 'desk' }, 'demote'))
    isAway = false
    answering = answers.promise
    const second = update({ name: 'Maria A.' }, 'rename')
    await settle()
    // The first is stored now, with the state that the second has made.
    isAway = true
    answers.resolve()
    await failed(second)
    await goesAndComesBack(() => {})
    await databaseIsBack()
    expect(lines).toEqual(['demote', 'rename'])
    expect(inMemory()).toEqual({ ...MARIA, role: 'desk', name: 'Maria A.', revision: 7 })
  })

  test('holds when it is a removal, whatever the other node has changed, and without what was changed here before', async () => {
    await failed(update({ role: 'owner' }, 'promote'))
    await failed(remove('remove'))
    const renamed: Person = { ...MARIA, name: 'Maria A.', revision: 9 }
    await goesAndComesBack(() => (stored.person = renamed))
    await databaseIsBack()
    const removed = { ...renamed, email: null, removedAt: clock.now() - 2 * RETRY_EVERY_MS, revision: 10 }
    expect([stored.person, inMemory(), lines]).toEqual([removed, removed, ['remove']])
  })
})
