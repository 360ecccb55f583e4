import type { BookingRequest, FoundOutcome, WriteMode } from '../../src/core/bookings/booking-turns.ts'
import type { GroupDone } from '../../src/core/bookings/group-commands.ts'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import type { Booking, BookingStatus } from '../../src/core/domain/booking.ts'
import { PRICINGS } from '../../src/core/domain/booking.ts'
import { addNights } from '../../src/core/domain/night.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import type { Caller } from '../../src/core/journal/record.ts'
import { AssertionError, assert } from '../../src/lib/assert.ts'
import { HOUR_MS } from '../../src/lib/clock.ts'
import type { IdSource } from '../../src/lib/ids.ts'
import { SeededRandom } from '../../src/lib/seeded-random.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'
import { night, sampleId } from '../support/samples.ts'
import { AGENCIES, BEGIN, SIM_SHARDS, unitsOf } from './sim-agencies.ts'
import { SimFates } from './sim-fates.ts'
import { groupRefsOf } from './sim-groups.ts'
import { type BuildFaults, SimProcess } from './sim-process.ts'
import { SimReaders } from './sim-readers.ts'
import { POISON, SimStore } from './sim-store.ts'
import { SimWebhooks } from './sim-webhooks.ts'

/** What a client was told. */
export interface Acknowledgement {
  readonly agencyId: string
  readonly seq: number | null
  readonly bookingId: string
  readonly version: number
  readonly status: BookingStatus
}

const CALLER: Caller = { actor: { kind: 'key', id: sampleId('key', 'a') }, route: 'sim', requestId: null }
const FIRST = night('2027-03-01')
/** Commands between two changes of rates. */
const RATES_EVERY = 12

/** What is the same for all stays. */
const STAY = {
  type: 'guest',
  source: 'partner',
  holdHours: null,
  notes: null,
  adults: 2,
  children: 0,
  extraBed: false,
  guest: null,
  enforcement: 'partner',
} as const satisfies Partial<BookingRequest>

/** A booking from an answer to a client. */
interface Told {
  readonly booking: Booking
  readonly seq: number | null
}

function toldOf(outcome: FoundOutcome): readonly Told[] {
  return outcome.kind === 'done' ? [outcome] : []
}

/** @param isChanged the bookings that the write changed: their numbers are consecutive */
function toldOfGroup(
  outcome: GroupDone | { kind: 'refused' | 'not_found' },
  isChanged: (booking: Booking) => boolean,
): readonly Told[] {
  if (outcome.kind !== 'done') return []
  const { bookings, seq } = outcome
  return bookings.filter(isChanged).map((booking, i) => ({ booking, seq: seq === null ? null : seq + i }))
}

/**
 * A service, its database and its clients on one simulated clock, everything chosen by the seed: commands, network, disk,
 * crashes, take-overs of all shards and of some, pauses and jumps of the wall clock.
 */
export class SimWorld {
  readonly clock = new FakeClock(BEGIN)
  readonly dice: SeededRandom
  readonly store: SimStore
  readonly webhooks: SimWebhooks
  readonly partners: SimReaders
  readonly acknowledged: Acknowledgement[] = []
  /** References of bookings and cancellations whose client was told that nothing was written. */
  readonly denied: string[] = []
  readonly processes: SimProcess[] = []
  readonly fates: SimFates
  readonly #faults: BuildFaults
  #ids = 0
  #refs = 0
  #starts = 0

  private constructor(seed: number, faults: BuildFaults) {
    this.dice = new SeededRandom(seed)
    this.store = new SimStore(this.clock, this.dice)
    this.webhooks = new SimWebhooks({ clock: this.clock, dice: this.dice, journal: this.store, aheadMsMax: 0 })
    this.store.onLost = ({ shards }) => {
      // While a batch is in doubt, one of its shards is taken over: the rest of the batch stays its writer's.
      if (shards.length > 1 && this.store.troublePercent > 0 && this.dice.chance(0.4))
        void this.start([this.dice.pick(shards).shard])
    }
    this.#faults = faults
    this.fates = new SimFates(this, seed)
    this.partners = new SimReaders({
      clock: this.clock,
      store: this.store,
      wrapRows: faults.wrapChangeRows,
      // Of its own, so that what partners read changes nothing else.
      dice: new SeededRandom(seed + 1_000_000),
    })
  }

  static async run(seed: number, steps: number, faults: BuildFaults = {}): Promise<SimWorld> {
    const world = new SimWorld(seed, faults)
    faults.changeStore?.(world.store)
    await world.#begin()
    for (let step = 0; step < steps; step++) {
      await world.#step()
      await world.fates.step()
    }
    await world.#end()
    return world
  }

  /** The process that took over last. At the end it has everything. */
  get last(): SimProcess {
    const last = this.processes.at(-1)
    if (last === undefined) throw new Error('The world has no process')
    return last
  }

  async #begin(): Promise<void> {
    this.store.troublePercent = 0
    const first = await this.start()
    const set = AGENCIES.flatMap((agency) =>
      unitsOf(agency.id).map((unit) => first.commands.setUnit(agency, unit.id, () => unit, CALLER)),
    )
    await this.clock.advance(1_000)
    await Promise.all(set)
    this.store.troublePercent = 5 + this.dice.below(40)
    this.partners.start((agencyId) => this.#processFor(agencyId))
  }

  /** What a partner's request of this agency reaches. A process that was fenced refuses it. */
  #processFor(agencyId: string): SimProcess | null {
    const process = this.processes.findLast((each) => each.hasTaken(agencyId)) ?? this.last
    return process.isRunning ? process : null
  }

  /** The network heals, the clock is set right, all other processes die, and the one left has three minutes to settle. */
  async #end(): Promise<void> {
    this.store.troublePercent = 0
    this.fates.end()
    for (const process of this.processes) process.die()
    this.clock.jumpWall(this.clock.highestNow - this.clock.now())
    await this.start()
    await this.clock.advance(180_000)
  }

  /** @param shards what it takes over: all shards unless given */
  async start(shards?: readonly number[]): Promise<SimProcess> {
    const newId: IdSource = (prefix) => `${prefix}_${String(++this.#ids).padStart(32, '0')}`
    const started = SimProcess.start({
      clock: this.clock,
      store: this.store,
      webhooks: this.webhooks,
      partners: this.partners,
      newId,
      faults: this.#faults,
      name: `process ${++this.#starts}`,
      lanes: 1 + this.dice.below(3),
      ...(shards === undefined ? {} : { shards }),
    })
    await settle()
    const process = await started
    this.processes.push(process)
    return process
  }

  async #step(): Promise<void> {
    const roll = this.dice.below(100)
    if (roll < 45) for (let n = this.dice.below(4); n >= 0; n--) await this.#command()
    else if (roll < 84) await this.clock.advance(this.dice.below(150))
    else if (roll < 88) await this.clock.advance(this.dice.below(20_000))
    else if (roll < 91) this.#ownerOf(this.#someAgency()).directory.sweep()
    else if (roll < 93) this.clock.jumpWall((this.dice.chance(0.5) ? 1 : -1) * this.dice.below(HOUR_MS))
    else if (roll < 94) this.dice.pick(this.processes).resume()
    else if (roll < 95) {
      // Usually this is noticed, and another process takes over from the one that hangs.
      this.#ownerOf(this.#someAgency()).pause()
      if (this.dice.chance(0.8)) await this.start()
    } else if (roll < 96) {
      this.#ownerOf(this.#someAgency()).die()
      await this.start()
    } else if (roll < 97) await this.start()
    else if (roll < 98) await this.start([this.dice.pick(SIM_SHARDS), this.dice.pick(SIM_SHARDS)])
    else await this.#command()
  }

  #someAgency(): Agency {
    return this.dice.pick(AGENCIES)
  }

  /** The process that took over the agency's shard last. */
  #ownerOf({ id }: Agency): SimProcess {
    return this.processes.findLast((process) => process.hasTaken(id)) ?? this.last
  }

  /** Mostly to the process that holds the agency's shard, sometimes to one that has lost it. */
  async #command(): Promise<void> {
    const agency = this.#someAgency()
    const owner = this.#ownerOf(agency)
    // A process that is fenced exits, and is started again.
    if (owner.isFenced && this.dice.chance(0.2)) await this.start()
    const process = this.dice.chance(0.85)
      ? owner
      : this.dice.pick(this.processes.filter((each) => each.hasTaken(agency.id)))
    if (!process.isRunning) return
    const ending = this.dice.chance(0.02) ? ` ${POISON}` : ''
    const ref = `ref ${++this.#refs}`
    const isDryRun = this.dice.chance(0.05)
    const mode: WriteMode = isDryRun ? 'dry_run' : 'write'
    const { refs, told } = this.dice.chance(0.3)
      ? this.#askForGroup(process, agency, { ref, ending, mode })
      : { refs: [ref + ending], told: this.#ask(process, agency, ref + ending, mode).then(toldOf) }
    if (isDryRun) {
      // Leaves nothing behind, whatever it says: the oracle would find what no answer stands for.
      void told.catch(() => {})
      this.denied.push(...refs)
      return
    }
    if (this.#refs % RATES_EVERY === 0) this.#changeRates(process, agency)
    told.then(
      (bookings) => {
        for (const { booking, seq } of bookings) {
          const { id, version, status } = booking
          this.acknowledged.push({ agencyId: agency.id, seq, bookingId: id, version, status })
        }
      },
      (error: { kind?: string }) => {
        if (error instanceof AssertionError) process.bugs.push(error)
        this.fates.noteRefusal(process, agency.id, error)
        if (error.kind !== 'outcome_unknown') this.denied.push(...refs)
      },
    )
  }

  /** Books several stays in units of an agency, in any order, or cancels a group. */
  #askForGroup(
    process: SimProcess,
    agency: Agency,
    { ref, ending, mode }: { ref: string; ending: string; mode: WriteMode },
  ): { readonly refs: readonly string[]; readonly told: Promise<readonly Told[]> } {
    const { dice } = this
    const { groups } = process.commands
    const known = [...this.store.bookings.values()].flatMap(({ agencyId, booking: { groupId } }) =>
      agencyId === agency.id && groupId !== null ? groupId : [],
    )
    if (known.length > 0 && dice.chance(0.3)) {
      const cancelled = groups.cancel(agency, { groupId: dice.pick(known), reason: ref }, CALLER, undefined, mode)
      const isNew = ({ cancelReason }: Booking) => cancelReason === ref
      return { refs: [ref], told: cancelled.then((outcome) => toldOfGroup(outcome, isNew)) }
    }
    const units = unitsOf(agency.id)
    const refs = groupRefsOf(ref, 2 + dice.below(3), ending)
    const status = dice.pick<BookingStatus>(['confirmed', 'confirmed', 'option'])
    const stays = refs.map((sourceRef) => {
      const arrival = addNights(FIRST, dice.below(40))
      const departure = addNights(arrival, 1 + dice.below(3))
      return { ...STAY, unit: dice.pick(units), stay: { arrival, departure }, sourceRef, status }
    })
    const booked = groups.book(agency, { stays }, CALLER, undefined, mode)
    return { refs, told: booked.then((outcome) => toldOfGroup(outcome, () => true)) }
  }

  /** Uses no random numbers, so that existing seeds run as before. */
  #changeRates(process: SimProcess, agency: Agency): void {
    const units = unitsOf(agency.id)
    const unit = units[this.#refs % units.length]
    assert(unit !== undefined, 'Cannot change rates: the agency has no unit')
    const season = { name: 'Season', from: FIRST, to: addNights(FIRST, 30), nightlyPrice: this.#refs, minStay: null }
    const rates = { ...unit.rules.rates, seasons: [season] }
    const change = (current: Unit | null): Unit => ({ ...(current ?? unit), rules: { ...unit.rules, rates } })
    const set = process.commands.setUnit(agency, unit.id, change, CALLER)
    set.catch((error) => {
      if (error instanceof AssertionError) process.bugs.push(error)
      this.fates.noteRefusal(process, agency.id, error)
    })
  }

  #ask(process: SimProcess, agency: Agency, ref: string, mode: WriteMode): Promise<FoundOutcome> {
    const { dice } = this
    const units = unitsOf(agency.id)
    const known = [...this.store.bookings.values()].filter(({ agencyId }) => agencyId === agency.id)
    const bookingId = known.length === 0 ? sampleId('bkg', 'unknown') : dice.pick(known).booking.id
    const arrival = addNights(FIRST, dice.below(20))
    const departure = addNights(arrival, 1 + dice.below(5))
    const roll = dice.below(10)
    if (roll < 6 || known.length === 0) {
      return process.commands.book(
        agency,
        {
          ...STAY,
          unit: dice.pick(units),
          stay: { arrival, departure },
          sourceRef: ref,
          status: dice.pick<BookingStatus>(['confirmed', 'confirmed', 'option']),
        },
        CALLER,
        undefined,
        mode,
      )
    }
    if (roll < 8) return process.commands.cancel(agency, { bookingId, reason: ref }, CALLER, undefined, mode)
    const change = dice.pick([
      { unitId: dice.pick(units).id },
      { arrival, departure },
      { status: dice.pick<BookingStatus>(['confirmed', 'checked_in', 'checked_out']) },
      { holdExpiresAt: this.clock.now() + dice.below(30_000) },
    ])
    const pricing = dice.pick(PRICINGS)
    return process.commands.change(agency, { bookingId, change, pricing }, CALLER, undefined, mode)
  }
}
