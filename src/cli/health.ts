import type { Command } from 'commander'
import { reasonOf } from '../lib/reason-of.ts'
import { serviceUrl } from './connection.ts'
import { CliError, EXIT } from './exit-codes.ts'
import type { Terminal } from './terminal.ts'

const DEADLINE_MS = 3_000

/** `health`: the readiness probe for where there is no shell and no curl, such as a container's HEALTHCHECK. */
export function health(program: Command, terminal: Terminal): void {
  program
    .command('health')
    .summary('check whether the service can take bookings; exit code 1 if not, 4 if it does not answer')
    .option('--alive', 'check only whether the process answers, regardless of the database')
    .option('--url <url>', 'address of the service (default: NIGHTLEDGER_URL, or the local service)')
    .action(async (options: { alive?: boolean; url?: string }) => {
      const url = serviceUrl(options, terminal.env, { isPublic: false })
      const { status, text } = await ask(`${url}/${options.alive === true ? 'healthz' : 'readyz'}`)
      if (status !== 200) throw new CliError(`The service at ${url} is not ready: ${status} ${text}`)
      terminal.out(`${text}\n`)
    })
}

async function ask(url: string): Promise<{ status: number; text: string }> {
  try {
    const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(DEADLINE_MS) })
    return { status: response.status, text: await response.text() }
  } catch (error) {
    throw new CliError(`Cannot reach the service at ${url}: ${reasonOf(error)}`, EXIT.unreachable)
  }
}
