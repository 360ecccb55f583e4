/**
 * A batch as the parameters of `append_batch` (sql/): rows as arrays of composites, in PostgreSQL's own notation, long texts
 * beside them. Read by the input functions of the columns, without a tree in between.
 */
import type { BatchContent, BatchRow } from '../../core/journal/journal-store.ts'

/** The members of the composite types in sql/, in their order. */
export const COLUMNS = {
  journal: [
    ...['agency_id', 'unit_id', 'seq', 'other_unit_id', 'kind', 'booking_id', 'checksum'],
    ...['request_id', 'at'],
  ],
  booking: [
    ...['agency_id', 'booking_id', 'unit_id', 'type', 'status', 'source', 'source_ref', 'arrival', 'departure'],
    ...['adults', 'children', 'extra_bed', 'total_amount', 'notes', 'hold_expires_at', 'expected_until'],
    ...['cancelled_at', 'cancel_reason', 'created_at', 'updated_at', 'version', 'seq'],
  ],
  guest: [
    ...['agency_id', 'guest_id', 'booking_id', 'first_name', 'last_name', 'email', 'phone', 'nationality'],
    'created_at',
  ],
  event: ['agency_id', 'event_id', 'seq', 'kind', 'booking_id', 'occurred_at'],
  audit: [
    ...['agency_id', 'audit_id', 'at', 'actor_kind', 'actor_id', 'route', 'outcome', 'booking_id', 'request_id'],
    'count',
  ],
  idempotency: ['agency_id', 'key_id', 'route', 'idempotency_key', 'request_hash', 'status', 'created_at'],
} as const

/** Between long texts: JSON never holds it raw. */
const BETWEEN_TEXTS = '\x1e'

/** By parameter of `append_batch`; null where the batch has none. */
export interface BatchText {
  readonly entries: string | null
  readonly payloads: string | null
  readonly created: string | null
  readonly changed: string | null
  readonly guests: string | null
  readonly events: string | null
  readonly bodies: string | null
  readonly auditLines: string | null
  readonly idempotencies: string | null
  readonly answers: string | null
  readonly others: string | null
}

/** The same text for the same batch (J3). */
export function batchText(content: BatchContent): BatchText {
  const { units } = content
  return {
    entries: composites(content.journal, COLUMNS.journal),
    payloads: texts(content.journal, 'payload'),
    created: composites(content.created, COLUMNS.booking),
    changed: composites(content.changed, COLUMNS.booking),
    guests: composites(content.guests, COLUMNS.guest),
    events: composites(content.events, COLUMNS.event),
    bodies: texts(content.events, 'body'),
    auditLines: composites(content.audit, COLUMNS.audit),
    idempotencies: composites(content.idempotency, COLUMNS.idempotency),
    answers: texts(content.idempotency, 'body'),
    others: units === undefined ? null : JSON.stringify({ units }),
  }
}

function texts(rows: readonly BatchRow[] | undefined, column: string): string | null {
  return rows === undefined ? null : rows.map((row) => row[column]).join(BETWEEN_TEXTS)
}

/** The text of an array of composites: `{"(a,,\"b c\")"}`. A missing value is a null. */
function composites(rows: readonly BatchRow[] | undefined, columns: readonly string[]): string | null {
  if (rows === undefined) return null
  let text = ''
  for (const row of rows) {
    let members = ''
    for (const column of columns) members += `,${member(row[column])}`
    text += `,"(${members.slice(1)})"`
  }
  return `{${text.slice(1)}}`
}

/** What ends a member of a composite, or stands for something else in it. */
const SPECIAL = /["\\(),]/

/** One member inside a quoted element of an array: what is quoted is escaped for the composite and again for the array. */
function member(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'string') return String(value)
  if (value !== '' && !SPECIAL.test(value)) return value
  return `\\"${value.replace(/["\\]/g, (special) => (special === '"' ? '\\\\\\"' : '\\\\\\\\'))}\\"`
}
