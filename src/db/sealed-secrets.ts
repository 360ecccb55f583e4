import type { Resealed, SealedSecrets } from '../webhooks/reseal.ts'
import type { Sql } from './connect.ts'

/** Of every endpoint, deleted ones too. */
export async function sealedSecrets(sql: Sql): Promise<readonly SealedSecrets[]> {
  return await sql<SealedSecrets[]>`
    select agency_id as "agencyId", endpoint_id as "endpointId",
           secret_sealed as "secretSealed", previous_secret_sealed as "previousSecretSealed"
    from webhook_endpoint order by agency_id, endpoint_id`
}

/**
 * All in one statement. A row that is no longer as it was read is left alone.
 * @returns how many rows were changed
 */
export async function replaceSealedSecrets(sql: Sql, changes: readonly Resealed[]): Promise<number> {
  const wanted = changes.map(({ before, after }) => ({
    agency_id: before.agencyId,
    endpoint_id: before.endpointId,
    secret_before: before.secretSealed,
    secret_after: after.secretSealed,
    previous_before: before.previousSecretSealed,
    previous_after: after.previousSecretSealed,
  }))
  const changed = await sql`
    update webhook_endpoint e set secret_sealed = w.secret_after, previous_secret_sealed = w.previous_after
    from jsonb_to_recordset(${JSON.stringify(wanted)}::text::jsonb) as w(
      agency_id text, endpoint_id text, secret_before text, secret_after text, previous_before text, previous_after text)
    where e.agency_id = w.agency_id and e.endpoint_id = w.endpoint_id
      and e.secret_sealed = w.secret_before and e.previous_secret_sealed is not distinct from w.previous_before`
  return changed.count
}
