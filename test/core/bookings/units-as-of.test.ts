/** How a past state is read. That it is the right one is tested in test/core/units/unit-model.test.ts and test/contract/known-when.pg.test.ts. */
import { beforeEach, describe, expect, test } from 'bun:test'
import {
  ENTRIES_PER_PAGE,
  ENTRIES_PER_SLICE,
  type UnitAsOf,
  UnitsAsOf,
} from '../../../src/core/bookings/units-as-of.ts'
import { asNight } from '../../../src/core/domain/night.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import { CorruptLedgerError } from '../../../src/core/journal/journal-error.ts'
import { encodeSnapshot, stateHash } from '../../../src/core/journal/snapshot-codec.ts'
import { Slices } from '../../../src/lib/slices.ts'
import { MemoryAsOfRows } from '../../support/memory-as-of-rows.ts'
import { MemoryLedger } from '../../support/memory-ledger.ts'
import { AGENCY, CALLER, requestFor, sampleUnit } from '../../support/samples.ts'

const UNIT = sampleUnit()
const ADDRESS = { agencyId: AGENCY.id, unitId: UNIT.id }
const FIRST = asNight(21_000)

let ledger: MemoryLedger
let rows: MemoryAsOfRows
let defects: string[]
let slices: number
/** Counts replays that continued when they should have paused. */
let impatient: number
let asOf: UnitsAsOf

beforeEach(async () => {
  ledger = await MemoryLedger.open([UNIT])
  await ledger.takeOver({ snapshotEvery: 1_000_000 })
  rows = new MemoryAsOfRows(ledger.store)
  defects = []
  slices = 0
  impatient = 0
  let isPaused = false
  asOf = new UnitsAsOf({
    rows,
    onDefect: (defect) => defects.push(defect),
    newSlices: () =>
      new Slices(ENTRIES_PER_SLICE, async () => {
        slices += 1
        if (isPaused) impatient += 1
        isPaused = true
        await Promise.resolve()
        isPaused = false
      }),
  })
})

/** Books the next nights, a millisecond after the previous entry. @returns the time */
async function book(count = 1): Promise<number> {
  for (let i = 0; i < count; i++) {
    await ledger.clock.advance(1)
    const night = FIRST + 2 * ledger.store.journal.length
    const stay = { arrival: asNight(night), departure: asNight(night + 1) }
    await ledger.commands.book(AGENCY, { ...requestFor(UNIT, '2027-03-01', '2027-03-02'), stay }, CALLER)
  }
  return ledger.clock.now()
}

async function set(change: Partial<Unit>): Promise<void> {
  await ledger.clock.advance(1)
  await ledger.commands.setUnit(AGENCY, UNIT.id, (current) => ({ ...(current ?? UNIT), ...change }), CALLER)
}

const current = async () => ledger.commands.calendar(AGENCY, UNIT)

async function snapshot(): Promise<number> {
  const state = await current()
  await ledger.store.writeSnapshots([encodeSnapshot(AGENCY.id, state)])
  return state.seq
}

/** As `retire_month` does: the entries are gone, and snapshots that lack one of them. */
function archive(seq: number): void {
  const { journal, snapshots } = ledger.store
  journal.splice(0, journal.length, ...journal.filter((row) => row.seq > seq))
  snapshots.splice(0, snapshots.length, ...snapshots.filter((kept) => kept.seq >= seq))
  rows.archived.set(UNIT.id, seq)
}

function shown(outcome: UnitAsOf<unknown>): string {
  return outcome.kind === 'found' ? `${outcome.state.seq} after ${outcome.entries} entries` : outcome.kind
}

const now = () => asOf.read(ADDRESS, ledger.clock.now())

describe('a unit of 5,000 entries', () => {
  test('is read in pages and applied in slices, so that nobody waits for more than one slice', async () => {
    await book(4_999)
    const found = await now()
    expect(shown(found)).toBe('5000 after 5000 entries')
    expect(rows.pages).toEqual([...Array(5_000 / ENTRIES_PER_PAGE).fill(ENTRIES_PER_PAGE), 0])
    expect([slices, impatient]).toEqual([5_000 / ENTRIES_PER_SLICE, 0])
    if (found.kind === 'found') expect(stateHash(found.state)).toBe(stateHash(await current()))
  }, 60_000)

  test('costs only the entries after the newest snapshot before that moment', async () => {
    const [early, seq] = [await book(300), await snapshot()]
    const moment = await book(150)
    await book(100)
    await snapshot()
    expect(shown(await asOf.read(ADDRESS, moment))).toBe(`${seq + 150} after 150 entries`)
    expect(shown(await asOf.read(ADDRESS, early))).toBe(`${seq} after 0 entries`)
    expect(shown(await asOf.read(ADDRESS, early - 1))).toBe(`${seq - 1} after ${seq - 1} entries`)
  })

  test('reads only the last entry that sets the unit, because each has the whole unit', async () => {
    for (let i = 0; i < 20; i++) await set({ rules: { ...UNIT.rules, cleaningFee: i } })
    const moment = await book()
    await set({ name: 'Later' })
    const found = await asOf.read(ADDRESS, moment)
    expect(shown(found)).toBe('22 after 2 entries')
    if (found.kind === 'found') expect(found.state.rules.cleaningFee).toBe(19)
  })
})

test('the state in memory is not changed', async () => {
  const moment = await book(3)
  await book(2)
  const before = stateHash(await current())
  await asOf.read(ADDRESS, moment)
  expect(stateHash(await current())).toBe(before)
})

test('entries count up to the last one with a time up to the moment, even if the clock was set back', async () => {
  await book(2)
  ledger.clock.jumpWall(-1_000)
  const back = await book(2)
  expect(shown(await asOf.read(ADDRESS, back))).toStartWith('5 ')
  expect(shown(await asOf.read(ADDRESS, back - 1))).toStartWith('4 ')
})

describe('a snapshot that cannot be trusted', () => {
  test('is reported, and an older one is used', async () => {
    await book(2)
    await snapshot()
    await book(2)
    await snapshot()
    const newest = ledger.store.snapshots[1]
    if (newest === undefined) throw new Error('Expected two snapshots')
    ledger.store.snapshots[1] = { ...newest, hash: 'damaged' }
    expect(shown(await now())).toBe('5 after 2 entries')
    expect(defects).toEqual(['its hash does not match'])
  })

  test('is ignored, and all entries are read if there is no other', async () => {
    await book(2)
    await snapshot()
    ledger.store.snapshots.splice(0, 1, ...ledger.store.snapshots.map((kept) => ({ ...kept, hash: 'damaged' })))
    expect(shown(await now())).toBe('3 after 3 entries')
  })
})

test('a damaged or missing entry is never skipped', async () => {
  await book(3)
  const { journal } = ledger.store
  const [, second, third] = journal
  if (second === undefined || third === undefined) throw new Error('Expected entries')
  journal[1] = { ...second, payload: second.payload.replace('confirmed', 'cancelled') }
  await expect(now()).rejects.toBeInstanceOf(CorruptLedgerError)
  journal[1] = second
  const { entries } = rows
  rows.entries = async (...params) => (await entries.apply(rows, params))?.slice(0, -1) ?? null
  await expect(now()).rejects.toThrow(`Cannot read unit ${UNIT.id} as it was: entry 4 is missing`)
})

describe('a moment', () => {
  test('before the unit existed differs from one whose entries are no longer kept', async () => {
    const moment = await book(2)
    const seq = await snapshot()
    await book(2)
    expect((await asOf.read(ADDRESS, 0)).kind).toBe('before_unit')
    archive(seq)
    rows.oldestAt = moment + 1
    expect((await asOf.read(ADDRESS, 0)).kind).toBe('expired')
    expect((await asOf.read(ADDRESS, moment)).kind).toBe('expired')
    // After every archived entry, and before the next one.
    rows.oldestAt = moment
    expect(shown(await asOf.read(ADDRESS, moment))).toBe(`${seq} after 0 entries`)
    expect(shown(await now())).toBe(`${seq + 2} after 2 entries`)
  })

  test('before the snapshot that replaces archived entries has expired, even if its entries are kept', async () => {
    const archivedAt = await book(2)
    const between = await book(2)
    const seq = await snapshot()
    const later = await book()
    archive(seq - 2)
    rows.oldestAt = archivedAt
    expect((await asOf.read(ADDRESS, archivedAt)).kind).toBe('expired')
    expect((await asOf.read(ADDRESS, between - 1)).kind).toBe('expired')
    expect(shown(await asOf.read(ADDRESS, between))).toBe(`${seq} after 0 entries`)
    expect(shown(await asOf.read(ADDRESS, later))).toBe(`${seq + 1} after 1 entries`)
  })

  test('is refused if the snapshot after archived entries is damaged, because what is left is incomplete', async () => {
    await book(2)
    const seq = await snapshot()
    await book()
    archive(seq)
    ledger.store.snapshots.splice(0, 1, ...ledger.store.snapshots.map((kept) => ({ ...kept, hash: 'damaged' })))
    await expect(now()).rejects.toBeInstanceOf(CorruptLedgerError)
  })
})

describe('a month that is archived while its entries are read', () => {
  test('is noticed: the unit is read again from its replacement, and paid for once', async () => {
    await book(250)
    const seq = await snapshot()
    await book(5)
    let paid = 0
    let page = 0
    // Not trusted at first, so everything is read.
    const [good] = ledger.store.snapshots.splice(0, 1)
    rows.beforePage = () => {
      page += 1
      if (page !== 2 || good === undefined) return
      ledger.store.snapshots.push(good)
      archive(seq)
    }
    const found = await asOf.read(ADDRESS, ledger.clock.now(), () => {
      paid += 1
      return null
    })
    expect([shown(found), paid]).toEqual([`${seq + 5} after 5 entries`, 1])
  })

  test('does not hold a request forever', async () => {
    await book()
    rows.entries = async () => null
    await expect(now()).rejects.toThrow('months are being archived, one after the other')
  })
})

describe('what an answer costs', () => {
  test('is paid once, when it is certain that there is one and before the work; a refusal costs nothing', async () => {
    const moment = await book(3)
    const paid: number[] = []
    const pay = () => {
      paid.push(rows.pages.length)
      return null
    }
    expect((await asOf.read(ADDRESS, 0, pay)).kind).toBe('before_unit')
    expect(paid).toEqual([])
    expect((await asOf.read(ADDRESS, moment, pay)).kind).toBe('found')
    expect(paid).toEqual([0])
  })

  test('no work is done if it cannot be paid', async () => {
    await book(3)
    expect(await asOf.read(ADDRESS, ledger.clock.now(), () => 'too poor')).toEqual({
      kind: 'refused',
      refusal: 'too poor',
    })
    expect(rows.pages).toEqual([])
  })
})

test('no further page is read once the caller no longer waits', async () => {
  await book(450)
  rows.beforePage = () => rows.caller.abort()
  await expect(now()).rejects.toThrow('aborted')
  await Bun.sleep(0)
  expect(rows.pages).toEqual([ENTRIES_PER_PAGE])
})
