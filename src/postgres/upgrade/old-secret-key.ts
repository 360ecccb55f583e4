import type { SealedSecrets } from '../../webhooks/re-encrypt.ts'
import { mayHaveSealed, secretKeyCheck } from '../../webhooks/secret-key-check.ts'
import type { Sql } from '../client/connect.ts'
import { SecretKeyError } from '../stores/stored-key-check.ts'

/**
 * - K1 A process with another SECRET_KEY than the one an old ledger is used with leaves it as it is.
 *
 * @param main the old schema, quoted
 * @param key 32 bytes
 * @throws SecretKeyError
 */
export async function checkOldSecretKey(sql: Sql, main: string, key: Uint8Array): Promise<void> {
  const [table] = await sql<
    { exists: boolean }[]
  >`select to_regclass(${`${main}.secret_key_check`}) is not null as "exists"`
  const [stored] =
    table?.exists === true ? await sql.unsafe<{ hmac: string }[]>(`select hmac from ${main}.secret_key_check`) : []
  const isKey =
    stored === undefined ? mayHaveSealed(key, await oldSecrets(sql, main)) : stored.hmac === secretKeyCheck(key)
  if (!isKey) throw new SecretKeyError()
}

async function oldSecrets(sql: Sql, main: string): Promise<readonly SealedSecrets[]> {
  return await sql.unsafe<SealedSecrets[]>(
    `select agency_id as "agencyId", endpoint_id as "endpointId", secret_sealed as "secretSealed",
            previous_secret_sealed as "previousSecretSealed", coalesce(previous_secret_until <= now(), true) as "isPreviousOver"
     from ${main}.webhook_endpoint where status <> 'deleted' order by agency_id, endpoint_id`,
  )
}
