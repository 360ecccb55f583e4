import type { ReEncrypted, SealedSecrets } from '../../events/webhooks/re-encrypt.ts'
import { idOf, uuidOf } from '../../lib/ids.ts'
import type { Sql } from '../client/connect.ts'
import type { ReEncryptedChainKey } from './postgres-chain-keys.ts'

/** The secrets of every endpoint that is not deleted; deleted endpoints have none. */
export async function sealedSecrets(sql: Sql): Promise<readonly SealedSecrets[]> {
  const rows = await sql<SealedSecrets[]>`
    select agency_id as "agencyId", endpoint_id as "endpointId",
           secret_sealed as "secretSealed", previous_secret_sealed as "previousSecretSealed",
           coalesce(previous_secret_until <= now(), true) as "isPreviousOver"
    from webhook_endpoint where status <> 'deleted' order by agency_id, endpoint_id`
  return rows.map((row) => ({
    ...row,
    agencyId: idOf('agc', row.agencyId),
    endpointId: idOf('whe', row.endpointId),
  }))
}

/** The key was not changed, and neither was anything else. */
export class RotationError extends Error {
  override readonly name = 'RotationError'
}

/** Raised by `rotate_secret_key` (sql/). */
const REASONS: Record<string, string> = {
  NL010:
    'the key of this database is neither SECRET_KEY_OLD nor SECRET_KEY. Set SECRET_KEY_OLD to the key of this database; if that key is lost, see --old-key-lost',
  NL011:
    'webhook endpoints or the keys of the journal changed in the meantime. Stop the service and run this command again',
}

/**
 * Stores the changed secrets and chain keys and the new check value in one statement, all or nothing, and fences out the current writer.
 * Unused links for people are deleted.
 * @param knownChecks check values that the database may have; null for any
 * @param endpointsRead how many endpoints `sealedSecrets` returned
 * @param chainKeys all keys of the chains, those that stay as they are included
 * @throws RotationError when the database has another key, or an endpoint or a chain key has changed since it was read
 */
export async function rotateSecrets(
  sql: Sql,
  rotation: {
    knownChecks: readonly string[] | null
    newCheck: string
    endpointsRead: number
    changes: readonly ReEncrypted[]
    chainKeys: readonly ReEncryptedChainKey[]
  },
): Promise<void> {
  const { knownChecks, newCheck, endpointsRead } = rotation
  const known = knownChecks === null ? null : JSON.stringify(knownChecks)
  const changes = rotation.changes.map(({ before, after }) => ({
    agency_id: uuidOf(before.agencyId),
    endpoint_id: uuidOf(before.endpointId),
    secret_before: before.secretSealed,
    secret_after: after.secretSealed,
    previous_before: before.previousSecretSealed,
    previous_after: after.previousSecretSealed,
  }))
  const chainChanges = rotation.chainKeys.map(({ shard, before, after }) => ({
    shard,
    key_before: before,
    key_after: after,
  }))
  try {
    await sql`
      -- Their HMACs are made with the former key: nobody can open one, and none may look as if somebody could.
      with links as (delete from person_link)
      select rotate_secret_key(${known}::text::jsonb, ${newCheck}::text, ${endpointsRead}::int,
                               ${JSON.stringify(changes)}::text::jsonb, ${JSON.stringify(chainChanges)}::text::jsonb)`
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? REASONS[String(error.code)] : undefined
    if (reason === undefined) throw error
    throw new RotationError(`Cannot change the key: ${reason}. Nothing was changed.`, { cause: error })
  }
}
