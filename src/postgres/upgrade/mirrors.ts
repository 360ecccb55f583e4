/**
 * The tables of an old ledger whose rows are copied one for one. While the previous version writes, triggers keep the copies as the
 * rows are; what was there before is copied page by page.
 */

/** A column of an old table that is called the same in the new one is copied; a text that becomes a UUID loses its prefix. */
export interface Mirror {
  readonly name: string
  /** The old table. */
  readonly from: string
  /** The new one, with its schema. */
  readonly to: string
  /** The primary key of the old table. */
  readonly key: readonly string[]
  /** Columns that identify the copy. */
  readonly identity: readonly string[]
  /** New columns that are not the old row's, as expressions over the old row `o`. */
  readonly columns: Readonly<Record<string, string>>
  /** New columns that had another name. */
  readonly renamed: Readonly<Record<string, string>>
  /** Further old tables that the expressions need, row by row: the planner does not know how small a page is. */
  readonly join: string
  /** Which old rows. */
  readonly where: string
}

function mirror(name: string, key: readonly string[], change: Partial<Mirror> = {}): Mirror {
  return {
    ...{
      name,
      from: name,
      to: `ledger_next.${name}`,
      key,
      identity: key,
      columns: {},
      renamed: {},
      join: '',
      where: 'true',
    },
    ...change,
  }
}

/** The agencies come first, alone: other rows refer to them. */
export const AGENCIES = mirror('agency', ['agency_id'])

const AUDIT_KEY = ['agency_id', 'audit_id']
const DELIVERY_KEY = ['agency_id', 'delivery_id']

export const MIRRORS: readonly Mirror[] = [
  mirror('api_key', ['agency_id', 'key_id']),
  mirror('unit', ['agency_id', 'unit_id']),
  mirror('fee_type', ['agency_id', 'fee_type_id']),
  mirror('calendar_feed', ['agency_id', 'unit_id']),
  mirror('usage_month', ['agency_id', 'month']),
  mirror('webhook_endpoint', ['agency_id', 'endpoint_id']),
  mirror('guest', ['agency_id', 'guest_id']),
  mirror('booking', ['agency_id', 'booking_id']),
  mirror('idempotency', ['agency_id', 'key_id', 'route', 'idempotency_key']),
  mirror('snapshot', ['agency_id', 'unit_id', 'seq'], { identity: ['unit_id', 'seq'] }),
  mirror('webhook_delivery', DELIVERY_KEY, {
    identity: [...DELIVERY_KEY, 'month'],
    columns: {
      month: 'storage_month(o.created_at)',
      kind: 'v.kind',
      seq: 'v.seq',
      // As copy-journal.ts files the entry, unless the clock had jumped: then the switch corrects it.
      entry_month: 'case when v.seq is not null then storage_month(v.occurred_at) end',
    },
    join: `
      join lateral (
        select * from main_schema.webhook_event v where v.agency_id = o.agency_id and v.event_id = o.event_id limit 1) v on true`,
  }),
  mirror('webhook_attempt', [...DELIVERY_KEY, 'attempt'], {
    identity: [...DELIVERY_KEY, 'attempt', 'month'],
    columns: { month: 'storage_month(d.created_at)' },
    join: `
      join lateral (
        select * from main_schema.webhook_delivery d
        where d.agency_id = o.agency_id and d.delivery_id = o.delivery_id limit 1) d on true`,
  }),
  mirror('audit_line', AUDIT_KEY, {
    from: 'audit',
    identity: ['agency_id', 'line_id', 'month'],
    columns: { month: 'storage_month(o.at)' },
    renamed: { line_id: 'audit_id' },
    where: "o.outcome <> 'OK'",
  }),
  mirror('audit_ok', AUDIT_KEY, {
    from: 'audit',
    to: 'ledger_upgrade.audit_ok',
    identity: ['agency_id', 'line_id'],
    renamed: { line_id: 'audit_id' },
    where: "o.outcome = 'OK'",
  }),
]
