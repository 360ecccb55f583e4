import { uuidOf } from '../../src/lib/ids.ts'
import type { Sql } from '../../src/postgres/client/connect.ts'

/** Rows of a catalogue, for tests of stores that need them to exist. One that exists already is left as it is. */
export async function insertAgency(sql: Sql, agencyId: string): Promise<void> {
  await sql`
    insert into agency (agency_id, slug, name, currency, timezone, status, api_access, requests_per_minute,
                        requests_per_month, default_hold_hours, created_at)
    values (${uuidOf(agencyId)}, ${agencyId}, ${agencyId}, 'EUR', 'Europe/Lisbon', 'active', true, 60, 50000, 48, now())
    on conflict do nothing`
}

/** @param sealed the signing secret as it is stored */
export async function insertEndpoint(
  sql: Sql,
  {
    agencyId,
    endpointId,
    status = 'active',
    sealed,
  }: Record<'agencyId' | 'endpointId' | 'sealed', string> & { status?: string },
): Promise<void> {
  await sql`
    insert into webhook_endpoint (agency_id, endpoint_id, url, status, secret_sealed, created_at, updated_at)
    values (${uuidOf(agencyId)}, ${uuidOf(endpointId)}, 'https://hooks.example/in', ${status}, ${sealed}, now(), now())`
}
