import type { Command } from 'commander'
import { parseSecretKey } from '../config.ts'
import { connect } from '../db/connect.ts'
import { replaceSealedSecrets, sealedSecrets } from '../db/sealed-secrets.ts'
import { resealed } from '../webhooks/reseal.ts'
import { SecretBox } from '../webhooks/secret-box.ts'
import { CliError, UsageError } from './exit-codes.ts'
import type { Terminal } from './terminal.ts'

type Env = Terminal['env']

/** `rotate-secret-key`: webhook secrets in DATABASE_URL, from under SECRET_KEY_OLD to under SECRET_KEY. */
export function rotateSecretKey(program: Command, terminal: Terminal): void {
  program
    .command('rotate-secret-key')
    .summary('seal the webhook secrets in DATABASE_URL anew: SECRET_KEY_OLD to SECRET_KEY')
    .description(
      'Seals the webhook secrets in DATABASE_URL anew, from SECRET_KEY_OLD to SECRET_KEY, all or none. Stop the service before, ' +
        'and start it with the new key after. Running it again changes nothing. Calendar addresses are derived from the key: ' +
        'every one of them changes.',
    )
    .option('--json', 'print the outcome as JSON')
    .action(async (options: { json?: boolean }) => {
      const url = terminal.env['DATABASE_URL']
      if (!url) throw new UsageError('Cannot change the key: DATABASE_URL is not set.')
      const boxes = { from: boxOf(terminal.env, 'SECRET_KEY_OLD'), to: boxOf(terminal.env, 'SECRET_KEY') }
      const sql = connect(url, { purpose: 'admin' })
      try {
        const rows = await sealedSecrets(sql)
        const changes = resealed(rows, boxes)
        const changed = changes.length === 0 ? 0 : await replaceSealedSecrets(sql, changes)
        if (changed < changes.length) {
          throw new CliError(
            `${changes.length - changed} endpoints were changed meanwhile. Stop the service and run this again.`,
          )
        }
        if (options.json === true) terminal.out(`${JSON.stringify({ endpoints: rows.length, changed })}\n`)
        else terminal.out(`${rows.length} endpoints: ${changed} sealed anew, ${rows.length - changed} were already.\n`)
      } catch (error) {
        throw error instanceof CliError ? error : new CliError(error instanceof Error ? error.message : String(error))
      } finally {
        await sql.end({ timeout: 1 })
      }
    })
}

function boxOf(env: Env, name: 'SECRET_KEY' | 'SECRET_KEY_OLD'): SecretBox {
  const key = parseSecretKey(env[name] ?? '')
  if (key === null)
    throw new UsageError(`Cannot change the key: ${name} is not set, or not 32 bytes in hexadecimal or base64.`)
  return new SecretBox(key)
}
