import { UNIT_EVENTS, type UnitEventKind } from '../../src/core/domain/booking.ts'
import type { Journal } from '../../src/core/journal/journal.ts'
import { ChangeFeed, type ChangesRequest, type NoChanges } from '../../src/events/changes/change-feed.ts'
import type { ChangeRows } from '../../src/events/changes/change-page.ts'
import { type ChangePage, PARTNER_VIEW } from '../../src/events/changes/change-page.ts'
import { WaitingPlaces } from '../../src/events/changes/waiting-places.ts'
import type { Clock } from '../../src/lib/clock.ts'
import type { SeededRandom } from '../../src/lib/seeded-random.ts'
import type { FakeClock } from '../support/fake-clock.ts'
import { MemoryChangeRows } from '../support/memory-change-rows.ts'
import { AGENCIES } from './sim-agencies.ts'
import type { BuildFaults, SimProcess } from './sim-process.ts'
import type { SimStore } from './sim-store.ts'

/** By agency: two of the first share what they read and wait for. */
const READERS = [['poll', 'poll', 'stream'], ...Array.from({ length: 4 }, () => ['poll', 'stream'] as const)] as const
/** After this, a client takes its connection for lost; a stream says something every 15 s. */
const PATIENCE_MS = 30_000

/** What a partner has seen of the feed. */
interface SimReader {
  readonly name: string
  readonly how: 'poll' | 'stream'
  readonly agencyId: string
  readonly include: readonly UnitEventKind[]
  /** Numbers of the changes that it was shown, in the order in which it was, since it last began. */
  readonly shown: number[]
  /** Of the log that its last cursor is of, as the process that gave it knew it. */
  generation: number
  readonly faults: string[]
}

/** Partners that follow the feeds of all agencies, over whatever becomes of processes, network and database. */
export class SimReaders {
  readonly readers: readonly SimReader[]
  readonly #clock: FakeClock
  readonly #dice: SeededRandom
  readonly #store: SimStore
  readonly #wrapRows: NonNullable<BuildFaults['wrapChangeRows']>

  constructor(options: {
    clock: FakeClock
    dice: SeededRandom
    store: SimStore
    wrapRows: BuildFaults['wrapChangeRows']
  }) {
    this.#clock = options.clock
    this.#dice = options.dice
    this.#store = options.store
    this.#wrapRows = options.wrapRows ?? ((rows) => rows)
    this.readers = AGENCIES.flatMap(({ id, slug }, i) =>
      (READERS[i] ?? []).map((how, n) => ({
        name: `reader ${n} of ${slug}`,
        how,
        agencyId: id,
        // Of each agency, one that includes units and one that does not.
        include: n % 2 === 0 ? [] : UNIT_EVENTS,
        shown: [],
        generation: 0,
        faults: [],
      })),
    )
  }

  /** The feed of one process, which lives and dies with it. */
  feedOf(process: SimProcess, clock: Clock, journal: () => Journal): ChangeFeed {
    const rows = this.#wrapRows(new MemoryChangeRows(this.#store), this.#clock)
    const read: ChangeRows['read'] = async (agencyId, params) => {
      await this.#travel()
      const answer = await rows.read(agencyId, params)
      await this.#travel()
      return answer
    }
    return new ChangeFeed({
      rows: { read: (agencyId, params) => process.receive(read(agencyId, params)) },
      clock,
      historyId: this.#store.history.historyId,
      view: PARTNER_VIEW,
      places: new WaitingPlaces(clock),
      endOf: (agencyId) => journal().endOf(agencyId),
    })
  }

  /** @param processFor the process that a request of this agency reaches; null when there is none */
  start(processFor: (agencyId: string) => SimProcess | null): void {
    for (const reader of this.readers) void this.#follow(reader, processFor)
  }

  async #follow(reader: SimReader, processFor: (agencyId: string) => SimProcess | null): Promise<void> {
    for (let after = 'start'; reader.faults.length === 0; ) {
      await this.#sleep(1 + this.#dice.below(1_000))
      const process = processFor(reader.agencyId)
      if (process === null) continue
      const next = reader.how === 'poll' ? this.#poll : this.#stream
      after = await next.call(this, process, reader, after)
    }
  }

  /** One request. @returns the cursor to continue with */
  async #poll(process: SimProcess, reader: SimReader, after: string): Promise<string> {
    const leaving = new AbortController()
    const waitMs = this.#dice.pick([0, 1_000, 20_000])
    const answer = process.feed.page({ ...this.#request(reader, after, leaving.signal), waitMs })
    const got = await this.#received(process, answer)
    if (got === null) leaving.abort()
    return got === null ? after : this.#take(process, reader, got, after)
  }

  /** One connection. @returns the cursor to continue with */
  async #stream(process: SimProcess, reader: SimReader, after: string): Promise<string> {
    const leaving = new AbortController()
    const stream = await this.#received(process, process.feed.stream(this.#request(reader, after, leaving.signal)))
    if (stream === null || 'kind' in stream) {
      leaving.abort()
      return stream === null ? after : this.#take(process, reader, stream, after)
    }
    let last = after
    for (let page: ChangePage | null = stream.first; page !== null; ) {
      last = this.#take(process, reader, page, last)
      page = last === page.cursor ? await this.#received(process, stream.next()) : null
    }
    leaving.abort()
    return last
  }

  #request({ agencyId, include, name }: SimReader, after: string, signal: AbortSignal): ChangesRequest {
    const limit = this.#dice.pick([1, 3, 100])
    return { agencyId, include, keyId: name, after, limit, isServed: () => true, signal }
  }

  /** Takes what a page shows. The connection may be lost within it. @returns the cursor of the last thing that was taken */
  #take(process: SimProcess, reader: SimReader, page: ChangePage | NoChanges, after: string): string {
    if ('kind' in page) {
      // As docs/partner-guide.md says: the log has lost what it has read, so it begins again.
      if (page.kind === 'expired' && reader.generation < this.#store.history.generation) {
        reader.shown.length = 0
        return 'start'
      }
      reader.faults.push(`${page.kind} after ${after}`)
      return after
    }
    reader.generation = process.generation
    const { changes } = page
    const taken = this.#dice.chance(0.2) ? changes.slice(0, this.#dice.below(changes.length + 1)) : changes
    reader.shown.push(...taken.map(({ json }) => JSON.parse(json).seq as number))
    return taken.length === changes.length ? page.cursor : (taken.at(-1)?.cursor ?? after)
  }

  /** Null when the answer is lost, or never comes. */
  async #received<T>(process: SimProcess, answer: Promise<T>): Promise<T | null> {
    const lost = Promise.withResolvers<null>()
    const cancel = this.#clock.after(PATIENCE_MS, () => lost.resolve(null))
    const got = await Promise.race([process.receive(answer).catch(() => null), lost.promise])
    cancel()
    return this.#dice.chance(0.05) ? null : got
  }

  async #travel(): Promise<void> {
    await this.#sleep(this.#dice.below(30))
    if (this.#dice.chance(0.03)) throw new Error('Cannot read: connection lost')
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.after(ms, resolve))
  }
}
