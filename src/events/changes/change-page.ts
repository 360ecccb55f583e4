import { type Instant, KIND_OF, type UnitEventKind } from '../../core/domain/booking.ts'
import type { EncodedEntry, StoredEntry } from '../../core/journal/entry-codec.ts'
import { eventOfEntry, webhookBody } from '../webhooks/envelope.ts'
import type { CursorKind, Cursors, LogPosition } from './cursor.ts'

/** An entry of the journal, and the booking's reference, which is in no entry. */
export interface ChangeEntry extends StoredEntry {
  /** `evt_…` */
  readonly id: string
  readonly at: Instant
  readonly sourceRef: string | null
  /** Of the request that made the change. */
  readonly route: string
  /** Of the log up to this entry. */
  readonly fingerprint: string
}

export interface ReadChanges {
  /** In the order of the log. */
  readonly entries: readonly ChangeEntry[]
  /** The end of the log: the agency has no entry up to there that is not in `entries`, unless `entries` has the requested size. */
  readonly end: LogPosition
}

/** Where to read from: after a place, or from the oldest entry that is kept. */
export type ReadFrom = LogPosition | 'start'

/** Which entries are shown: all, or the announced entries of bookings and those entries of units that fire one of these events. */
export type Shown = 'all' | readonly UnitEventKind[]

/** Whether an entry is shown. `changes_after` in sql/001_schema.sql does the same. */
export function isShown(shown: Shown, { isAnnounced, bookingId, kind }: Omit<EncodedEntry, 'booking'>): boolean {
  if (shown === 'all') return true
  return isAnnounced && (bookingId !== null || shown.some((event) => KIND_OF[event] === kind))
}

export interface ReadOptions {
  readonly from: ReadFrom
  readonly entriesMax: number
  readonly shown: Shown
}

/** The port the feed reads the log through. */
export interface ChangeRows {
  /**
   * The next entries of an agency that are shown, at most `entriesMax`.
   * @returns null when `from` is no place in this log, or the entries after it are not kept any more
   */
  read(agencyId: string, options: ReadOptions): Promise<ReadChanges | null>
}

/** What a feed shows of an agency's log. Readers differ in what they may see; how they read is the same. */
export interface FeedView<C extends ChangeInLog> {
  readonly cursorKind: CursorKind
  /** Unless a request includes more. */
  readonly shown: Shown
  /**
   * Called once for each change that is kept in memory.
   * @param isTest the agency is a sandbox
   * @throws CorruptLedgerError when the entry is not as it was written: a change is never left out
   */
  changeOf(entry: ChangeEntry, cursors: Cursors, isTest: boolean): C
}

export interface ChangeInLog {
  /** Reading continues after the change. */
  readonly cursor: string
}

/** A change as it is answered. */
export interface Change extends ChangeInLog {
  readonly event: string
  /** The members of the event, and the cursor: JSON text. */
  readonly json: string
}

/** What all readers of an agency at the same place get. */
export interface ChangePage<C extends ChangeInLog = Change> {
  readonly changes: readonly C[]
  /** Where reading continues; also as a cursor. */
  readonly position: LogPosition
  readonly cursor: string
  /** There were more changes already. */
  readonly hasMore: boolean
  /** No change up to this number comes after the page. */
  readonly upTo: number
}

/** What partners see: the webhook events, those of units only if they include them. */
export const PARTNER_VIEW: FeedView<Change> = {
  cursorKind: 'partner',
  shown: [],
  changeOf: (entry, cursors, isTest) => {
    const event = eventOfEntry(entry, entry.sourceRef)
    const cursor = cursors.write(entry)
    // The members of the body are written as webhooks have them, byte for byte.
    return { event: event.kind, cursor, json: `{"cursor":"${cursor}",${webhookBody(event, isTest).slice(1)}` }
  },
}

/** The body of `GET /changes`. */
export function pageText({ changes, cursor, hasMore }: ChangePage): string {
  return `{"changes":[${changes.map(({ json }) => json).join(',')}],"cursor":"${cursor}","hasMore":${hasMore}}`
}
