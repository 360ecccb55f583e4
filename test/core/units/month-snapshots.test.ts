import { expect, test } from 'bun:test'
import { CorruptLedgerError } from '../../../src/core/journal/journal-error.ts'
import type { JournalStore } from '../../../src/core/journal/journal-store.ts'
import type { UnitAddress } from '../../../src/core/journal/recovery.ts'
import type { StoredSnapshot } from '../../../src/core/journal/snapshot-codec.ts'
import { MonthSnapshots } from '../../../src/core/units/month-snapshots.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { AGENCY, sampleId } from '../../support/samples.ts'

const DAY_MS = 86_400_000
const unit = (label: string): UnitAddress => ({ agencyId: AGENCY.id, unitId: sampleId('unt', label) })
const DAMAGED = unit('damaged')

/** Pages with these units, and what is written and reported. */
function job(pages: UnitAddress[][]) {
  const written: StoredSnapshot[] = []
  const failures: unknown[] = []
  let requests = 0
  const clock = new FakeClock()
  const store = {
    loadUnit: async (_: string, unitId: string) => {
      if (unitId === DAMAGED.unitId) throw new CorruptLedgerError('Cannot read journal entry 7')
      return { snapshots: [], tail: [] }
    },
    writeSnapshots: async (snapshots: readonly StoredSnapshot[]) => void written.push(...snapshots),
  } as unknown as JournalStore
  const units = {
    page: async (after: UnitAddress | null) => {
      requests += 1
      const n = after === null ? 0 : 1 + pages.findIndex((page) => page.includes(after))
      const page = pages[n] ?? []
      return { units: page, next: n + 1 < pages.length ? (page.at(-1) ?? null) : null }
    },
  }
  const onFailure = (error: unknown) => void failures.push(error)
  const snapshots = new MonthSnapshots({ units, store, clock, onDefect: () => {}, onFailure })
  return { snapshots, clock, written, failures, request: () => requests }
}

const idsOf = (written: StoredSnapshot[]) => written.map(({ unitId }) => unitId)

test('every unit of every page gets a snapshot, ten minutes after the start and then once a day', async () => {
  const { snapshots, clock, written, request: requests } = job([[unit('a'), unit('b')], [unit('c')]])
  snapshots.start()
  await clock.advance(599_999)
  expect(requests()).toBe(0)
  await clock.advance(1_000)
  expect(idsOf(written)).toEqual(['a', 'b', 'c'].map((label) => unit(label).unitId))
  await clock.advance(DAY_MS)
  expect(requests()).toBe(4)
  await snapshots.stop()
  await clock.advance(3 * DAY_MS)
  expect(requests()).toBe(4)
})

test('a unit that cannot be recovered is reported, and keeps no other one from its snapshot', async () => {
  const { snapshots, written, failures } = job([[unit('a'), DAMAGED, unit('b')]])
  await snapshots.run()
  expect(idsOf(written)).toEqual([unit('a').unitId, unit('b').unitId])
  expect(failures).toEqual([new CorruptLedgerError('Cannot read journal entry 7')])
})
