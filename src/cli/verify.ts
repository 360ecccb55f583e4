import type { Command } from 'commander'
import { isDatabaseFailure } from '../lib/deadline.ts'
import { connect } from '../postgres/client/connect.ts'
import { PostgresChainKeys } from '../postgres/stores/postgres-chain-keys.ts'
import { PostgresVerifyStore } from '../postgres/stores/postgres-verify-store.ts'
import type { Difference, Verification } from '../verify/findings.ts'
import { VERIFICATION_MS_MAX } from '../verify/verification-process.ts'
import { verify } from '../verify/verify.ts'
import { databaseUrl, secretKeyFor } from './database.ts'
import { CliError, EXIT, RefusedError } from './exit-codes.ts'
import { type Session, serviceCommand } from './session.ts'
import { type Columns, table } from './table.ts'
import type { Terminal } from './terminal.ts'

const COLUMNS: Columns<Difference> = { WHAT: 'what', UNIT: 'unitId', AT: 'at', DIFFERENCE: 'message' }

/** `verify`: checks a running service, with its actors in memory, or a database alone. Exits non-zero on a difference. */
export function verifyCommand(program: Command, terminal: Terminal): void {
  serviceCommand<{ database?: true }>(
    program,
    {
      name: 'verify',
      summary:
        'verify the journal, and all derived data against it; exit code 1 if anything differs, 4 without a result',
      isOfAll: true,
      options: (command) =>
        command.option(
          '--database',
          'read the database at MIGRATION_DATABASE_URL or DATABASE_URL, with SECRET_KEY, instead of asking the service; for a database without a running service',
        ),
      examples: ['verify', 'verify --json', 'verify --database'],
    },
    terminal,
    async (session, { options }) => {
      const verification = await (options.database === true ? ofDatabase(terminal) : ofService(session)).catch(noResult)
      if (session.isJson) session.printJson({ verification })
      else report(verification, terminal)
      const { differenceCount: n } = verification
      if (n > 0) throw new CliError(`${n} ${n === 1 ? 'thing differs' : 'things differ'} from the journal`)
    },
  )
}

/** For scripts, a ledger that was not verified must not look like one that differs. */
function noResult(error: unknown): never {
  if (error instanceof RefusedError && error.exitCode === EXIT.failure)
    throw new RefusedError(error.status, error.body, EXIT.unreachable)
  if (error instanceof CliError)
    throw error.exitCode === EXIT.failure ? new CliError(error.message, EXIT.unreachable) : error
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  throw new CliError(`Cannot verify: ${isDatabaseFailure(error) ? message : (stack ?? message)}`, EXIT.unreachable)
}

async function ofService(session: Session): Promise<Verification> {
  const answer = await session.client.get('/verification', { deadlineMs: VERIFICATION_MS_MAX + 10_000 })
  return answer['verification'] as Verification
}

async function ofDatabase(terminal: Terminal): Promise<Verification> {
  const url = databaseUrl(terminal, 'Cannot verify: DATABASE_URL is not set.')
  const sql = connect(url, { purpose: 'verification' })
  try {
    const chainKeys = await new PostgresChainKeys(sql, await secretKeyFor(sql, terminal, 'Cannot verify')).read()
    return await verify(new PostgresVerifyStore(sql), {
      chainKeys,
      onProgress: (units) => terminal.err(`${units} units\n`),
    })
  } finally {
    await sql.end({ timeout: 1 })
  }
}

function report(
  { differences, differenceCount, entries, units, bookings, snapshots, events }: Verification,
  terminal: Terminal,
): void {
  terminal.out(
    `Checked ${entries} journal entries: ${units} units, ${bookings} bookings, ${snapshots} snapshots, ${events} events.\n`,
  )
  if (differences.length === 0) terminal.out('Everything agrees with the journal.\n')
  else terminal.out(table(differences, COLUMNS))
  if (differenceCount > differences.length) terminal.out(`Only the first ${differences.length} are listed.\n`)
}
