/**
 * What those readers of an agency share that are shown the same events: the newest changes, one read of the log for all at the same
 * place, and the moment at which there is something new. A reader at the end of the log costs no read, neither while it waits nor when
 * it is woken (measured: a read costs Postgres more than the booking).
 *
 * - F1 A reader misses no change. Every change that becomes durable is noted here, in order, before anyone who waits is woken; what
 *   was durable before is in the log that a reader has read.
 * - F2 A change is shown only once it is durable: it is noted then, or read from the log.
 */
import type { EncodedEntry } from '../../core/journal/entry-codec.ts'
import type { Clock } from '../../lib/clock.ts'
import { HOUR_MS } from '../../lib/clock.ts'
import { Slices } from '../../lib/slices.ts'
import type { ChangeInLog, ChangePage, ChangeRows, FeedView, ReadFrom, Shown } from './change-page.ts'
import { type Cursors, fingerprintOf, isSamePosition, type LogPosition } from './cursor.ts'
import type { Place } from './waiting-places.ts'

/** An end that is older is replaced by today's, so that the cursors of a quiet agency do not expire when months are archived. */
const END_AGE_MS_MAX = HOUR_MS

/** Of entries that are decoded: well under a millisecond of CPU. One of a unit can have as many. */
const CHARS_PER_SLICE = 100_000

type Woken = 'changed' | 'elapsed' | 'ended'

interface AgencyFeedOptions<C extends ChangeInLog> {
  readonly agencyId: string
  /** It is a sandbox. */
  readonly isTest: boolean
  readonly rows: ChangeRows
  readonly cursors: Cursors
  readonly view: FeedView<C>
  readonly shown: Shown
  readonly clock: Clock
  /** The end of the log as this process knows it. */
  readonly endOfLog: () => LogPosition
}

/** A change that has become durable while this feed was there. */
interface NotedChange<C extends ChangeInLog> {
  readonly position: LogPosition
  /** Rendered when it is first read. */
  readonly change: () => C
}

export class AgencyFeed<C extends ChangeInLog> {
  readonly #options: AgencyFeedOptions<C>
  readonly shown: Shown
  /** The newest changes: all after `#since` that this process knows of. */
  readonly #noted: NotedChange<C>[] = []
  #since: LogPosition
  /** Of the last change that was noted. */
  #lastSeq = 0
  #lastAt = 0
  /** A place with no change after it, that this process has verified; null when that is not known. */
  #end: { readonly position: LogPosition; readonly at: number } | null = null
  /** By what they read. */
  readonly #reads = new Map<string, Promise<ChangePage<C> | null>>()
  readonly #waiting = new Set<(why: Woken) => void>()
  #isEnded = false

  constructor(options: AgencyFeedOptions<C>) {
    this.#options = options
    this.shown = options.shown
    this.#since = options.endOfLog()
  }

  /** A change that is shown has become durable. */
  noteDurable(entry: EncodedEntry): void {
    const { cursors, clock, view, isTest } = this.#options
    const position = { seq: entry.seq, fingerprint: fingerprintOf(entry.link) }
    let change: C | null = null
    this.#noted.push({
      position,
      change: () => {
        change ??= view.changeOf(
          { ...entry, ...position, sourceRef: entry.booking?.sourceRef ?? null },
          cursors,
          isTest,
        )
        return change
      },
    })
    this.#lastSeq = entry.seq
    this.#end = null
    if (this.#waiting.size === 0) return
    this.#lastAt = clock.monotonicMs()
    for (const wake of [...this.#waiting]) wake('changed')
  }

  /** Nothing is noted here any more: whoever waits ends. */
  end(): void {
    this.#isEnded = true
    for (const wake of [...this.#waiting]) wake('ended')
  }

  /** Makes room: the oldest change that was noted is read from the log from now on. */
  forgetOldest(): void {
    const oldest = this.#noted.shift()
    if (oldest !== undefined) this.#since = oldest.position
  }

  /** When the change that last woke somebody became durable, milliseconds of the monotonic clock. */
  get lastAt(): number {
    return this.#lastAt
  }

  /** Today's end, without changes. */
  endPage(): ChangePage<C> {
    return this.#emptyPage(this.#currentEnd(), this.#lastSeq)
  }

  /**
   * No changes, for a reader that has found nothing after `position`: it continues there, or at today's end if there is still nothing.
   * @param upTo of the page that the reader has got last
   */
  sameAgain(position: LogPosition, upTo: number): ChangePage<C> {
    const end = this.#currentEnd()
    // A change whose batch is still in doubt may be in the log already, and others may have read it. So the reader continues only to a
    // place up to which this process knows the log: of a change before it, it would have been told (F1).
    const isKnown = this.#lastSeq <= upTo && end.seq <= this.#options.endOfLog().seq
    return this.#emptyPage(isKnown && end.seq > position.seq ? end : position, upTo)
  }

  /**
   * The changes from a place on, at once if they are known here.
   * @param options.isVerified the place is from a page of this feed
   * @returns null when the place is not in the log, or what comes after it is not kept
   */
  page(
    from: ReadFrom,
    limit: number,
    { isVerified }: { isVerified: boolean },
  ): Promise<ChangePage<C> | null> | ChangePage<C> {
    if (from !== 'start' && from.seq >= this.#since.seq && (isVerified || this.#isKnown(from)))
      return this.#notedPage(from, limit)
    const what = `${limit} ${from === 'start' ? from : `${from.seq} ${from.fingerprint}`}`
    const known = this.#reads.get(what)
    if (known !== undefined) return known
    const reading = this.#read(from, limit).finally(() => this.#reads.delete(what))
    this.#reads.set(what, reading)
    return reading
  }

  /**
   * Waits for a change after those of a page.
   * @param upTo of the page: a read of the log covers every change that was noted when it started (F1)
   */
  wait(upTo: number, ms: number, place: Place): Promise<Woken> {
    if (place.isEnded || this.#isEnded) return Promise.resolve('ended')
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

  #isKnown(from: LogPosition): boolean {
    if (this.#end !== null && isSamePosition(from, this.#end.position)) return true
    if (isSamePosition(from, this.#since)) return true
    return this.#noted.some(({ position }) => isSamePosition(from, position))
  }

  #notedPage(from: LogPosition, limit: number): ChangePage<C> {
    const after = this.#noted.filter(({ position }) => position.seq > from.seq)
    const shown = after.slice(0, limit)
    const last = shown.at(-1)
    if (last === undefined) return this.sameAgain(from, this.#lastSeq)
    const changes = shown.map(({ change }) => change())
    return this.#changesPage(changes, last.position, { hasMore: after.length > limit, upTo: this.#lastSeq })
  }

  async #read(from: ReadFrom, limit: number): Promise<ChangePage<C> | null> {
    const { rows, agencyId, cursors, view, isTest } = this.#options
    const upTo = this.#lastSeq
    const read = await rows.read(agencyId, {
      from,
      entriesMax: limit + 1,
      shown: this.shown,
    })
    if (read === null) return null
    const entries = read.entries.slice(0, limit)
    const last = entries.at(-1)
    const position = last === undefined ? read.end : { seq: last.seq, fingerprint: last.fingerprint }
    const changes: C[] = []
    const slices = new Slices(CHARS_PER_SLICE)
    for (const entry of entries) {
      changes.push(view.changeOf(entry, cursors, isTest))
      const pause = slices.spend(entry.payload.length)
      if (pause !== null) await pause
    }
    return this.#changesPage(changes, position, { hasMore: read.entries.length > limit, upTo })
  }

  #changesPage(
    changes: readonly C[],
    position: LogPosition,
    rest: { readonly hasMore: boolean; readonly upTo: number },
  ): ChangePage<C> {
    if (!rest.hasMore && this.#lastSeq === rest.upTo) this.#keepEnd(position)
    return { changes, position, cursor: this.#options.cursors.write(position), ...rest }
  }

  #emptyPage(position: LogPosition, upTo: number): ChangePage<C> {
    return { changes: [], position, cursor: this.#options.cursors.write(position), hasMore: false, upTo }
  }

  #currentEnd(): LogPosition {
    const known = this.#end
    if (known !== null && this.#options.clock.monotonicMs() - known.at < END_AGE_MS_MAX) return known.position
    const today = this.#options.endOfLog()
    return this.#keepEnd(known !== null && known.position.seq > today.seq ? known.position : today)
  }

  #keepEnd(position: LogPosition): LogPosition {
    this.#end = { position, at: this.#options.clock.monotonicMs() }
    return position
  }
}
