/**
 * A feed of changes (docs/design.md#changes): the entries of an agency in the order of its shard's log, as far as a view shows them.
 * Partners and the agency's own page have one each. Requests and streams read through the same readers; what wakes them is the journal.
 */

import type { UnitEventKind } from '../../core/domain/booking.ts'
import type { ShardHead } from '../../core/journal/batch.ts'
import type { EncodedEntry } from '../../core/journal/entry-codec.ts'
import type { Clock } from '../../lib/clock.ts'
import { Histogram, type HistogramReading } from '../../lib/measures.ts'
import { BoundedQueue } from '../../lib/queues.ts'
import { AgencyFeed } from './agency-feed.ts'
import {
  type Change,
  type ChangeInLog,
  type ChangePage,
  type ChangeRows,
  type FeedView,
  isShown,
  type ReadFrom,
  type Shown,
} from './change-page.ts'
import { ChangeReader } from './change-reader.ts'
import { Cursors, fingerprintOf } from './cursor.ts'
import type { NoPlace, Place, Waiting, WaitingPlaces, WaitingStats } from './waiting-places.ts'

/** While there is no change, a stream says at least this often that it is alive. */
export const HEARTBEAT_MS = 15_000
/** Changes that are kept in memory for those who wait, of all agencies together; of units with many rates and restrictions fewer. */
const NOTED_MAX = 4_096
const NOTED_CHARS_MAX = 16 * 1_024 * 1_024
/** In place of a cursor: from the oldest change that is kept. */
export const FROM_START = 'start'

const NO_FEEDS: readonly never[] = []

const DELAY_BOUNDS_MS = [1, 2, 3, 5, 7.5, 10, 25, 50, 100, 250, 500, 1_000, 2_500] as const

export interface ChangesRequest extends Pick<Waiting, 'keyId' | 'sessionId' | 'isServed'> {
  readonly agencyId: string
  /** Whose share of the waiting places it takes from; left out: the agency's. */
  readonly ownerId?: string
  /** The events of units that are shown in addition, in the order of `UNIT_EVENTS`. */
  readonly include?: readonly UnitEventKind[]
  /** As it was sent; null: from today's end. */
  readonly after: string | null
  readonly limit: number
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal
  /** Called after each wait, with its milliseconds. */
  onWaited?(ms: number): void
}

/**
 * `malformed`: the cursor is of another agency or another feed, or not one of ours. `expired`: what comes after it is not kept, or it is of a history
 * that was given up.
 */
export type NoChanges = { readonly kind: 'malformed' | 'expired' | NoPlace }

/** Why a cursor cannot be read from. */
type Unread =
  | { readonly kind: 'malformed' | 'expired' }
  | { readonly kind: 'of_another_agency'; readonly digest: string }

export interface FeedStats {
  readonly waiting: WaitingStats
  /** From the moment a change was durable until the answer to a request that waited for it was ready, milliseconds. */
  readonly delayMs: HistogramReading
}

/** An open stream. */
export interface ChangeStream<C extends ChangeInLog = Change> {
  /** Where it begins. */
  readonly first: ChangePage<C>
  /** The next changes, or an empty page every 15 seconds; null at the end. */
  next(): Promise<ChangePage<C> | null>
  close(): void
}

export class ChangeFeed<C extends ChangeInLog = Change> {
  readonly #view: FeedView<C>
  readonly #rows: ChangeRows
  readonly #clock: Clock
  readonly #historyId: string
  readonly #endOf: (agencyId: string) => ShardHead
  /** For each agency, one for every choice of events that a reader has asked for. */
  readonly #agencies = new Map<string, AgencyFeed<C>[]>()
  readonly #cursors = new Map<string, Cursors>()
  readonly #places: WaitingPlaces
  readonly #isSandbox: (agencyId: string) => boolean
  readonly #hasEnded: (digest: string, agencyId: string) => Promise<boolean>
  /** Whose changes they are and how long their entries, in the order in which they were noted. */
  readonly #noted = new BoundedQueue<{ readonly feed: AgencyFeed<C>; readonly chars: number }>(NOTED_MAX)
  #notedChars = 0
  readonly #delayMs = new Histogram(DELAY_BOUNDS_MS)

  constructor(options: {
    view: FeedView<C>
    rows: ChangeRows
    clock: Clock
    /** Of the ledger, a UUID. */
    historyId: string
    /** The end of the log of the agency's shard, as this process knows it (Journal.endOf). */
    endOf: (agencyId: string) => ShardHead
    /** Shared by all feeds of the process. */
    places: WaitingPlaces
    /** Left out: none is. */
    isSandbox?: (agencyId: string) => boolean
    /** Whether another agency, as cursors name it, is a sandbox that has ended, of the shard of this one. Left out: none has. */
    hasEnded?: (digest: string, agencyId: string) => Promise<boolean>
  }) {
    this.#view = options.view
    this.#rows = options.rows
    this.#clock = options.clock
    this.#historyId = options.historyId
    this.#endOf = options.endOf
    this.#places = options.places
    this.#isSandbox = options.isSandbox ?? (() => false)
    this.#hasEnded = options.hasEnded ?? (async () => false)
  }

  get stats(): FeedStats {
    return { waiting: this.#places.stats, delayMs: this.#delayMs.read() }
  }

  /** Entries have become durable: whoever waits for one is woken. Cheap for agencies that nobody reads the changes of. */
  noteDurable(entries: readonly EncodedEntry[]): void {
    for (const entry of entries) {
      for (const feed of this.#agencies.get(entry.agencyId) ?? NO_FEEDS) {
        if (!isShown(feed.shown, entry)) continue
        feed.noteDurable(entry)
        const chars = entry.payload.length
        while (this.#noted.isFull || (this.#noted.size > 0 && this.#notedChars + chars > NOTED_CHARS_MAX))
          this.#forgetOldest()
        this.#noted.push({ feed, chars })
        this.#notedChars += chars
      }
    }
  }

  #forgetOldest(): void {
    const oldest = this.#noted.shift()
    oldest?.feed.forgetOldest()
    this.#notedChars -= oldest?.chars ?? 0
  }

  /** Where reading continues after everything that is durable now; also for those who read the state and then its changes. */
  endCursor(agencyId: string): string {
    return this.#feedOf(agencyId, this.#view.shown).endPage().cursor
  }

  /** What is in memory of these agencies is void, or another process has them: what waits for their changes ends at once, empty. */
  forget(isIncluded: (agencyId: string) => boolean): void {
    for (const [agencyId, feeds] of this.#agencies) {
      if (!isIncluded(agencyId)) continue
      this.#agencies.delete(agencyId)
      for (const feed of feeds) feed.end()
    }
  }

  /** The process stops serving: what waits ends at once, empty, in all feeds with the same places. */
  end(): void {
    this.#places.endAll()
  }

  /**
   * The changes after a cursor. If there are none, waits for one.
   * @throws what the database rejects with
   */
  async page(params: ChangesRequest & { readonly waitMs: number }): Promise<ChangePage<C> | NoChanges> {
    const reader = this.#reader(params)
    if ('kind' in reader) return this.#refusal(reader, params)
    const first = await reader.read()
    if (first === null) return { kind: 'expired' }
    // Without a cursor, today's end is the answer.
    if (first.changes.length > 0 || params.waitMs === 0 || params.after === null) return first
    const place = this.#take(params, 'request')
    if ('kind' in place) return place
    try {
      return (await reader.next(params.waitMs, place)) ?? reader.nothing()
    } finally {
      place.release()
    }
  }

  /**
   * A stream of the changes after a cursor. It takes a place until it is closed.
   * @throws what the database rejects with
   */
  async stream(params: ChangesRequest): Promise<ChangeStream<C> | NoChanges> {
    const reader = this.#reader(params)
    if ('kind' in reader) return this.#refusal(reader, params)
    const place = this.#take(params, 'stream')
    if ('kind' in place) return place
    let first: ChangePage<C> | null = null
    try {
      first = await reader.read()
    } finally {
      if (first === null) place.release()
    }
    if (first === null) return { kind: 'expired' }
    return {
      first,
      next: () => reader.next(HEARTBEAT_MS, place),
      close: () => {
        place.end()
        place.release()
      },
    }
  }

  #reader(params: ChangesRequest): ChangeReader<C> | Unread {
    const { agencyId, include, limit, onWaited = () => {} } = params
    const from = this.#readFrom(params)
    if (from !== null && typeof from === 'object' && 'kind' in from) return from
    const onAnswered = (ms: number) => this.#delayMs.count(ms)
    const feed = this.#feedOf(agencyId, include ?? this.#view.shown)
    return new ChangeReader({ feed, clock: this.#clock, from, limit, onWaited, onAnswered })
  }

  #readFrom({ agencyId, after }: ChangesRequest): ReadFrom | null | Unread {
    if (after === null || after === FROM_START) return after
    const cursor = this.#cursorsOf(agencyId).read(after)
    switch (cursor.kind) {
      case 'read':
        return cursor.position
      case 'malformed':
      case 'of_another_agency':
        return cursor
      case 'of_another_history':
        return { kind: 'expired' }
    }
  }

  /** In a sandbox, a cursor of another agency may be of the one that it has taken the place of, whose changes are gone. */
  async #refusal(unread: Unread, { agencyId }: ChangesRequest): Promise<NoChanges> {
    if (unread.kind !== 'of_another_agency') return unread
    const isFormer = this.#isSandbox(agencyId) && (await this.#hasEnded(unread.digest, agencyId))
    return { kind: isFormer ? 'expired' : 'malformed' }
  }

  #take(params: ChangesRequest, kind: Waiting['kind']): Place | NoChanges {
    const { agencyId, ownerId = agencyId, keyId, sessionId, isServed, signal } = params
    const place = this.#places.take({ ownerId, keyId, sessionId, kind, isServed })
    if (typeof place === 'string') return { kind: place }
    const leave = (): void => {
      place.end()
      place.release()
    }
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    return place
  }

  #cursorsOf(agencyId: string): Cursors {
    const cursors = this.#cursors.get(agencyId) ?? new Cursors(this.#historyId, agencyId, this.#view.cursorKind)
    this.#cursors.set(agencyId, cursors)
    return cursors
  }

  #feedOf(agencyId: string, shown: Shown): AgencyFeed<C> {
    const feeds = this.#agencies.get(agencyId) ?? []
    const known = feeds.find((feed) => String(feed.shown) === String(shown))
    if (known !== undefined) return known
    const feed = new AgencyFeed<C>({
      view: this.#view,
      shown,
      agencyId,
      isTest: this.#isSandbox(agencyId),
      rows: this.#rows,
      cursors: this.#cursorsOf(agencyId),
      clock: this.#clock,
      endOfLog: () => {
        const { lastSeq, lastLink } = this.#endOf(agencyId)
        return { seq: lastSeq, fingerprint: fingerprintOf(lastLink) }
      },
    })
    feeds.push(feed)
    this.#agencies.set(agencyId, feeds)
    return feed
  }
}
