/**
 * What the readers of one agency share: one read of the log for all at the same place, and the moment at which there is something
 * new. While nothing is, a reader at the end of the log costs no read.
 *
 * - F1 A reader misses no change: what became durable after a read was begun wakes whoever waits after that read.
 */
import type { Clock } from '../lib/clock.ts'
import { HOUR_MS } from '../lib/duration.ts'
import { type ChangePage, changeOf } from './change-page.ts'
import type { ChangeRows, ReadFrom } from './change-rows.ts'
import { type Cursors, isSamePosition, type LogPosition } from './cursor.ts'
import type { Place } from './waiting-places.ts'

/** An end that is older is replaced by today's, so that the cursors of a quiet agency do not expire when months are archived. */
const END_AGE_MS_MAX = HOUR_MS

export type Woken = 'changed' | 'elapsed' | 'ended'

interface AgencyFeedOptions {
  readonly agencyId: string
  readonly rows: ChangeRows
  readonly cursors: Cursors
  readonly clock: Clock
  /** The end of the log as this process knows it. */
  readonly endOfLog: () => LogPosition
}

export class AgencyFeed {
  readonly #options: AgencyFeedOptions
  /** Of the last change that became durable since the feed was first asked for. */
  #lastSeq = 0
  #lastAt = 0
  /** A place that this process has verified, with no change after it; null when that is not known. */
  #end: { position: LogPosition; readonly at: number } | null = null
  /** By what they read. */
  readonly #reads = new Map<string, Promise<ChangePage | null>>()
  readonly #waiting = new Set<(why: Woken) => void>()

  constructor(options: AgencyFeedOptions) {
    this.#options = options
  }

  /** A change has become durable. */
  noteDurable(seq: number): void {
    this.#lastSeq = seq
    this.#end = null
    if (this.#waiting.size === 0) return
    this.#lastAt = this.#options.clock.monotonicMs()
    for (const wake of [...this.#waiting]) wake('changed')
  }

  /** When the change that last woke somebody became durable, milliseconds of the monotonic clock. */
  get lastAt(): number {
    return this.#lastAt
  }

  /** Today's end, without changes. */
  endPage(): ChangePage {
    return this.#emptyPage(this.#currentEnd(), this.#lastSeq)
  }

  /**
   * No changes, for a reader that has found nothing after `position`: it goes on there, or at today's end if there is still nothing.
   * @param upTo of the page that the reader has got last
   */
  sameAgain(position: LogPosition, upTo: number): ChangePage {
    const end = this.#currentEnd()
    // A change whose batch is still in doubt may be in the log already, and others may have read it. So the reader goes on only to a
    // place up to which this process knows the log: of a change before it, it would have been told (F1).
    const isKnown = this.#lastSeq <= upTo && end.seq <= this.#options.endOfLog().seq
    return this.#emptyPage(isKnown && end.seq > position.seq ? end : position, upTo)
  }

  /**
   * The changes from a place on.
   * @param options.isAwaited somebody has waited for them
   * @returns null when the place is not in the log, or what comes after it is not kept
   */
  page(from: ReadFrom, limit: number, { isAwaited }: { isAwaited: boolean }): Promise<ChangePage | null> | ChangePage {
    if (from !== 'start' && this.#end !== null && isSamePosition(from, this.#end.position)) return this.endPage()
    const what = `${limit} ${from === 'start' ? from : `${from.seq} ${from.fingerprint}`}`
    const known = this.#reads.get(what)
    if (known !== undefined) return known
    const reading = this.#read(from, limit, isAwaited).finally(() => this.#reads.delete(what))
    this.#reads.set(what, reading)
    return reading
  }

  /**
   * Waits for a change after those of a page.
   * @param upTo of the page. A read that found nothing covers every change that was durable when it was begun, so waiting begins
   *   where that read ended (F1)
   */
  wait(upTo: number, ms: number, place: Place): Promise<Woken> {
    if (place.isEnded) return Promise.resolve('ended')
    if (this.#lastSeq > upTo) return Promise.resolve('changed')
    if (ms <= 0) return Promise.resolve('elapsed')
    return new Promise((resolve) => {
      const finish = (why: Woken): void => {
        cancel()
        this.#waiting.delete(finish)
        place.onEnd = null
        resolve(why)
      }
      const cancel = this.#options.clock.after(ms, () => finish('elapsed'))
      this.#waiting.add(finish)
      place.onEnd = () => finish('ended')
    })
  }

  async #read(from: ReadFrom, limit: number, isAwaited: boolean): Promise<ChangePage | null> {
    const { rows, agencyId, cursors, clock } = this.#options
    const upTo = this.#lastSeq
    const read = await rows.read(agencyId, { from, entriesMax: limit + 1, isAwaited })
    if (read === null) return null
    const entries = read.entries.slice(0, limit)
    const last = entries.at(-1)
    const position = last === undefined ? read.end : { seq: last.seq, fingerprint: last.fingerprint }
    const hasMore = read.entries.length > limit
    if (!hasMore && this.#lastSeq === upTo) this.#end = { position, at: clock.monotonicMs() }
    const changes = entries.map((entry) => changeOf(entry, cursors))
    return { changes, position, cursor: cursors.write(position), hasMore, upTo }
  }

  #emptyPage(position: LogPosition, upTo: number): ChangePage {
    return { changes: [], position, cursor: this.#options.cursors.write(position), hasMore: false, upTo }
  }

  #currentEnd(): LogPosition {
    const { clock, endOfLog } = this.#options
    const now = clock.monotonicMs()
    const known = this.#end
    if (known !== null && now - known.at < END_AGE_MS_MAX) return known.position
    const today = endOfLog()
    const position = known !== null && known.position.seq > today.seq ? known.position : today
    this.#end = { position, at: now }
    return position
  }
}
