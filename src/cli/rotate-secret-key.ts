import type { Command } from 'commander'
import { parseSecretKey } from '../app/config.ts'
import { reEncrypted, secretKeyCheck, secretsOpen } from '../events/webhooks/re-encrypt.ts'
import { SecretBox } from '../events/webhooks/secret-box.ts'
import type { Sql } from '../postgres/client/connect.ts'
import { reEncryptedChainKeys, replacedChainKeys, sealedChainKeys } from '../postgres/stores/postgres-chain-keys.ts'
import { PostgresJournalStore } from '../postgres/stores/postgres-journal-store.ts'
import { PostgresWriters, servingNodes } from '../postgres/stores/postgres-writers.ts'
import { rotateSecrets, sealedSecrets } from '../postgres/stores/sealed-secrets.ts'
import { storedCheck } from '../postgres/stores/stored-key-check.ts'
import { databaseUrl, mustFit, OWNER_NEEDED, onDatabase } from './database.ts'
import { CliError, UsageError } from './exit-codes.ts'
import type { Terminal } from './terminal.ts'

type Env = Terminal['env']

interface Outcome {
  /** Endpoints that are not deleted. */
  readonly endpoints: number
  /** Endpoints whose secrets were re-encrypted. */
  readonly changed: number
  /** With --old-key-lost: endpoints whose secret can no longer be read. */
  readonly lost?: readonly string[]
}

/** `rotate-secret-key`: re-encrypts the webhook secrets and the chain keys in DATABASE_URL, from SECRET_KEY_OLD to SECRET_KEY. */
export function rotateSecretKey(program: Command, terminal: Terminal): void {
  program
    .command('rotate-secret-key')
    .summary('re-encrypt the secrets in DATABASE_URL: from SECRET_KEY_OLD to SECRET_KEY')
    .description(
      'Re-encrypts all webhook secrets and the keys of the journal in the database at DATABASE_URL from SECRET_KEY_OLD to SECRET_KEY, or none of them. Stop the service first ' +
        'and start it with the new key afterwards; a service that is still running is fenced out. Stop every node of a cluster: while one serves, nothing is changed. Running the command again ' +
        `changes nothing. Calendar addresses are derived from the key, so every one of them changes. ${OWNER_NEEDED}`,
    )
    .option(
      '--old-key-lost',
      'the old key is lost: make SECRET_KEY the key of the database, and list the endpoints whose secrets are lost',
    )
    .option('--json', 'print the result as JSON')
    .action(async (options: { oldKeyLost?: boolean; json?: boolean }) => {
      const url = databaseUrl(terminal, 'Cannot change the key: DATABASE_URL is not set.')
      const to = keyOf(terminal.env, 'SECRET_KEY')
      const from = options.oldKeyLost === true ? null : keyOf(terminal.env, 'SECRET_KEY_OLD')
      const outcome = await onDatabase(url, async (sql) => {
        await mustFit(sql)
        return from === null ? useFromNowOn(sql, { url, key: to }) : rotate(sql, { from, to })
      })
      terminal.out(options.json === true ? `${JSON.stringify(outcome)}\n` : sentence(outcome))
    })
}

async function rotate(sql: Sql, { from, to }: { from: Uint8Array; to: Uint8Array }): Promise<Outcome> {
  const rows = await sealedSecrets(sql)
  const changes = reEncrypted(rows, { from: new SecretBox(from), to: new SecretBox(to) })
  const chainKeys = reEncryptedChainKeys(await sealedChainKeys(sql), { from, to })
  const newCheck = secretKeyCheck(to)
  const outcome = { endpoints: rows.length, changed: changes.length }
  const isSame = changes.length === 0 && chainKeys.every(({ before, after }) => before === after)
  // Nothing to change, so the current writer is not fenced out.
  if (isSame && (await storedCheck(sql)) === newCheck) return outcome
  await mustHaveNoNodes(sql)
  const knownChecks = [secretKeyCheck(from), newCheck]
  await rotateSecrets(sql, { knownChecks, newCheck, endpointsRead: rows.length, changes, chainKeys })
  return outcome
}

/**
 * Leaves the secrets encrypted with the lost key as they are: each endpoint needs a new secret (`webhooks rotate-secret`). The
 * chains of the journal begin again with new keys.
 */
async function useFromNowOn(sql: Sql, { url, key }: { url: string; key: Uint8Array }): Promise<Outcome> {
  await mustHaveNoNodes(sql)
  const rows = await sealedSecrets(sql)
  const box = new SecretBox(key)
  const lost = rows.filter((row) => !secretsOpen(box, row)).map(({ endpointId }) => endpointId)
  const newCheck = secretKeyCheck(key)
  const chainKeys = replacedChainKeys(await sealedChainKeys(sql), { key, lastSeqs: await fencedEnds(sql, url) })
  await rotateSecrets(sql, { knownChecks: null, newCheck, endpointsRead: rows.length, changes: [], chainKeys })
  return { endpoints: rows.length, changed: 0, lost }
}

/** A node that has the old key takes its shards back, finds another key, and ends: all of them would, at once. */
async function mustHaveNoNodes(sql: Sql): Promise<void> {
  const nodes = await servingNodes(new PostgresWriters(sql))
  if (nodes.length > 0)
    throw new CliError(
      `Cannot change the key: the nodes ${nodes.join(', ')} of a cluster serve this database. Stop all nodes, run this again, and start them with the new key. Nothing was changed.`,
    )
}

/** Fences out the current writer, so that nothing is appended any more; then reads where the log of each shard ends. */
async function fencedEnds(queries: Sql, url: string): Promise<ReadonlyMap<number, number>> {
  const store = new PostgresJournalStore({ url, queries })
  try {
    const { shards } = await store.takeOver('rotate-secret-key')
    return new Map(shards.map(({ shard, lastSeq }) => [shard, lastSeq]))
  } finally {
    await store.close()
  }
}

function sentence({ endpoints, changed, lost }: Outcome): string {
  if (lost === undefined)
    return `${endpoints} endpoints: ${changed} re-encrypted, ${endpoints - changed} already up to date.\n`
  const all = `The database now uses SECRET_KEY. Endpoints that lost their secret: ${lost.length} of ${endpoints}.\n`
  if (lost.length === 0) return all
  return `${all}Rotate the secret of each with nightledger webhooks rotate-secret ID --overlap-hours 0:\n${lost.join('\n')}\n`
}

function keyOf(env: Env, name: 'SECRET_KEY' | 'SECRET_KEY_OLD'): Uint8Array {
  const key = parseSecretKey(env[name] ?? '')
  if (key === null)
    throw new UsageError(`Cannot change the key: ${name} is not set, or is not 32 bytes in hexadecimal or base64.`)
  return key
}
