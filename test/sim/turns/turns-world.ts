/** A writer and the process that waits for its turn, on one simulated clock: cut off from the database, paused, killed; their clients reach both. */

import { Heartbeat } from '../../../src/app/heartbeat.ts'
import { awaitTurn } from '../../../src/cluster/await-turn.ts'
import type { WriterTerm } from '../../../src/core/journal/journal-store.ts'
import type { UnitDirectory } from '../../../src/core/units/unit-directory.ts'
import { type Clock, MINUTE_MS, sleep } from '../../../src/lib/clock.ts'
import type { IdSource } from '../../../src/lib/ids.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import type { Writer } from '../../../src/postgres/stores/postgres-writers.ts'
import { type Core, openCore } from '../../support/core.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { night } from '../../support/samples.ts'
import { AppendWatch } from '../append-watch.ts'
import { Life } from '../life.ts'
import { CALLER } from '../nodes/node-app.ts'
import { behindNetwork, request } from '../nodes/node-database.ts'
import { AGENCIES, BEGIN, unitsOf } from '../sim-agencies.ts'
import { clockOf, storeSeenBy } from '../sim-process.ts'
import { SimStore } from '../sim-store.ts'
import type { Acknowledgement } from '../sim-world.ts'

const [AGENCY = AGENCIES[0] as (typeof AGENCIES)[number]] = AGENCIES
const [UNIT = unitsOf(AGENCY.id)[0] as ReturnType<typeof unitsOf>[number]] = unitsOf(AGENCY.id)
const ADDRESS = { agencyId: AGENCY.id, unitId: UNIT.id }
/** Longer than it takes to give a silent writer up. */
const CUT_MS_MAX = 20_000
const PAUSE_AFTER_FAILURE_MS = 500

/** Where a simulated build differs from the real one. */
export interface TurnFaults {
  /** Answers whether its heartbeats are confirmed or not. */
  readonly ignoresSilence?: boolean
}

interface WriterRow {
  readonly id: string
  beatAt: number
  awaitedAt: number
}

/** One run of the service, from its wait for its turn to its end. */
class TurnProcess extends Life {
  readonly appends = new AppendWatch()
  readonly isCut = () => this.cuts > 0
  cuts = 0
  /** Since it is the writer. */
  core: Core | null = null
  heartbeat: Heartbeat | null = null
  isFenced = false
  /** What the last heartbeat that it knows of said. */
  isAwaited = true

  constructor(readonly name: string) {
    super()
  }

  get directory(): UnitDirectory | null {
    return this.isRunning && !this.isFenced ? (this.core?.directory ?? null) : null
  }
}

export class TurnsWorld {
  readonly clock = new FakeClock(BEGIN)
  readonly store: SimStore
  readonly acknowledged: Acknowledgement[] = []
  readonly denied: string[] = []
  /** Reads that did not show what was acknowledged before, though a standby waited. */
  readonly broken: string[] = []
  takeOvers = 0
  reads = 0
  refused = 0
  readonly #dice: SeededRandom
  readonly #faults: TurnFaults
  readonly #processes: TurnProcess[] = []
  #writer: WriterRow | null = null
  #newest = 0
  #names = 0
  #ids = 0

  private constructor(seed: number, faults: TurnFaults) {
    this.#dice = new SeededRandom(seed)
    this.#faults = faults
    this.store = new SimStore(this.clock, this.#dice)
    this.store.troublePercent = 0
  }

  static async run(seed: number, steps: number, faults: TurnFaults = {}): Promise<TurnsWorld> {
    const world = new TurnsWorld(seed, faults)
    await world.#begin()
    for (let step = 0; step < steps; step++) await world.#step()
    return world
  }

  async #begin(): Promise<void> {
    const first = this.#start()
    await this.clock.advance(1_000)
    const set = first.core?.commands.setUnit(AGENCY, UNIT.id, () => UNIT, CALLER)
    await this.clock.advance(1_000)
    await set
    this.#start()
  }

  get #alive(): readonly TurnProcess[] {
    return this.#processes.filter(({ isDead }) => !isDead)
  }

  async #step(): Promise<void> {
    const dice = this.#dice
    const roll = dice.below(100)
    const process = dice.pick(this.#alive)
    if (roll < 35) void this.#read(process)
    else if (roll < 55) this.#book(process)
    else if (roll < 90) await this.clock.advance(dice.below(1_500))
    else if (roll < 95) this.#later(CUT_MS_MAX, this.#cut(process))
    else if (roll < 97) {
      process.pause()
      this.#later(CUT_MS_MAX, () => process.resume())
    } else process.die()
    // What is fenced exits, and whatever exits is started again: it waits for its turn.
    for (const each of this.#alive) if (each.isFenced && dice.chance(0.2)) each.die()
    if (this.#alive.length < 2 && dice.chance(0.3)) this.#start()
    if (this.#alive.length === 0) this.#start()
  }

  #cut(process: TurnProcess): () => void {
    process.cuts += 1
    return () => {
      process.cuts -= 1
    }
  }

  #later(msMax: number, task: () => void): void {
    this.clock.after(this.#dice.below(msMax), task)
  }

  #start(): TurnProcess {
    const process = new TurnProcess(`process ${++this.#names}`)
    this.#processes.push(process)
    void this.#live(process)
    return process
  }

  async #live(process: TurnProcess): Promise<void> {
    const clock = skewed(clockOf(process, this.clock), this.#dice)
    const { isCut } = process
    const ask = <T>(what: () => T): Promise<T> =>
      process.receive(request({ store: this.store, clock: this.clock, dice: this.#dice, isCut }, what))
    for (;;) {
      const gone = await awaitTurn({
        clock,
        isOver: () => false,
        isCancelled: () => process.isDead,
        writers: {
          list: () => ask(() => this.#writers()),
          change: ({ waitMs }) => sleep(clock, waitMs),
          await: () =>
            ask(() => {
              if (this.#writer !== null) this.#writer.awaitedAt = this.clock.monotonicMs()
            }),
        },
        isAhead: ({ writerId }) => writerId !== process.name,
        watch: { onWaiting() {}, onDraining() {}, onTurn() {}, onFailure() {} },
      })
      const since = clock.monotonicMs()
      try {
        const term = await ask(() => this.#takeOver(process.name, gone))
        return this.#serve(process, clock, { term, since })
      } catch {
        await sleep(clock, PAUSE_AFTER_FAILURE_MS)
      }
    }
  }

  /** As `take_over` does. */
  #takeOver(name: string, gone: readonly string[]): WriterTerm {
    if (this.#writer !== null && this.#writer.id !== name && !gone.includes(this.#writer.id))
      throw new Error('Cannot take over: another process has taken over')
    this.takeOvers += 1
    this.#writer = { id: name, beatAt: this.clock.monotonicMs(), awaitedAt: Number.NEGATIVE_INFINITY }
    return this.store.takeOverShards(this.store.shards.keys(), name)
  }

  #serve(process: TurnProcess, clock: Clock, { term, since }: { term: WriterTerm; since: number }): void {
    const newId: IdSource = (prefix) => `${prefix}_${String(++this.#ids).padStart(32, '0')}`
    const seen = behindNetwork(this.store, process.isCut, this.clock)
    const core = openCore({
      clock,
      term,
      newId,
      agencies: [AGENCY],
      units: unitsOf,
      store: storeSeenBy(process, seen, (agencyId) => core.journal.epochOf(agencyId)),
      journalLimits: { waitingMax: 200, batchMax: 8 },
      unitLimits: { residentMax: 4, mailboxMax: 20, idleMs: 60_000, snapshotEvery: 4 },
      onFenced: () => {
        process.isFenced = true
      },
      onDefect: () => {},
      onSnapshotFailure: () => {},
      onDurable: () => {},
    })
    process.core = core
    process.heartbeat = new Heartbeat({
      clock,
      since,
      onConfirmed() {},
      beat: async () => {
        const answer = await process.receive(
          request({ store: this.store, clock: this.clock, dice: this.#dice, isCut: process.isCut }, () =>
            this.#beat(process.name),
          ),
        )
        if (answer !== null) process.isAwaited = answer.isAwaited
        return answer
      },
      onReplaced: () => {
        process.isFenced = true
      },
    })
  }

  #beat(name: string): { isAwaited: boolean } | null {
    if (this.#writer?.id !== name) return null
    const now = this.clock.monotonicMs()
    this.#writer.beatAt = now
    return { isAwaited: now - this.#writer.awaitedAt < MINUTE_MS }
  }

  #writers(): readonly Writer[] {
    if (this.#writer === null) return []
    const { id, beatAt } = this.#writer
    return [
      {
        writerId: id,
        name: id,
        run: null,
        node: null,
        shards: this.store.shards.length,
        beatAt,
        silentMs: this.clock.monotonicMs() - beatAt,
        isDraining: false,
        isReleased: false,
      },
    ]
  }

  /** As the surfaces do: a request is answered if heartbeats are confirmed when it comes. */
  async #read(process: TurnProcess): Promise<void> {
    const { directory, heartbeat, isAwaited } = process
    if (directory === null || heartbeat === null) return
    if (!heartbeat.isConfirmed && this.#faults.ignoresSilence !== true) {
      this.refused += 1
      return
    }
    this.reads += 1
    const due = this.#newest
    const state = await directory.read(ADDRESS).catch(() => null)
    if (state !== null && state.seq < due && isAwaited)
      this.broken.push(`P3: ${process.name} showed its unit at ${state.seq}, after ${due} had been acknowledged`)
  }

  #book(process: TurnProcess): void {
    if (process.directory === null || process.core === null) return
    const ref = `ref ${++this.#ids}`
    const day = this.#dice.below(27)
    const stay = { arrival: night(`2027-03-${String(day + 1).padStart(2, '0')}`), departure: night('2027-03-31') }
    process.core.commands
      .book(
        AGENCY,
        {
          unit: UNIT,
          stay,
          type: 'guest',
          source: 'partner',
          sourceRef: ref,
          status: 'confirmed',
          holdHours: null,
          notes: null,
          adults: 2,
          children: 0,
          extraBed: false,
          guest: null,
          enforcement: 'partner',
        },
        CALLER,
      )
      .then(
        (outcome) => {
          if (outcome.kind !== 'done') return
          const { id, version, status } = outcome.booking
          this.acknowledged.push({ agencyId: AGENCY.id, seq: outcome.seq, bookingId: id, version, status })
          this.#newest = Math.max(this.#newest, outcome.seq ?? 0)
          // Its nights are free again in a moment, for the next one.
          this.#later(3_000, () => this.#cancel(process, id))
        },
        (error: { kind?: string }) => {
          if (error.kind !== 'outcome_unknown') this.denied.push(ref)
        },
      )
  }

  #cancel(process: TurnProcess, bookingId: string): void {
    if (process.directory === null || process.core === null) return
    process.core.commands.cancel(AGENCY, { bookingId, reason: null }, CALLER).then(
      (outcome) => {
        if (outcome.kind === 'done') this.#newest = Math.max(this.#newest, outcome.seq ?? 0)
      },
      () => {},
    )
  }
}

/** Two machines' clocks differ in speed by up to two per cent. */
function skewed(clock: Clock, dice: SeededRandom): Clock {
  const speed = 0.99 + dice.next() / 50
  return {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs() * speed,
    // Whole milliseconds, as of real timers: never a moment too early.
    after: (ms, task) => clock.after(Math.ceil(ms / speed), task),
  }
}
