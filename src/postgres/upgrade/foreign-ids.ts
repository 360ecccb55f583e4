import type { IdPrefix } from '../../lib/ids.ts'
import type { Sql } from '../client/connect.ts'
import { UpgradeError } from './upgrade-error.ts'

/** SQLSTATE of a text that is no UUID. */
const INVALID_TEXT = '22P02'

const AGENCY = { agency_id: 'agc' } as const
const DELIVERY = { ...AGENCY, delivery_id: 'dlv' } as const

/** The columns of the old tables that become UUIDs, and the prefix of their ids. */
export const ID_COLUMNS: Readonly<Record<string, Readonly<Record<string, IdPrefix>>>> = {
  agency: AGENCY,
  api_key: { ...AGENCY, key_id: 'key' },
  unit: { ...AGENCY, unit_id: 'unt' },
  fee_type: { ...AGENCY, fee_type_id: 'fee' },
  calendar_feed: { ...AGENCY, unit_id: 'unt' },
  guest: { ...AGENCY, guest_id: 'gst' },
  booking: { ...AGENCY, booking_id: 'bkg', unit_id: 'unt', guest_id: 'gst' },
  journal: { ...AGENCY, unit_id: 'unt', other_unit_id: 'unt', booking_id: 'bkg' },
  snapshot: { ...AGENCY, unit_id: 'unt' },
  audit: { ...AGENCY, audit_id: 'aud', actor_id: 'key' },
  idempotency: { ...AGENCY, key_id: 'key' },
  usage_month: AGENCY,
  webhook_endpoint: { ...AGENCY, endpoint_id: 'whe' },
  webhook_event: { ...AGENCY, event_id: 'evt', booking_id: 'bkg' },
  webhook_delivery: { ...DELIVERY, endpoint_id: 'whe', event_id: 'evt' },
  webhook_attempt: DELIVERY,
}

/**
 * This program makes ids of one form only. An id of another form, written by other means, could not be stored as a UUID.
 * Reads all rows and changes nothing.
 * @param main the old schema, quoted
 * @throws UpgradeError naming the table and the id
 */
export async function mustHaveOwnIds(sql: Sql, main: string): Promise<void> {
  for (const [table, columns] of Object.entries(ID_COLUMNS)) {
    if (await hasOnlyUuids(sql, `${main}.${table}`, columns)) continue
    const id = await foreignId(sql, `${main}.${table}`, columns)
    throw new UpgradeError(
      `Cannot upgrade: table ${table} has an id of an unknown form, ${id}. Ids are a prefix and 32 hexadecimal digits. ` +
        'Nothing was changed. Remove or correct the row with the previous version stopped, then start again.',
    )
  }
}

type Columns = Readonly<Record<string, IdPrefix>>

/** By conversion there and back: less than half the time of a regular expression. */
async function hasOnlyUuids(sql: Sql, table: string, columns: Columns): Promise<boolean> {
  const isForeign = Object.entries(columns).map(
    ([column, prefix]) => `'${prefix}_' || encode(uuid_send(substr(${column}, 5)::uuid), 'hex') <> ${column}`,
  )
  try {
    return (await sql.unsafe(`select from ${table} where ${isForeign.join(' or ')} limit 1`)).length === 0
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === INVALID_TEXT) return false
    throw error
  }
}

async function foreignId(sql: Sql, table: string, columns: Columns): Promise<string> {
  const each = Object.entries(columns)
  const isForeign = each.map(([column, prefix]) => `${column} !~ '^${prefix}_[0-9a-f]{32}$'`)
  const named = each.map(([column], i) => `when ${isForeign[i]} then '${column} ' || ${column}`)
  const [found] = await sql.unsafe<{ id: string }[]>(
    `select case ${named.join(' ')} end as id from ${table} where ${isForeign.join(' or ')} limit 1`,
  )
  return found?.id ?? 'which has gone since'
}
