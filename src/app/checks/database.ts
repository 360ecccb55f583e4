import { reasonOf } from '../../lib/reason-of.ts'
import { readServerFaults } from '../../postgres/client/check-server.ts'
import { hostText, parseDatabaseUrl } from '../../postgres/client/database-url.ts'
import { openSocket } from '../../postgres/client/open-socket.ts'
import { onServer, UnreachableError } from '../open-database.ts'
import { type Check, type Finding, failure, ok, warning } from './check.ts'

/** Whether the service can log in, and whether a start would accept the server. Connects as a start does. */
export const database: Check = {
  name: 'database',
  run: async ({ config }) => {
    try {
      const { faults, version } = await onServer('DATABASE_URL', config.databaseUrl ?? '', readServerFaults)
      if (faults.length === 0)
        return [
          ...(await absent(config.databaseUrl ?? '')),
          ok(`PostgreSQL ${version} accepts writes, and acknowledged writes are durable (fsync, synchronous_commit).`),
        ]
      return faults.map((fault) =>
        failure(fault, 'Change it in postgresql.conf and restart PostgreSQL, or set DATABASE_URL to another server.'),
      )
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error
      return [
        failure(
          error.message,
          'Try `psql "$DATABASE_URL" -c "select 1"` here, and `systemctl status postgresql` on the database host.',
        ),
      ]
    }
  },
}

const CONNECT_MS_MAX = 2_000

/** Of several hosts, those that accept no connection: the service uses the primary, and does not notice the others. */
async function absent(databaseUrl: string): Promise<readonly Finding[]> {
  const hosts = parseDatabaseUrl(databaseUrl)?.hosts ?? []
  if (hosts.length < 2) return []
  const failures = await Promise.all(
    hosts.map((host) =>
      openSocket(host, { encryption: null, timeoutMs: CONNECT_MS_MAX }).then(
        (socket) => void socket.destroy(),
        (error: unknown) => ({ host, reason: reasonOf(error) }),
      ),
    ),
  )
  return failures
    .filter((one) => one !== undefined)
    .map(({ host, reason }) =>
      warning(
        `The host ${hostText(host)} of DATABASE_URL accepts no connection: ${reason}.`,
        'Start PostgreSQL there (`systemctl status postgresql`), or remove the host from DATABASE_URL.',
      ),
    )
}
