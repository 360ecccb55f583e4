import { describe, expect, test } from 'bun:test'
import type { Unit } from '../../../src/core/domain/unit.ts'
import type { JournalError } from '../../../src/core/journal/journal-error.ts'
import { stateHash } from '../../../src/core/journal/snapshot-codec.ts'
import { settle } from '../../support/fake-clock.ts'
import { MemoryLedger } from '../../support/memory-ledger.ts'
import { AGENCY, CALLER, requestFor, sampleId, sampleUnit } from '../../support/samples.ts'

const UNIT_0 = sampleId('unt', '0')
const UNIT_1 = sampleId('unt', '1')
const UNIT_3 = sampleId('unt', '3')

function units(count: number) {
  return Array.from({ length: count }, (_, i) => sampleUnit({ id: sampleId('unt', i), slug: `unit-${i}` }))
}

function addressOf(unitId: string) {
  return { agencyId: AGENCY.id, unitId }
}

describe('activation', () => {
  test('of one unit by many concurrent commands reads the store once and creates one actor', async () => {
    const ledger = await MemoryLedger.open(units(1))
    await ledger.takeOver()
    const states = await Promise.all(Array.from({ length: 20 }, () => ledger.directory.read(addressOf(UNIT_0))))
    expect(new Set(states).size).toBe(1)
    expect(ledger.directory.stats.activations).toBe(1)
  })

  test('that fails is retried by the next command', async () => {
    const ledger = await MemoryLedger.open(units(1))
    await ledger.takeOver()
    const load = ledger.store.loadUnit.bind(ledger.store)
    ledger.store.loadUnit = async () => {
      throw new Error('database away')
    }
    const failed = await ledger.directory.read(addressOf(UNIT_0)).catch((error: Error) => error.message)
    expect(failed).toBe('database away')
    ledger.store.loadUnit = load
    expect((await ledger.directory.read(addressOf(UNIT_0))).seq).toBe(1)
  })

  test('S3: of a unit that another process has written to is refused, although this one has not learnt yet that it was replaced', async () => {
    const [unit] = units(1) as [Unit]
    const ledger = await MemoryLedger.open([unit])
    await ledger.takeOver()
    const replaced = ledger.directory
    await ledger.takeOver()
    await ledger.commands.book(AGENCY, requestFor(unit, '2027-03-01', '2027-03-02'), CALLER)
    const kind = await replaced.read(addressOf(UNIT_0)).catch(({ kind }: JournalError) => kind)
    expect(kind).toBe('not_owner')
    expect(replaced.peek(UNIT_0)).toBeNull()
  })
})

describe('passivation', () => {
  test('keeps the number of resident units within the limit, and loses nothing', async () => {
    const all = units(20)
    const ledger = await MemoryLedger.open(all)
    await ledger.takeOver({ residentMax: 5 })
    for (let day = 1; day <= 9; day++) {
      for (const unit of all)
        await ledger.commands.book(AGENCY, requestFor(unit, `2027-03-0${day}`, `2027-03-${day + 10}`), CALLER)
      expect(ledger.directory.stats.resident).toBeLessThanOrEqual(5)
    }
    for (const unit of all) expect((await ledger.commands.calendar(AGENCY, unit)).occupied.count()).toBe(10)
  })

  test('evicts an idle unit and keeps one that is read', async () => {
    const ledger = await MemoryLedger.open(units(2))
    for (let second = 0; second < 4; second++) {
      ledger.directory.sweep()
      await ledger.clock.advance(500)
      ledger.directory.peek(UNIT_0)
    }
    ledger.directory.sweep()
    expect(ledger.directory.peek(UNIT_0)).not.toBeNull()
    expect(ledger.directory.peek(UNIT_1)).toBeNull()
  })

  test('looks at a share of the units at a time, one after the other, and then at the first ones again', async () => {
    const ledger = await MemoryLedger.open(units(4))
    for (let i = 0; i < 4; i++) ledger.directory.sweep(1 / 4)
    await ledger.clock.advance(60_000)
    const left: number[] = []
    for (let i = 0; i < 4; i++) {
      ledger.directory.sweep(1 / 4)
      left.push(ledger.directory.stats.resident)
    }
    expect(left).toEqual([3, 2, 1, 0])
  })

  test('never evicts an actor with a running turn', async () => {
    const ledger = await MemoryLedger.open(units(1))
    let release = () => {}
    const turn = ledger.directory.turn(addressOf(UNIT_0), () => new Promise<void>((resolve) => (release = resolve)))
    await settle()
    for (let i = 0; i < 4; i++) {
      ledger.directory.sweep()
      await ledger.clock.advance(5_000)
    }
    expect(ledger.directory.stats).toMatchObject({ resident: 1, busy: 1 })
    release()
    await turn
    expect(ledger.directory.stats).toMatchObject({ resident: 1, busy: 0 })
    const failed = ledger.directory.turn(addressOf(UNIT_0), () => Promise.reject(new Error('no')))
    await expect(failed).rejects.toThrow('no')
    expect(ledger.directory.stats.busy).toBe(0)
  })
})

describe('snapshots', () => {
  test('are written after the configured number of events, and recovery from them gives the live state', async () => {
    const [unit] = units(1)
    if (unit === undefined) throw new Error('no unit')
    const ledger = await MemoryLedger.open([unit])
    for (let day = 10; day < 21; day++) {
      await ledger.commands.book(AGENCY, requestFor(unit, `2027-03-${day}`, `2027-03-${day + 1}`), CALLER)
    }
    await settle()
    expect(ledger.store.snapshots.map(({ seq }) => seq)).toEqual([5, 10])
    const live = stateHash(await ledger.commands.calendar(AGENCY, unit))
    await ledger.takeOver()
    expect(stateHash(await ledger.commands.calendar(AGENCY, unit))).toBe(live)
  })

  test('S1: recovery skips a damaged snapshot for an older one, and replays everything when all are damaged', async () => {
    const [unit] = units(1)
    if (unit === undefined) throw new Error('no unit')
    const ledger = await MemoryLedger.open([unit])
    for (let day = 10; day < 21; day++) {
      await ledger.commands.book(AGENCY, requestFor(unit, `2027-03-${day}`, `2027-03-${day + 1}`), CALLER)
    }
    const live = stateHash(await ledger.commands.calendar(AGENCY, unit))
    for (const bad of [1, 2]) {
      const damaged = ledger.store.snapshots.map((s, i) => (i >= 2 - bad ? { ...s, state: `${s.state} ` } : s))
      ledger.store.snapshots.splice(0, 2, ...damaged)
      ledger.defects.length = 0
      await ledger.takeOver()
      expect(stateHash(await ledger.commands.calendar(AGENCY, unit))).toBe(live)
      expect(ledger.defects.length).toBe(bad)
    }
  })
})

describe('the tail that recovery replays', () => {
  const evict = async (ledger: MemoryLedger) => {
    ledger.directory.sweep()
    await ledger.clock.advance(1_000)
    ledger.directory.sweep()
    await settle()
    expect(ledger.directory.stats.resident).toBe(0)
  }
  const tailOf = async (ledger: MemoryLedger) => (await ledger.store.loadUnit(AGENCY.id, UNIT_0)).tail.length

  test('stays short when a unit is evicted 1,000 times with one event each', async () => {
    const [unit] = units(1) as [Unit]
    const ledger = await MemoryLedger.open([unit])
    await ledger.takeOver({ snapshotEvery: 64 })
    let longest = 0
    for (let i = 0; i < 1_000; i++) {
      const minStay = 1 + (i % 3)
      await ledger.commands.setUnit(AGENCY, unit.id, () => ({ ...unit, rules: { ...unit.rules, minStay } }), CALLER)
      await evict(ledger)
      longest = Math.max(longest, await tailOf(ledger))
    }
    expect(ledger.store.journal).toHaveLength(1_001)
    expect(longest).toBeLessThan(8)
  })

  test('is shortened by an eviction even after reads alone, when it was long', async () => {
    const [unit] = units(1) as [Unit]
    const ledger = await MemoryLedger.open([unit])
    await ledger.takeOver({ snapshotEvery: 64 })
    for (let day = 10; day < 20; day++)
      await ledger.commands.book(AGENCY, requestFor(unit, `2027-03-${day}`, `2027-03-${day + 1}`), CALLER)
    await ledger.takeOver({ snapshotEvery: 64 })
    await ledger.directory.read(addressOf(UNIT_0))
    await evict(ledger)
    expect(ledger.store.snapshots.map(({ seq }) => seq)).toEqual([11])
    await ledger.directory.read(addressOf(UNIT_0))
    await evict(ledger)
    expect(ledger.store.snapshots.map(({ seq }) => seq)).toEqual([11])
  })

  test('S1: is counted from the snapshot that recovery used, not from the newest one', async () => {
    const [unit] = units(1) as [Unit]
    const ledger = await MemoryLedger.open([unit])
    for (let day = 10; day < 19; day++)
      await ledger.commands.book(AGENCY, requestFor(unit, `2027-03-${day}`, `2027-03-${day + 1}`), CALLER)
    await settle()
    ledger.store.snapshots.splice(0, 2, ...ledger.store.snapshots.map((s) => ({ ...s, hash: 'flipped' })))
    await ledger.takeOver({ snapshotEvery: 64 })
    await ledger.directory.read(addressOf(UNIT_0))
    await evict(ledger)
    await ledger.takeOver()
    ledger.defects.length = 0
    await ledger.directory.read(addressOf(UNIT_0))
    expect(ledger.defects).toEqual([])
  })
})

describe('a snapshot that cannot be written', () => {
  /** A unit whose snapshot is due after five events, and a store that rejects snapshots until `repair` is called. */
  async function withoutSnapshots() {
    const [unit] = units(1) as [Unit]
    const ledger = await MemoryLedger.open([unit])
    const failures: unknown[] = []
    await ledger.takeOver({ onSnapshotFailure: (error) => failures.push(error) })
    const write = ledger.store.writeSnapshots.bind(ledger.store)
    ledger.store.writeSnapshots = async () => {
      throw new Error('database away')
    }
    let day = 9
    const book = async (count: number) => {
      for (let i = 0; i < count; i++) {
        day += 1
        await ledger.commands.book(AGENCY, requestFor(unit, `2027-03-${day}`, `2027-03-${day + 1}`), CALLER)
        await settle()
      }
    }
    const repair = () => {
      ledger.store.writeSnapshots = write
    }
    return { ledger, failures, book, repair }
  }

  test('does not count as written: a clean shutdown writes it', async () => {
    const { ledger, failures, book, repair } = await withoutSnapshots()
    await book(4)
    expect(failures).toHaveLength(1)
    repair()
    await ledger.directory.snapshotAll()
    expect(ledger.store.snapshots.map(({ seq }) => seq)).toEqual([5])
  })

  test('is not retried with every event, but after as many further events', async () => {
    const { ledger, failures, book, repair } = await withoutSnapshots()
    await book(8)
    expect(failures).toHaveLength(1)
    repair()
    await book(1)
    expect(ledger.store.snapshots.map(({ seq }) => seq)).toEqual([10])
    await book(4)
    expect(ledger.store.snapshots).toHaveLength(1)
    await book(1)
    expect(ledger.store.snapshots.map(({ seq }) => seq)).toEqual([10, 15])
  })

  test('leaves events that arrive during the write to the next snapshot', async () => {
    const { ledger, book, repair } = await withoutSnapshots()
    repair()
    const write = ledger.store.writeSnapshots.bind(ledger.store)
    const written = Promise.withResolvers<void>()
    ledger.store.writeSnapshots = async (snapshots) => {
      await written.promise
      await write(snapshots)
    }
    await book(7)
    written.resolve()
    await settle()
    expect(ledger.store.snapshots.map(({ seq }) => seq)).toEqual([5])
    await ledger.directory.snapshotAll()
    expect(ledger.store.snapshots.map(({ seq }) => seq)).toEqual([5, 8])
  })
})

test('a command that waits too long for its turn is refused before it is decided', async () => {
  const [unit] = units(1)
  if (unit === undefined) throw new Error('no unit')
  const ledger = await MemoryLedger.open([unit])
  ledger.store.fate = () => 'lose_request'
  const first = ledger.commands.book(AGENCY, requestFor(unit, '2027-03-01', '2027-03-03'), CALLER)
  await settle()
  const second = ledger.commands.book(AGENCY, requestFor(unit, '2027-04-01', '2027-04-03'), CALLER).catch((e) => e.kind)
  await ledger.clock.advance(6_000)
  ledger.store.fate = () => 'deliver'
  await ledger.clock.advance(100)
  expect(await first).toMatchObject({ kind: 'done', seq: 2 })
  expect(await second).toBe('held_too_long')
})

test('a write whose outcome stays unknown is answered as unknown after 30 s, and the unit keeps waiting for the outcome', async () => {
  const [unit] = units(1)
  if (unit === undefined) throw new Error('no unit')
  const ledger = await MemoryLedger.open([unit])
  ledger.store.fate = () => (ledger.store.sends.length === 2 ? 'lose_reply' : 'refuse_connection')
  const seen: string[] = []
  ledger.commands
    .book(AGENCY, requestFor(unit, '2027-03-01', '2027-03-03'), CALLER)
    .catch((error) => seen.push(error.kind))
  await ledger.clock.advance(29_990)
  expect(seen).toEqual([])
  await ledger.clock.advance(20)
  expect(seen).toEqual(['outcome_unknown'])
  ledger.store.fate = () => 'deliver'
  await ledger.clock.advance(100)
  expect((await ledger.commands.calendar(AGENCY, unit)).occupied.count()).toBe(2)
})

describe('concurrent commands', () => {
  /** Two units with a booking each, and a store whose look-ups take time. */
  async function twoBooked() {
    const all = units(2)
    const ledger = await MemoryLedger.open(all)
    const booked = await Promise.all(
      all.map((unit, i) =>
        ledger.commands.book(AGENCY, requestFor(unit, `2027-0${i + 3}-01`, `2027-0${i + 3}-03`), CALLER),
      ),
    )
    const ids = booked.map((outcome) => (outcome.kind === 'done' ? outcome.booking.id : 'none'))
    return { ledger, ids: ids as [string, string] }
  }

  test('two concurrent cancels of one booking are one cancellation and one repeat', async () => {
    const { ledger, ids } = await twoBooked()
    const cancel = () => ledger.commands.cancel(AGENCY, { bookingId: ids[0], reason: null }, CALLER)
    const outcomes = await Promise.all([cancel(), cancel(), cancel()])
    expect(outcomes.map((outcome) => (outcome.kind === 'done' ? outcome.seq === null : outcome.kind))).toEqual([
      false,
      true,
      true,
    ])
    expect(ledger.store.announced).toHaveLength(3)
  })

  test('a cancel that waits while its booking moves finds it in the other unit', async () => {
    const { ledger, ids } = await twoBooked()
    let release = () => {}
    ledger.store.delay = () => new Promise((resolve) => (release = resolve))
    const move = ledger.commands.change(AGENCY, { bookingId: ids[0], change: { unitId: UNIT_1 } }, CALLER)
    await settle()
    const cancel = ledger.commands.cancel(AGENCY, { bookingId: ids[0], reason: null }, CALLER)
    await settle()
    ledger.store.delay = async () => {}
    release()
    expect((await move).kind).toBe('done')
    expect(await cancel).toMatchObject({ kind: 'done', booking: { unitId: UNIT_1, status: 'cancelled', version: 3 } })
  })

  test('U4: concurrent moves in opposite directions do not deadlock', async () => {
    const { ledger, ids } = await twoBooked()
    // Both units are busy, so each move waits in one mailbox before it can enter the other.
    const busy = Promise.withResolvers<void>()
    const blocking = [UNIT_0, UNIT_1].map((unitId) => ledger.directory.turn(addressOf(unitId), () => busy.promise))
    const seen: string[] = []
    for (const [i, bookingId] of ids.entries()) {
      ledger.commands
        .change(AGENCY, { bookingId, change: { unitId: sampleId('unt', 1 - i) } }, CALLER)
        .then(({ kind }) => seen.push(kind))
    }
    await settle()
    busy.resolve()
    await Promise.all(blocking)
    await ledger.clock.advance(100)
    expect(seen).toEqual(['done', 'done'])
  })
})

describe('more concurrent commands than resident units', () => {
  test('a write that arrives just after a read has activated its unit, when no room is left, gets its turn', async () => {
    for (let ticks = 0; ticks < 30; ticks++) {
      const [busy, request] = units(2) as [Unit, Unit]
      const ledger = await MemoryLedger.open([busy, request])
      await ledger.takeOver({ residentMax: 1 })
      const { directory } = ledger
      const address = ({ id }: Unit) => ({ agencyId: AGENCY.id, unitId: id })
      const { promise: over, resolve: end } = Promise.withResolvers<void>()
      const busyTurns = directory.turn(address(busy), () => over)
      await settle()
      const { promise: loaded, resolve: load } = Promise.withResolvers<void>()
      const { loadUnit } = ledger.store
      ledger.store.loadUnit = (...of) => loaded.then(() => loadUnit.apply(ledger.store, of))
      const read = directory.read(address(request))
      await settle()
      load()
      for (let i = 0; i < ticks; i++) await null
      expect(await directory.turn(address(request), async () => 'had')).toBe('had')
      await read
      end()
      await busyTurns
    }
  })

  /** A booking in the first unit of each pair, and a store that takes a millisecond to read a unit or a row. */
  async function pairs(count: number, residentMax: number) {
    const all = units(2 * count)
    const ledger = await MemoryLedger.open(all)
    const ids: string[] = []
    for (let i = 0; i < count; i++) {
      const booked = await ledger.commands.book(
        AGENCY,
        requestFor(all[2 * i] as Unit, '2027-03-01', '2027-03-03'),
        CALLER,
      )
      ids.push(booked.kind === 'done' ? booked.booking.id : 'none')
    }
    await ledger.takeOver({ residentMax })
    const slow = (): Promise<void> => new Promise((resolve) => ledger.clock.after(1, resolve))
    const { loadUnit, find } = ledger.store
    ledger.store.loadUnit = (...params) => slow().then(() => loadUnit.apply(ledger.store, params))
    ledger.store.find = (...params) => slow().then(() => find.apply(ledger.store, params))
    ledger.store.delay = slow
    return { ledger, ids, all }
  }

  for (const residentMax of [1, 2]) {
    for (const moves of [residentMax, residentMax + 1, 4 * residentMax]) {
      test(`${moves} concurrent moves with room for ${residentMax} all complete, and each unit is read once`, async () => {
        const { ledger, ids } = await pairs(moves, residentMax)
        const seen: string[] = []
        for (const [i, bookingId] of ids.entries()) {
          ledger.commands
            .change(AGENCY, { bookingId, change: { unitId: sampleId('unt', 2 * i + 1) } }, CALLER)
            .then(({ kind }) => seen.push(kind))
        }
        await ledger.clock.advance(100)
        expect(seen).toEqual(ids.map(() => 'done'))
        expect(ledger.directory.stats.activations).toBe(2 * moves)
      })
    }

    test(`a unit needed by a read and a write at once stays for the write, with room for ${residentMax}`, async () => {
      const { ledger, all } = await pairs(2, residentMax)
      const busy = Promise.withResolvers<void>()
      const busyTurns = all.slice(0, 3).map(({ id }) => ledger.directory.turn(addressOf(id), () => busy.promise))
      const read = ledger.directory.read(addressOf(UNIT_3))
      const turn = ledger.directory.turn(addressOf(UNIT_3), async (state) => state)
      await ledger.clock.advance(10)
      expect(await turn).toBe(await read)
      busy.resolve()
      await Promise.all(busyTurns)
    })

    test(`a read is answered after one activation even when all ${residentMax} resident units are busy`, async () => {
      const { ledger, all } = await pairs(2, residentMax)
      const busy = Promise.withResolvers<void>()
      const busyTurns = all.slice(0, 3).map(({ id }) => ledger.directory.turn(addressOf(id), () => busy.promise))
      await ledger.clock.advance(10)
      const before = ledger.directory.stats.activations
      const reads = Array.from({ length: 10 }, () => ledger.directory.read(addressOf(UNIT_3)))
      await ledger.clock.advance(10)
      const seqs = (await Promise.all(reads)).map(({ unitId }) => unitId)
      expect(seqs).toEqual(Array.from({ length: 10 }, () => UNIT_3))
      expect(ledger.directory.stats.activations).toBe(before + 1)
      busy.resolve()
      await Promise.all(busyTurns)
    })
  }

  test('exceed the limit while they run; the next sweep restores it', async () => {
    const { ledger, all } = await pairs(3, 2)
    const busy = Promise.withResolvers<void>()
    const turns = all.map(({ id }) => ledger.directory.turn(addressOf(id), () => busy.promise))
    await ledger.clock.advance(10)
    expect(ledger.directory.stats.resident).toBe(6)
    ledger.directory.sweep()
    expect(ledger.directory.stats.resident).toBe(6)
    busy.resolve()
    await Promise.all(turns)
    ledger.directory.sweep()
    expect(ledger.directory.stats.resident).toBe(2)
  })

  test('a unit that cannot be read is not kept: the next command retries', async () => {
    const { ledger } = await pairs(1, 1)
    const load = ledger.store.loadUnit
    ledger.store.loadUnit = async () => {
      throw new Error('database away')
    }
    const failed = ledger.directory.turn(addressOf(UNIT_0), async () => 'had it').catch((error: Error) => error.message)
    await ledger.clock.advance(10)
    expect(await failed).toBe('database away')
    ledger.store.loadUnit = load
    for (const unitId of [UNIT_0, UNIT_1]) {
      const turn = ledger.directory.turn(addressOf(unitId), async () => 'had it')
      await ledger.clock.advance(10)
      expect(await turn).toBe('had it')
    }
    ledger.directory.sweep()
    expect(ledger.directory.stats.resident).toBe(1)
  })
})

describe('stats', () => {
  test('count the waiting commands, the longest queue, and the commands refused by a full mailbox', async () => {
    const ledger = await MemoryLedger.open(units(2))
    await ledger.takeOver()
    const busy = Promise.withResolvers<void>()
    const turns = (unitId: string, count: number) =>
      Array.from({ length: count }, () => ledger.directory.turn(addressOf(unitId), () => busy.promise).catch(() => {}))
    const all = [...turns(UNIT_0, 3), ...turns(UNIT_1, 103)]
    await settle()
    // One command of each unit has the turn; the mailbox of the second unit holds 100 more.
    expect(ledger.directory.stats).toMatchObject({ resident: 2, waiting: 102, deepest: 100, refused: 2 })
    busy.resolve()
    await Promise.all(all)
    expect(ledger.directory.stats).toMatchObject({ waiting: 0, deepest: 0, refused: 2 })
  })
})
