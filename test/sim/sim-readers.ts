import { ChangeFeed } from '../../src/changes/change-feed.ts'
import { PARTNER_VIEW } from '../../src/changes/change-page.ts'
import type { ChangeRows } from '../../src/changes/change-rows.ts'
import { WaitingPlaces } from '../../src/changes/waiting-places.ts'
import type { Journal } from '../../src/core/journal/journal.ts'
import type { Clock } from '../../src/lib/clock.ts'
import type { SeededRandom } from '../../src/lib/seeded-random.ts'
import type { FakeClock } from '../support/fake-clock.ts'
import { MemoryChangeRows } from '../support/memory-change-rows.ts'
import { AGENCIES } from './sim-agencies.ts'
import type { BuildFaults, SimProcess } from './sim-process.ts'
import type { SimStore } from './sim-store.ts'

const HISTORY = '01020304-0506-4708-890a-0b0c0d0e0f10'
/** By agency: two of the first share what they read and wait for. */
const READERS = [2, 1, 1, 1, 1] as const
/** After this a client takes its connection for lost. */
const PATIENCE_MS = 30_000

/** What a partner has seen of the feed. */
export interface SimReader {
  readonly name: string
  readonly agencyId: string
  /** Numbers of the changes that it was shown, in the order in which it was. */
  readonly shown: number[]
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
      Array.from({ length: READERS[i] ?? 1 }, (_, n) => ({
        ...{ name: `reader ${n} of ${slug}`, agencyId: id, shown: [], faults: [] },
      })),
    )
  }

  /** The feed of one process, which lives and dies with it. */
  feedOf(process: SimProcess, clock: Clock, journal: () => Journal): ChangeFeed {
    const rows = this.#wrapRows(new MemoryChangeRows(this.#store), this.#clock)
    const read: ChangeRows['read'] = async (agencyId, asked) => {
      await this.#travel()
      const answer = await rows.read(agencyId, asked)
      await this.#travel()
      return answer
    }
    return new ChangeFeed({
      rows: { read: (agencyId, asked) => process.receive(read(agencyId, asked)) },
      ...{ clock, historyId: HISTORY, view: PARTNER_VIEW, places: new WaitingPlaces(clock) },
      endOf: (agencyId) => journal().endOf(agencyId),
    })
  }

  /** @param processFor the process that a request of this agency reaches; null when there is none */
  start(processFor: (agencyId: string) => SimProcess | null): void {
    for (const reader of this.readers) void this.#follow(reader, processFor)
  }

  async #follow(reader: SimReader, processFor: (agencyId: string) => SimProcess | null): Promise<void> {
    for (let after = 'start'; ; ) {
      await this.#sleep(1 + this.#dice.below(1_000))
      const process = processFor(reader.agencyId)
      if (process === null) continue
      const answer = await this.#ask(process, reader, after)
      if (answer === null) continue
      if ('kind' in answer) {
        reader.faults.push(`${answer.kind} after ${after}`)
        return
      }
      reader.shown.push(...answer.changes.map(({ json }) => JSON.parse(json).seq as number))
      after = answer.cursor
    }
  }

  /** Null when the answer is lost, or never comes. */
  async #ask(process: SimProcess, { agencyId, name }: SimReader, after: string) {
    const leaving = new AbortController()
    const waitMs = this.#dice.pick([0, 1_000, 20_000])
    const limit = this.#dice.pick([1, 3, 100])
    const answer = process.feed.page({
      ...{ agencyId, keyId: name, after, limit, waitMs },
      ...{ isServed: () => true, signal: leaving.signal },
    })
    const lost = Promise.withResolvers<null>()
    const cancel = this.#clock.after(PATIENCE_MS, () => lost.resolve(null))
    const got = await Promise.race([process.receive(answer).catch(() => null), lost.promise])
    cancel()
    if (got === null) leaving.abort()
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
