import { JOURNAL_LAG } from '../../http/server/health.ts'
import { localUrl } from '../../lib/local-url.ts'
import { reasonOf } from '../../lib/reason-of.ts'
import type { Config } from '../config.ts'
import { readServiceFile } from '../service-file.ts'
import { type Check, type Finding, failure, ok, skipped, warning } from './check.ts'

const ANSWER_MS_MAX = 3_000

/** What the service on this machine reports, if it is running. */
export const service: Check = {
  name: 'service',
  run: async ({ config }) => {
    const url = addressOf(config)
    if (url === null) return [skipped('PORT or ADMIN_PORT is 0: the actual port is unknown.')]
    try {
      const response = await fetch(`${url}/readyz`, { redirect: 'manual', signal: AbortSignal.timeout(ANSWER_MS_MAX) })
      return [findingOf(url, response.status, readinessIn(await response.text()))]
    } catch (error) {
      return [unanswered(url, error)]
    }
  },
}

/** Where probes are served; null: the operating system chose the port. */
function addressOf({ databaseUrl, dataDir, host, port, admin }: Config): string | null {
  const running = databaseUrl === null ? readServiceFile(dataDir) : null
  if (running !== null) return running.adminUrl
  const address = admin ?? { host, port }
  return address.port === 0 ? null : localUrl(address.host, address.port)
}

function readinessIn(text: string): readonly string[] | null {
  try {
    const { status, faults } = JSON.parse(text) as { status?: unknown; faults?: unknown }
    return ['ready', 'not ready'].includes(String(status)) && Array.isArray(faults) ? faults.map(String) : null
  } catch {
    return null
  }
}

function findingOf(url: string, status: number, faults: readonly string[] | null): Finding {
  if (faults === null)
    return failure(
      `Another program listens at ${url}: it answers ${status} to /readyz.`,
      'Stop that program, or set PORT or ADMIN_PORT to a free port.',
    )
  const [first = ''] = faults
  if (status === 200) return ok(`The service at ${url} takes bookings.`)
  if (first.startsWith('standby')) return ok(`The service at ${url} is a standby: another process takes bookings.`)
  if (first === 'starting')
    return warning(
      `The service at ${url} is starting.`,
      'Run `nightledger doctor` again; if it keeps starting, the last line of its log says what it waits for.',
    )
  const found = `The service at ${url} takes no bookings: ${faults.join('; ')}.`
  // A start writes as well: it would wait, and answer no reads meanwhile.
  if (faults.every((fault) => fault.startsWith(JOURNAL_LAG)))
    return failure(
      found,
      'Do not restart it. Fix the database findings above. If there are none, look for a full or slow disk, and for locks, at the database: ' +
        'NightledgerJournalLag in docs/operating/alerts.md has the statement.',
    )
  return failure(
    found,
    'Fix the database findings above. If there are none, restart the service: it takes over or becomes the standby.',
  )
}

function unanswered(url: string, error: unknown): Finding {
  if (error instanceof Error && error.name === 'TimeoutError')
    return failure(
      `The service at ${url} has not answered within ${ANSWER_MS_MAX / 1_000} s.`,
      'Restart it, or take over from it with a second process: `nightledger serve --take-over`.',
    )
  if (!isRefused(error))
    return failure(
      `Cannot query ${url}: another program listens there, or it is unreachable: ${reasonOf(error)}`,
      'Stop the program that listens there, or set PORT, HOST, ADMIN_PORT or ADMIN_HOST to a free address of this machine.',
    )
  return warning(
    `No service answers at ${url}: nothing listens there.`,
    'Start it, with `systemctl start nightledger`, `docker compose up` or `nightledger serve`.',
  )
}

function isRefused(error: unknown): boolean {
  return error instanceof Error && 'code' in error && ['ConnectionRefused', 'ECONNREFUSED'].includes(String(error.code))
}
