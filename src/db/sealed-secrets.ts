import type { Resealed, SealedSecrets } from '../webhooks/reseal.ts'
import type { Sql } from './connect.ts'

/** Of every endpoint but the deleted ones, which have no secret any more. */
export async function sealedSecrets(sql: Sql): Promise<readonly SealedSecrets[]> {
  return await sql<SealedSecrets[]>`
    select agency_id as "agencyId", endpoint_id as "endpointId",
           secret_sealed as "secretSealed", previous_secret_sealed as "previousSecretSealed",
           coalesce(previous_secret_until <= now(), true) as "isPreviousOver"
    from webhook_endpoint where status <> 'deleted' order by agency_id, endpoint_id`
}

/** The change of the key was not made; nothing was changed. */
export class RotationError extends Error {
  override readonly name = 'RotationError'
}

/** Raised by `rotate_secret_key` (sql/). */
const REASONS: Record<string, string> = {
  NL010:
    'this database is used with another key than SECRET_KEY_OLD and SECRET_KEY. Give the one it is used with as SECRET_KEY_OLD; if it is lost, see --old-key-lost',
  NL011: 'webhook endpoints were changed meanwhile. Stop the service and run this again',
}

/**
 * Stores the changed secrets and the new check value in one statement, all or nothing, and fences out whoever writes.
 * @param knownChecks check values that the database may have; null for any
 * @param endpointsRead as many as `sealedSecrets` answered
 * @throws RotationError when the database is used with another key, or an endpoint is no longer as it was read
 */
export async function rotateSecrets(
  sql: Sql,
  rotation: {
    knownChecks: readonly string[] | null
    newCheck: string
    endpointsRead: number
    changes: readonly Resealed[]
  },
): Promise<void> {
  const { knownChecks, newCheck, endpointsRead } = rotation
  const known = knownChecks === null ? null : JSON.stringify(knownChecks)
  const changes = rotation.changes.map(({ before, after }) => ({
    agency_id: before.agencyId,
    endpoint_id: before.endpointId,
    secret_before: before.secretSealed,
    secret_after: after.secretSealed,
    previous_before: before.previousSecretSealed,
    previous_after: after.previousSecretSealed,
  }))
  try {
    await sql`select rotate_secret_key(${known}::text::jsonb, ${newCheck}::text, ${endpointsRead}::int, ${JSON.stringify(changes)}::text::jsonb)`
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? REASONS[String(error.code)] : undefined
    if (reason === undefined) throw error
    throw new RotationError(`Cannot change the key: ${reason}. Nothing was changed.`, { cause: error })
  }
}
