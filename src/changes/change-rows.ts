import type { Instant } from '../core/domain/booking.ts'
import type { StoredEntry } from '../core/journal/entry-codec.ts'
import type { LogPosition } from './cursor.ts'

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
  /** The end of the log: the agency has no entry up to there that is not in `entries`, unless `entries` has the asked size. */
  readonly end: LogPosition
}

/** Where to read from: after a place, or from the oldest entry that is kept. */
export type ReadFrom = LogPosition | 'start'

export interface ReadOptions {
  readonly from: ReadFrom
  readonly entriesMax: number
  readonly isAnnouncedOnly: boolean
}

/** The port the feed reads the log through. */
export interface ChangeRows {
  /**
   * The next entries of an agency, at most `entriesMax`; only announced ones, or all.
   * @returns null when `from` is no place in this log, or the entries after it are not kept any more
   */
  read(agencyId: string, options: ReadOptions): Promise<ReadChanges | null>
}
