/**
 * - K1 A database has one SECRET_KEY: a process with a different key does not start.
 */
import { mayHaveSealed, secretKeyCheck } from '../../events/webhooks/re-encrypt.ts'
import type { Sql } from '../client/connect.ts'
import { sealedSecrets } from './sealed-secrets.ts'

/** SECRET_KEY does not match the database. The message says what to do. */
export class SecretKeyError extends Error {
  override readonly name = 'SecretKeyError'
  constructor() {
    super(
      "Cannot start: SECRET_KEY does not match this database. The database's webhook secrets are encrypted with another key, and " +
        'its calendar addresses are derived from that key.\n' +
        '- Set SECRET_KEY to the key that was used before. After a restore, that is the key from the time of the backup. Without ' +
        'DATABASE_URL, the key is in the file secret-key in DATA_DIR.\n' +
        '- To change the key, stop the service and run nightledger rotate-secret-key. If the old key is lost, add --old-key-lost ' +
        '(docs/operating.md, SECRET_KEY).',
    )
  }
}

/**
 * Refuses a key that does not match the database. The first start on a database stores a check value of its key. If two first starts
 * with different keys race, one of them is refused.
 * @param key 32 bytes
 * @throws SecretKeyError
 */
export async function checkSecretKey(sql: Sql, key: Uint8Array): Promise<void> {
  const check = secretKeyCheck(key)
  let stored = await storedCheck(sql)
  if (stored === null) {
    if (!mayHaveSealed(key, await sealedSecrets(sql))) throw new SecretKeyError()
    await sql`insert into secret_key_check (hmac) values (${check}) on conflict (is_only) do nothing`
    stored = await storedCheck(sql)
  }
  if (stored !== check) throw new SecretKeyError()
}

/**
 * The same before the schema is migrated, whatever version it has: a process with another key must leave it as it is. Writes
 * nothing.
 * @throws SecretKeyError
 */
export async function checkSecretKeyBeforeMigrating(sql: Sql, key: Uint8Array): Promise<void> {
  const [has] = await sql<{ check: boolean; endpoints: boolean }[]>`
    select to_regclass('secret_key_check') is not null as "check", to_regclass('webhook_endpoint') is not null as "endpoints"`
  const stored = has?.check === true ? await storedCheck(sql) : null
  if (stored !== null && stored !== secretKeyCheck(key)) throw new SecretKeyError()
  if (stored === null && has?.endpoints === true && !mayHaveSealed(key, await sealedSecrets(sql)))
    throw new SecretKeyError()
}

/** The check value of the database's key; null before the first start on it. */
export async function storedCheck(sql: Sql): Promise<string | null> {
  const [row] = await sql<{ hmac: string }[]>`select hmac from secret_key_check`
  return row?.hmac ?? null
}
