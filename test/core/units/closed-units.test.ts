import { expect, test } from 'bun:test'
import { UnitDirectory } from '../../../src/core/units/unit-directory.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { MemoryJournalStore } from '../../support/memory-journal-store.ts'
import { AGENCY, sampleId } from '../../support/samples.ts'

const UNIT = { agencyId: AGENCY.id, unitId: sampleId('unt', '0') }
const OTHER = { agencyId: sampleId('agc', 'other'), unitId: sampleId('unt', '1') }
const isAsked = (agencyId: string) => agencyId === AGENCY.id

/** The directory of a node that owns everything at first. */
function open() {
  const terms = new Map<string, number | null>([
    [UNIT.agencyId, 1],
    [OTHER.agencyId, 1],
  ])
  const store = new MemoryJournalStore()
  const directory = new UnitDirectory({
    store,
    clock: new FakeClock(),
    limits: { residentMax: 10, mailboxMax: 10, idleMs: 1_000, snapshotEvery: 100 },
    onDefect: () => {},
    onSnapshotFailure: () => {},
    endOf: () => ({ lastSeq: 0 }),
    termOf: (agencyId) => terms.get(agencyId) ?? null,
  })
  return { directory, store, terms }
}

const kindOf = (params: Promise<unknown>) =>
  params.then(
    () => 'done',
    (error: { kind?: string }) => error.kind,
  )

test('C5: of a shard that is given up, the turn that runs ends, those that wait are refused, and the others continue', async () => {
  const { directory, terms, store } = open()
  const load = store.loadUnit.bind(store)
  const running = Promise.withResolvers<void>()
  const first = kindOf(directory.turn(UNIT, () => running.promise))
  const waiting = kindOf(directory.turn(UNIT, async () => {}))
  await settle()
  terms.set(AGENCY.id, null)
  directory.close(isAsked)
  let hasLeft = false
  void directory.left(isAsked).then(() => {
    hasLeft = true
  })
  await settle()
  expect(await waiting).toBe('not_owner')
  // Nothing is read for it either.
  store.loadUnit = () => expect.unreachable('A unit of another process was read')
  expect(await kindOf(directory.turn(UNIT, async () => {}))).toBe('not_owner')
  expect(await kindOf(directory.read(UNIT))).toBe('not_owner')
  expect(await kindOf(directory.activate([UNIT]))).toBe('not_owner')
  store.loadUnit = load
  expect(await kindOf(directory.turn(OTHER, async () => {}))).toBe('done')
  expect(directory.peek(UNIT.unitId)).toBeNull()
  expect(hasLeft).toBe(false)
  running.resolve()
  expect(await first).toBe('done')
  await settle()
  expect(hasLeft).toBe(true)
})

test('a unit that was being read when its shard was lost is not taken from what was read', async () => {
  const { directory, store, terms } = open()
  const reading = Promise.withResolvers<void>()
  const load = store.loadUnit.bind(store)
  store.loadUnit = async (...of) => {
    const found = await load(...of)
    await reading.promise
    return found
  }
  const read = kindOf(directory.read(UNIT))
  await settle()
  terms.set(AGENCY.id, null)
  directory.close(isAsked)
  // Another process has written to it by the time it comes back.
  terms.set(AGENCY.id, 2)
  let hasLeft = false
  void directory.left(isAsked).then(() => {
    hasLeft = true
  })
  await settle()
  expect(hasLeft).toBe(false)
  reading.resolve()
  expect(await read).toBe('not_owner')
  await settle()
  expect(hasLeft).toBe(true)
  expect(await kindOf(directory.read(UNIT))).toBe('done')
})
