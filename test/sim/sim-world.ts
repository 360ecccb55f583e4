import type { FoundOutcome } from '../../src/core/bookings/booking-request.ts'
import type { BookingStatus } from '../../src/core/domain/booking.ts'
import { addNights } from '../../src/core/domain/night.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import type { Caller } from '../../src/core/journal/record.ts'
import { HOUR_MS } from '../../src/lib/duration.ts'
import type { IdSource } from '../../src/lib/ids.ts'
import { SeededRandom } from '../../src/lib/seeded-random.ts'
import { announce } from '../../src/webhooks/envelope.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'
import { AGENCY, night, sampleId, sampleRules, sampleUnit } from '../support/samples.ts'
import { type BuildFaults, SimProcess } from './sim-process.ts'
import { POISON, SimStore } from './sim-store.ts'
import { SimWebhooks } from './sim-webhooks.ts'

/** What a client was told. */
export interface Acknowledgement {
  readonly seq: number | null
  readonly bookingId: string
  readonly version: number
  readonly status: BookingStatus
}

const CALLER: Caller = { actor: { kind: 'key', id: sampleId('key', 'a') }, route: 'sim', requestId: null }
const FIRST = night('2027-03-01')
const UNITS: readonly Unit[] = [0, 1, 2].map((i) =>
  sampleUnit({ id: sampleId('unt', i), slug: `unit-${i}`, rules: sampleRules({ turnoverNights: i }) }),
)

/**
 * A service, its database and its clients on one simulated clock, everything chosen by the seed: commands, network, disk,
 * crashes, take-overs, pauses and jumps of the wall clock.
 */
export class SimWorld {
  readonly clock = new FakeClock()
  readonly dice: SeededRandom
  readonly store: SimStore
  readonly webhooks: SimWebhooks
  readonly acknowledged: Acknowledgement[] = []
  /** References of bookings whose client was told that nothing was written. */
  readonly denied: string[] = []
  readonly processes: SimProcess[] = []
  readonly #faults: BuildFaults
  #ids = 0
  #refs = 0

  private constructor(seed: number, faults: BuildFaults) {
    this.dice = new SeededRandom(seed)
    this.store = new SimStore(this.clock, this.dice)
    this.webhooks = new SimWebhooks(this.clock, this.dice)
    this.store.onEvent = (event) => this.webhooks.enqueue(event)
    this.#faults = faults
  }

  static async run(seed: number, steps: number, faults: BuildFaults = {}): Promise<SimWorld> {
    const world = new SimWorld(seed, faults)
    faults.changeStore?.(world.store)
    await world.#begin()
    for (let step = 0; step < steps; step++) await world.#step()
    await world.#end()
    return world
  }

  get units(): readonly Unit[] {
    return UNITS
  }

  /** The process that holds the ledger at the end. */
  get last(): SimProcess {
    const last = this.processes.at(-1)
    if (last === undefined) throw new Error('The world has no process')
    return last
  }

  async #begin(): Promise<void> {
    this.store.troublePercent = 0
    const first = await this.#start()
    const set = UNITS.map((unit) => first.commands.setUnit(AGENCY, unit.id, () => unit, CALLER))
    await this.clock.advance(1_000)
    await Promise.all(set)
    this.store.troublePercent = 5 + this.dice.below(40)
  }

  /** The network heals, the clock is set right, all other processes die, and the one left has three minutes to settle. */
  async #end(): Promise<void> {
    this.store.troublePercent = 0
    for (const process of this.processes) process.die()
    this.clock.jumpWall(this.clock.highestNow - this.clock.now())
    await this.#start()
    await this.clock.advance(180_000)
  }

  async #start(): Promise<SimProcess> {
    const newId: IdSource = (prefix) => `${prefix}_${String(++this.#ids).padStart(32, '0')}`
    const started = SimProcess.start({
      ...{ clock: this.clock, store: this.store, units: UNITS, newId, announce, faults: this.#faults },
      webhooks: this.webhooks,
      currentEpoch: () => this.store.epoch,
    })
    await settle()
    const process = await started
    this.processes.push(process)
    return process
  }

  async #step(): Promise<void> {
    const roll = this.dice.below(100)
    if (roll < 60) this.#command()
    else if (roll < 86) await this.clock.advance(this.dice.below(150))
    else if (roll < 90) await this.clock.advance(this.dice.below(20_000))
    else if (roll < 93) this.last.directory.sweep()
    else if (roll < 95) this.clock.jumpWall((this.dice.chance(0.5) ? 1 : -1) * this.dice.below(HOUR_MS))
    else if (roll < 96) this.dice.pick(this.processes).resume()
    else if (roll < 97) {
      // Usually this is noticed, and another process takes over from the one that hangs.
      this.last.pause()
      if (this.dice.chance(0.8)) await this.#start()
    } else if (roll < 98) {
      this.last.die()
      await this.#start()
    } else await this.#start()
  }

  /** Mostly to the process that holds the ledger, sometimes to one that has lost it. */
  #command(): void {
    const process = this.dice.chance(0.85) ? this.last : this.dice.pick(this.processes)
    if (!process.isRunning) return
    const ref = `ref ${++this.#refs}${this.dice.chance(0.02) ? ` ${POISON}` : ''}`
    const asked = this.#ask(process, ref)
    asked.then(
      (outcome) => {
        if (outcome.kind !== 'done') return
        const { id, version, status } = outcome.booking
        this.acknowledged.push({ seq: outcome.seq, bookingId: id, version, status })
      },
      (error: { kind?: string }) => {
        if (error.kind !== 'outcome_unknown') this.denied.push(ref)
      },
    )
  }

  #ask(process: SimProcess, ref: string): Promise<FoundOutcome> {
    const { dice } = this
    const known = [...this.store.bookings.keys()]
    const bookingId = known.length === 0 ? sampleId('bkg', 'unknown') : dice.pick(known)
    const arrival = addNights(FIRST, dice.below(40))
    const departure = addNights(arrival, 1 + dice.below(5))
    const roll = dice.below(10)
    if (roll < 6 || known.length === 0) {
      return process.commands.book(
        AGENCY,
        {
          ...{ unit: dice.pick(UNITS), stay: { arrival, departure }, type: 'guest', source: 'partner', sourceRef: ref },
          ...{ status: dice.pick<BookingStatus>(['confirmed', 'confirmed', 'option']), holdHours: null, notes: null },
          ...{ adults: 2, children: 0, extraBed: false, guest: null, enforcement: 'partner' },
        },
        CALLER,
      )
    }
    if (roll < 8) return process.commands.cancel(AGENCY, { bookingId, reason: ref }, CALLER)
    const change = dice.pick([
      { unitId: dice.pick(UNITS).id },
      { arrival, departure },
      { status: dice.pick<BookingStatus>(['confirmed', 'checked_in', 'checked_out']) },
      { holdExpiresAt: this.clock.now() + dice.below(30_000) },
    ])
    return process.commands.change(AGENCY, { bookingId, change }, CALLER)
  }
}
