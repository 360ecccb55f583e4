import type { WebhookEventKind } from '../core/domain/event.ts'
import { eventOfEntry, webhookBody } from '../webhooks/envelope.ts'
import type { ChangeEntry } from './change-rows.ts'
import type { Cursors, LogPosition } from './cursor.ts'

/** A change as partners get it. */
export interface Change {
  readonly event: WebhookEventKind
  /** Reading goes on after the change. */
  readonly cursor: string
  /** The members of the webhook event's body, and the cursor: JSON text. */
  readonly json: string
}

/** What all readers of an agency at the same place get. */
export interface ChangePage {
  readonly changes: readonly Change[]
  /** Where reading goes on; also as a cursor. */
  readonly position: LogPosition
  readonly cursor: string
  /** There were more changes already. */
  readonly hasMore: boolean
  /** No change up to this number comes after the page. */
  readonly upTo: number
}

/** @throws CorruptLedgerError when the entry is not as it was written: a change is never left out */
export function changeOf(entry: ChangeEntry, cursors: Cursors): Change {
  const event = eventOfEntry(entry, entry.sourceRef)
  const cursor = cursors.write(entry)
  // The members of the body are written as webhooks have them, byte for byte.
  return { event: event.kind, cursor, json: `{"cursor":"${cursor}",${webhookBody(event).slice(1)}` }
}

/** The body of `GET /changes`. */
export function pageText({ changes, cursor, hasMore }: ChangePage): string {
  return `{"changes":[${changes.map(({ json }) => json).join(',')}],"cursor":"${cursor}","hasMore":${hasMore}}`
}
