import type { IdPrefix } from '../../lib/ids.ts'
import { ID_COLUMNS } from './foreign-ids.ts'

/** An old table that the way back makes equal to the present one, row by row. */
export interface ComparedTable {
  readonly name: string
  readonly key: readonly string[]
  /** Old columns that are not the present row's, as expressions over the present row `n`. */
  readonly columns: Readonly<Record<string, string>>
  readonly join: string
}

function compared(name: string, key: readonly string[], change: Partial<ComparedTable> = {}): ComparedTable {
  return { name, key, columns: {}, join: '', ...change }
}

/** The agencies are changed first, in place: other rows refer to them. */
export const COMPARED_AGENCIES = compared('agency', ['agency_id'])

export const COMPARED_TABLES: readonly ComparedTable[] = [
  compared('secret_key_check', ['is_only']),
  compared('api_key', ['agency_id', 'key_id']),
  compared('unit', ['agency_id', 'unit_id']),
  compared('fee_type', ['agency_id', 'fee_type_id']),
  compared('calendar_feed', ['agency_id', 'unit_id']),
  compared('usage_month', ['agency_id', 'month']),
  compared('webhook_endpoint', ['agency_id', 'endpoint_id']),
  compared('guest', ['agency_id', 'guest_id']),
  compared('booking', ['agency_id', 'booking_id'], {
    columns: { seq: 'coalesce(r.old_seq, n.seq)' },
    join: 'left join ledger_upgrade.renumbered r on r.shard = shard_of(n.agency_id) and r.seq = n.seq',
  }),
  compared('idempotency', ['agency_id', 'key_id', 'route', 'idempotency_key']),
  compared('webhook_delivery', ['agency_id', 'delivery_id']),
  compared('webhook_attempt', ['agency_id', 'delivery_id', 'attempt']),
]

/** A column of an old table. `newType`: of the present table's column of this name; null when it has none. */
export interface OldColumn {
  readonly name: string
  readonly type: string
  readonly newType: string | null
}

/** Statements that make the old table what the present one says, in this order. */
export function comparisonStatements(
  { name, key, columns, join }: ComparedTable,
  all: readonly OldColumn[],
  main: string,
): readonly string[] {
  const prefixes: Readonly<Record<string, IdPrefix>> = ID_COLUMNS[name] ?? {}
  const written = all.filter((column) => column.name in columns || column.newType !== null)
  const values = written.map((column) => {
    const expression =
      columns[column.name] ??
      (column.newType === 'uuid' && column.type === 'text'
        ? `ledger_upgrade.text_of('${prefixes[column.name]}', n.${column.name})`
        : `n.${column.name}`)
    return `${expression} as ${column.name}`
  })
  const names = written.map((column) => column.name).join(', ')
  const present = `(select ${values.join(', ')} from ${main}.${name} n ${join}) p`
  const isSameKey = key.map((column) => `p.${column} = o.${column}`).join(' and ')
  const row = (alias: string) => `row(${written.map((column) => `${alias}.${column.name}`).join(', ')})`
  const old = `ledger_previous.${name}`
  if (name === COMPARED_AGENCIES.name) {
    const changes = written.map((column) => `${column.name} = excluded.${column.name}`).join(', ')
    return [
      `insert into ${old} (${names}) select ${names} from ${present} on conflict (${key.join(', ')}) do update set ${changes}`,
    ]
  }
  // What differs is removed before anything is added: a night or an e-mail may have changed hands.
  return [
    `delete from ${old} o where not exists (select from ${present} where ${isSameKey} and ${row('p')} is not distinct from ${row('o')})`,
    `insert into ${old} (${names}) overriding system value
     select ${names} from ${present} where not exists (select from ${old} o where ${isSameKey})`,
  ]
}
