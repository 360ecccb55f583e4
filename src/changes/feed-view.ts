import type { ChangeEntry } from './change-rows.ts'
import type { CursorKind, Cursors } from './cursor.ts'

/** What a feed shows of an agency's log. Readers differ in what they may see; how they read is the same. */
export interface FeedView<C extends ChangeInLog> {
  readonly cursorKind: CursorKind
  /** Only the entries that webhooks announce, or all. */
  readonly isAnnouncedOnly: boolean
  /** Called once for each change that is kept in memory. @throws CorruptLedgerError when the entry is not as it was written: a change is never left out */
  changeOf(entry: ChangeEntry, cursors: Cursors): C
}

export interface ChangeInLog {
  /** Reading goes on after the change. */
  readonly cursor: string
}
