import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { SeededRandom } from '../../../src/lib/seeded-random.ts'
import type { FakeClock } from '../../support/fake-clock.ts'
import { AGENCIES } from '../sim-agencies.ts'
import { authorizationOf } from './node-app.ts'
import type { SimNetwork } from './sim-network.ts'
import type { SimNode } from './sim-node.ts'

/** Longer than a request for changes may wait for one, and for an owner. */
const PATIENCE_MS = 32_000
/** A stream says something every 15 s. */
const SILENCE_MS_MAX = 20_000

/** What a partner has seen of the feed. */
interface NodesReader {
  readonly name: string
  readonly how: 'poll' | 'stream'
  readonly agency: Agency
  /** Numbers of the changes that it was shown, in the order in which it was. */
  readonly shown: number[]
  readonly faults: string[]
}

interface ShownChange {
  readonly cursor: string
  readonly seq: number
}

/** Partners that follow the feeds of all agencies through whichever node they get, with long-polls and streams. */
export class NodesReaders {
  readonly readers: readonly NodesReader[] = AGENCIES.flatMap((agency) =>
    (['poll', 'stream'] as const).map((how) => ({
      name: `${how} of ${agency.slug}`,
      how,
      agency,
      shown: [],
      faults: [],
    })),
  )
  readonly #clock: FakeClock
  readonly #dice: SeededRandom
  readonly #network: SimNetwork
  readonly #alive: () => readonly SimNode[]

  constructor(options: { clock: FakeClock; dice: SeededRandom; network: SimNetwork; alive: () => readonly SimNode[] }) {
    this.#clock = options.clock
    this.#dice = options.dice
    this.#network = options.network
    this.#alive = options.alive
  }

  start(): void {
    for (const reader of this.readers) void this.#follow(reader)
  }

  async #follow(reader: NodesReader): Promise<void> {
    for (let after = 'start'; reader.faults.length === 0; ) {
      await this.#sleep(1 + this.#dice.below(1_000))
      const node = this.#dice.pick(this.#alive())
      after = await (reader.how === 'poll' ? this.#poll(node, reader, after) : this.#stream(node, reader, after))
    }
  }

  /** One request. @returns the cursor to continue with */
  async #poll(node: SimNode, reader: NodesReader, after: string): Promise<string> {
    const answer = await this.#ask(node, reader, {
      after,
      wait: this.#dice.pick([0, 1, 20]),
      accept: 'application/json',
    })
    if (answer === null) return after
    const page = (await answer.json()) as { changes: ShownChange[]; cursor: string }
    const { isAll, cursor } = this.#take(reader, page.changes)
    return isAll ? page.cursor : (cursor ?? after)
  }

  /** One connection. @returns the cursor to continue with */
  async #stream(node: SimNode, reader: NodesReader, after: string): Promise<string> {
    const answer = await this.#ask(node, reader, { after, wait: 0, accept: 'text/event-stream' })
    const parts = answer?.body?.getReader()
    if (parts === undefined) return after
    let last = after
    for (;;) {
      const part = await this.#within(
        SILENCE_MS_MAX,
        parts.read().catch(() => null),
      )
      if (part?.value === undefined) break
      const blocks = new TextDecoder().decode(part.value).split('\n\n').filter(Boolean).map(fieldsOf)
      const changes = blocks.flatMap(({ id, data }) =>
        id === undefined || data === undefined ? [] : { cursor: id, seq: JSON.parse(data).seq as number },
      )
      const { isAll, cursor } = this.#take(reader, changes)
      last = (isAll ? blocks.at(-1)?.id : cursor) ?? last
      if (!isAll) break
    }
    void parts.cancel().catch(() => {})
    return last
  }

  /** Null when there is no answer, or it says that there cannot be one now. */
  async #ask(
    node: SimNode,
    reader: NodesReader,
    { after, wait, accept }: { after: string; wait: number; accept: string },
  ): Promise<Response | null> {
    const limit = this.#dice.pick([1, 3, 100])
    const query = new URLSearchParams({ after, limit: String(limit), wait: String(wait) })
    const headers = { Authorization: authorizationOf(reader.agency), Accept: accept }
    const leaving = new AbortController()
    const request = new Request(`http://cluster/partner/v1/changes?${query}`, { headers, signal: leaving.signal })
    const pending = this.#network.enter(node, request).catch(() => null)
    const answer = await this.#within(PATIENCE_MS, pending)
    if (answer === null) leaving.abort()
    if (answer === null || answer.status === 200) return answer
    if (answer.status !== 500) reader.faults.push(`${answer.status} after ${after}`)
    return null
  }

  /** Takes what is shown. The connection may be lost within it. `cursor`: of the last change that was taken */
  #take(reader: NodesReader, changes: readonly ShownChange[]): { isAll: boolean; cursor: string | undefined } {
    const taken = this.#dice.chance(0.2) ? changes.slice(0, this.#dice.below(changes.length + 1)) : changes
    reader.shown.push(...taken.map(({ seq }) => seq))
    return { isAll: taken.length === changes.length, cursor: taken.at(-1)?.cursor }
  }

  async #within<T>(ms: number, answer: Promise<T>): Promise<T | null> {
    const lost = Promise.withResolvers<null>()
    const cancel = this.#clock.after(ms, () => lost.resolve(null))
    const got = await Promise.race([answer, lost.promise])
    cancel()
    return got
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.after(ms, resolve))
  }
}

/** Of a server-sent event. */
function fieldsOf(block: string): { readonly id?: string; readonly data?: string } {
  return Object.fromEntries(
    block.split('\n').map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1).trim()]
    }),
  )
}
