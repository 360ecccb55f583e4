/** The servers of one DATABASE_URL, shared by all of the process's connections to them. */
import type net from 'node:net'
import postgres from 'postgres'
import { pooled } from './client-pool.ts'
import { type DatabaseUrl, DatabaseUrlError, type Host, parseDatabaseUrl } from './database-url.ts'
import { openSocket, startSocket } from './open-socket.ts'
import { type HostState, PROBE_MS_MAX, Primary } from './primary.ts'

type Options = postgres.Options<Record<string, postgres.PostgresType>>

interface ClientOptions extends Options {
  readonly connect_timeout: number
  readonly onclose: () => void
  /** Called when its server is no longer the primary. */
  readonly onReplaced: () => void
}

/**
 * What was measured to recover within milliseconds of a killed connection (docs/decisions.md#postgresql-and-its-driver). `fetch_types: false` saves
 * every connection a round trip, made in a promise that nothing handles. The cost: no array parameters or array results; JSON
 * text is sent and jsonb selected instead.
 */
const OPTIONS: Options = {
  max: 1,
  backoff: () => 0.02,
  fetch_types: false,
  idle_timeout: 0,
  max_lifetime: null,
}

interface Target {
  /** Null: there is one host, and connections go to it whatever it is. */
  readonly primary: Primary | null
  /** A postgres.js client of one connection. */
  client(options: ClientOptions): postgres.Sql
}

const TARGETS = new Map<string, Target>()

/** @throws DatabaseUrlError when the text is not such a URL */
export function targetOf(text: string): Target {
  let target = TARGETS.get(text)
  if (target === undefined) {
    const url = parseDatabaseUrl(text)
    if (url === null) throw new DatabaseUrlError('is not a URL such as postgres://user:password@host:5432/database.')
    target = makeTarget(url)
    TARGETS.set(text, target)
  }
  return target
}

function makeTarget(url: DatabaseUrl): Target {
  const [only, another] = url.hosts
  const primary = another === undefined ? null : new Primary({ hosts: url.hosts, probe: (host) => probe(url, host) })
  if (primary === null) return { primary, client: (options) => clientOf(url, only as Host, options) }
  return {
    primary,
    client: ({ onReplaced, onclose, ...options }) => {
      let stopFollowing = (): void => {}
      const host = async (): Promise<Host> => {
        const found = await primary.host()
        stopFollowing = primary.onMoved(onReplaced)
        return found
      }
      const closed = (): void => {
        stopFollowing()
        onclose()
      }
      return clientOf(url, host, { ...options, onclose: closed })
    },
  }
}

function clientOf(
  { url, tls }: DatabaseUrl,
  host: Host | (() => Promise<Host>),
  options: Omit<ClientOptions, 'onReplaced'>,
): postgres.Sql {
  const timeoutMs = options.connect_timeout * 1_000
  const open = (at: Host): Promise<net.Socket> => openSocket(at, { encryption: tls, timeoutMs })
  const target =
    typeof host === 'function'
      ? { socket: async () => open(await host()) }
      : // What errors name without a socket. Lists, because postgres.js would take an address with colons apart.
        { socket: () => (tls === null ? startSocket(host) : open(host)), host: [host.name], port: [host.port] }
  return postgres(url, { ...OPTIONS, ...options, ssl: false, ...target } as unknown as Options)
}

/** A write-ahead log is named after its timeline, in the first 8 of its hexadecimal digits. */
async function probe(url: DatabaseUrl, host: Host): Promise<HostState> {
  const limits = { size: 1, pipelined: 1, runMsMax: PROBE_MS_MAX, deadlineMs: PROBE_MS_MAX }
  const connection = { application_name: 'nightledger primary' }
  const options = { connect_timeout: PROBE_MS_MAX / 1_000, connection, onnotice: () => {} }
  const sql = pooled(({ onClose }) => clientOf(url, host, { ...options, onclose: onClose }), limits)
  try {
    const [row] = await sql<{ isStandby: boolean; isReadOnly: boolean; timeline: string | null }[]>`
      select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only')::boolean as "isReadOnly",
             case when not pg_is_in_recovery() then substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) end as "timeline"`
    if (row === undefined) throw new Error('Cannot tell what the server is: it did not answer')
    if (row.isStandby || row.timeline === null) return { kind: 'standby' }
    return row.isReadOnly ? { kind: 'read_only' } : { kind: 'primary', timeline: Number.parseInt(row.timeline, 16) }
  } catch (cause) {
    return { kind: 'failed', cause }
  } finally {
    void Promise.allSettled([sql.end({ timeout: 0 })])
  }
}
