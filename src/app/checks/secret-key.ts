import { PostgresChainKeys } from '../../postgres/stores/postgres-chain-keys.ts'
import { checkSecretKeyBeforeMigrating, SecretKeyError } from '../../postgres/stores/stored-key-check.ts'
import { type Check, type DatabaseWorld, failure, ok, skipped } from './check.ts'

/** Whether SECRET_KEY decrypts what is stored. */
export const secretKey: Check<DatabaseWorld> = {
  name: 'secret-key',
  run: async ({ sql, config }) => {
    const key = config.secretKey
    if (key === null) return [skipped('SECRET_KEY is not set.')]
    try {
      await checkSecretKeyBeforeMigrating(sql, key)
    } catch (error) {
      if (!(error instanceof SecretKeyError)) throw error
      return [
        failure(
          'SECRET_KEY does not match this database: it was encrypted with another key.',
          'Set SECRET_KEY to the key that was used before; if it is lost, see `nightledger rotate-secret-key --help`.',
        ),
      ]
    }
    const keys = await new PostgresChainKeys(sql, key).read()
    const lost = keys.flatMap((opened, shard) => (opened === null ? [shard] : []))
    if (lost.length === 0 || lost.length === keys.length)
      return [
        ok(
          lost.length === 0 ? 'SECRET_KEY decrypts the keys of the journal.' : 'No process has used this database yet.',
        ),
      ]
    return [
      failure(
        `The chain keys of ${lost.length} shards are missing, or SECRET_KEY cannot decrypt them: ${lost.slice(0, 5).join(', ')}${lost.length > 5 ? ', …' : ''}.`,
        'The table shard_chain was changed outside the service: restore it from a backup, then run `nightledger verify`.',
      ),
    ]
  },
}
