import { eventOfEntry, webhookBody } from '../webhooks/envelope.ts'
import type { LogPosition } from './cursor.ts'
import type { ChangeInLog, FeedView } from './feed-view.ts'

/** A change as it is answered. */
export interface Change extends ChangeInLog {
  readonly event: string
  /** The members of the event, and the cursor: JSON text. */
  readonly json: string
}

/** What all readers of an agency at the same place get. */
export interface ChangePage<C extends ChangeInLog = Change> {
  readonly changes: readonly C[]
  /** Where reading goes on; also as a cursor. */
  readonly position: LogPosition
  readonly cursor: string
  /** There were more changes already. */
  readonly hasMore: boolean
  /** No change up to this number comes after the page. */
  readonly upTo: number
}

/** What partners see: the webhook events. */
export const PARTNER_VIEW: FeedView<Change> = {
  cursorKind: 'partner',
  isAnnouncedOnly: true,
  changeOf: (entry, cursors) => {
    const event = eventOfEntry(entry, entry.sourceRef)
    const cursor = cursors.write(entry)
    // The members of the body are written as webhooks have them, byte for byte.
    return { event: event.kind, cursor, json: `{"cursor":"${cursor}",${webhookBody(event).slice(1)}` }
  },
}

/** The body of `GET /changes`. */
export function pageText({ changes, cursor, hasMore }: ChangePage): string {
  return `{"changes":[${changes.map(({ json }) => json).join(',')}],"cursor":"${cursor}","hasMore":${hasMore}}`
}
