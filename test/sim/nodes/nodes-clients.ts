import type { Agency } from '../../../src/core/catalogue/agency.ts'
import { type BookingStatus, isUnitSet } from '../../../src/core/domain/booking.ts'
import { decodeEntry } from '../../../src/core/journal/entry-codec.ts'
import type { SeededRandom } from '../../../src/lib/seeded-random.ts'
import type { FakeClock } from '../../support/fake-clock.ts'
import { AGENCIES, unitsOf } from '../sim-agencies.ts'
import { groupRefsOf } from '../sim-groups.ts'
import type { SimStore } from '../sim-store.ts'
import type { Acknowledgement } from '../sim-world.ts'
import { authorizationOf, type SimAnswer, type SimCalendar, type SimCommand } from './node-app.ts'
import { NetworkError, type SimNetwork } from './sim-network.ts'
import type { SimNode } from './sim-node.ts'

/** C6, and a per cent for the speed of a node's clock. */
const STALE_MS_MAX = 1_200 * 1.02
/** After which a client gives a connection up. */
const PATIENCE_MS = 20_000
const ATTEMPTS_MAX = 6
/** How titles of 500s begin that promise that nothing was done (src/http/problem-of.ts, src/cluster/forward/entry-answers.ts). */
const NOTHING_DONE = /^(Nothing was changed|This request was not handled)/

/** Clients that book, cancel, move and read, at any node. They remember what they were told. */
export class NodesClients {
  readonly acknowledged: Acknowledgement[] = []
  /** References of bookings and cancellations whose client was told that nothing was written. */
  readonly denied: string[] = []
  /** What a read showed that it must not have. */
  readonly stale: string[] = []
  reads = 0
  readonly #clock: FakeClock
  readonly #dice: SeededRandom
  readonly #store: SimStore
  readonly #network: SimNetwork
  readonly #alive: () => readonly SimNode[]
  /** By unit: the last number that was acknowledged at a time, in order. */
  readonly #known = new Map<string, { readonly at: number; readonly seq: number }[]>()
  /** By booking and version: its number in the log of its shard. */
  readonly #places = new Map<string, number>()
  #looked = 0
  #refs = 0
  #isOver = false

  constructor(options: {
    clock: FakeClock
    dice: SeededRandom
    store: SimStore
    network: SimNetwork
    alive: () => readonly SimNode[]
  }) {
    this.#clock = options.clock
    this.#dice = options.dice
    this.#store = options.store
    this.#network = options.network
    this.#alive = options.alive
  }

  command(): void {
    const agency = this.#dice.pick(AGENCIES)
    const ref = `ref-${++this.#refs}`
    void this.#command(agency, this.#commandOf(agency, ref), ref)
  }

  /** Nobody tries anything again. What is under way continues. */
  stop(): void {
    this.#isOver = true
  }

  /** At every node: also at one that thinks wrongly that the unit is its own. */
  read(): void {
    const agency = this.#dice.pick(AGENCIES)
    const unit = this.#dice.below(unitsOf(agency.id).length)
    for (const node of this.#alive()) void this.#read(node, agency, unit)
  }

  async #command(agency: Agency, command: SimCommand, ref: string): Promise<void> {
    const hasKey = this.#dice.chance(0.5)
    let isDoubtful = false
    for (let attempt = 0; attempt < (hasKey ? ATTEMPTS_MAX : 1); attempt++) {
      if (attempt > 0) await this.#sleep(this.#dice.below(1_000))
      if (this.#isOver) return
      const answer = await this.#ask(this.#dice.pick(this.#alive()), () =>
        this.#requestOf(agency, command, hasKey ? ref : null),
      )
      if (answer === 'refused') continue
      if (answer !== 'lost' && answer.status === 200)
        return this.#acknowledgeAll(agency, (await answer.json()) as readonly SimAnswer[])
      if (answer !== 'lost' && answer.status === 409) break
      if (answer === 'lost' || !NOTHING_DONE.test(await titleOf(answer))) isDoubtful = true
    }
    // An earlier attempt may be on its way still.
    if (isDoubtful) return
    if (command.kind === 'book_group') this.denied.push(...command.stays.map((stay) => stay.ref))
    else this.denied.push(ref)
  }

  #commandOf(agency: Agency, ref: string): SimCommand {
    const dice = this.#dice
    const known = [...this.#store.bookings.values()].filter(({ agencyId }) => agencyId === agency.id)
    const [arrival, nights] = [dice.below(20), 1 + dice.below(5)]
    const unit = dice.below(unitsOf(agency.id).length)
    const status = dice.pick<BookingStatus>(['confirmed', 'confirmed', 'option'])
    if (dice.chance(0.3)) return this.#groupCommandOf(agency, ref)
    if (dice.below(10) < 6 || known.length === 0) return { kind: 'book', unit, arrival, nights, status, ref }
    const bookingId = dice.pick(known).booking.id
    return dice.chance(0.6) ? { kind: 'cancel', bookingId, ref } : { kind: 'move', bookingId, unit }
  }

  #groupCommandOf(agency: Agency, ref: string): SimCommand {
    const dice = this.#dice
    const known = [...this.#store.bookings.values()].flatMap(({ agencyId, booking: { groupId } }) =>
      agencyId === agency.id && groupId !== null ? groupId : [],
    )
    if (known.length > 0 && dice.chance(0.3)) return { kind: 'cancel_group', groupId: dice.pick(known), ref }
    const stays = groupRefsOf(ref, 2 + dice.below(3)).map((each) => ({
      unit: dice.below(unitsOf(agency.id).length),
      arrival: dice.below(40),
      nights: 1 + dice.below(3),
      ref: each,
    }))
    return { kind: 'book_group', stays, status: dice.pick<BookingStatus>(['confirmed', 'confirmed', 'option']) }
  }

  #acknowledgeAll(agency: Agency, answers: readonly SimAnswer[]): void {
    for (const answer of answers) this.#acknowledge(agency, answer)
  }

  #acknowledge(agency: Agency, { id, unitId, version, status }: SimAnswer): void {
    const seq = this.#placeOf(id, version)
    this.acknowledged.push({ agencyId: agency.id, seq: seq ?? 0, bookingId: id, version, status })
    if (seq === null) return
    const known = this.#known.get(unitId) ?? []
    known.push({ at: this.#clock.monotonicMs(), seq })
    this.#known.set(unitId, known)
  }

  /** Null: what was acknowledged is not in the journal. */
  #placeOf(bookingId: string, version: number): number | null {
    const { journal } = this.#store
    for (; this.#looked < journal.length; this.#looked++) {
      const row = journal[this.#looked]
      if (row === undefined || row.bookingId === null) continue
      const event = decodeEntry(row)
      if (!isUnitSet(event)) this.#places.set(`${event.after.id} ${event.after.version}`, row.seq)
    }
    return this.#places.get(`${bookingId} ${version}`) ?? null
  }

  #requestOf(agency: Agency, command: SimCommand, key: string | null): Request {
    const text = JSON.stringify(command)
    const headers = new Headers({ Authorization: authorizationOf(agency) })
    if (key !== null) headers.set('Idempotency-Key', key)
    if (this.#dice.chance(0.8)) headers.set('Content-Length', String(text.length))
    const body = this.#dice.chance(0.3) ? this.#slowly(text) : text
    return new Request('http://cluster/partner/v1/bookings', { method: 'POST', headers, body })
  }

  /** A body that comes some time after its headers. */
  #slowly(text: string): ReadableStream<Uint8Array> {
    return new ReadableStream({
      pull: async (controller) => {
        await this.#sleep(this.#dice.below(3_000))
        controller.enqueue(new TextEncoder().encode(text))
        controller.close()
      },
    })
  }

  async #read(node: SimNode, agency: Agency, unit: number): Promise<void> {
    const request = () =>
      new Request(`http://${node.name}/partner/v1/units/${unit}`, {
        headers: { Authorization: authorizationOf(agency) },
      })
    const askedAt = this.#clock.monotonicMs()
    const answer = await this.#ask(node, request)
    if (typeof answer === 'string' || answer.status !== 200) return
    const { seq: shown, madeAt } = (await answer.json()) as SimCalendar
    this.reads += 1
    const unitId = unitsOf(agency.id)[unit]?.id ?? ''
    // What was acknowledged while the read was under way, perhaps in a process that hung meanwhile, need not be in it.
    const dueBefore = Math.min(askedAt, madeAt - STALE_MS_MAX)
    const due = this.#known.get(unitId)?.findLast(({ at, seq }) => at < dueBefore && seq > shown)
    if (due !== undefined)
      this.stale.push(
        `C6: ${node.name} showed ${unitId} at ${shown}; ${due.seq} was acknowledged ${madeAt - due.at} ms before`,
      )
  }

  async #ask(node: SimNode, request: () => Request): Promise<Response | 'refused' | 'lost'> {
    const lost = Promise.withResolvers<'lost'>()
    const cancel = this.#clock.after(PATIENCE_MS, () => lost.resolve('lost'))
    const answer = this.#network
      .enter(node, request())
      .catch((error) => (error instanceof NetworkError && !error.isSent ? 'refused' : 'lost'))
    const got = await Promise.race([answer, lost.promise])
    cancel()
    return got
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.after(ms, resolve))
  }
}

async function titleOf(answer: Response): Promise<string> {
  if (answer.status !== 500) return ''
  return ((await answer.json()) as { title?: string }).title ?? ''
}
