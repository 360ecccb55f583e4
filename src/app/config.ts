import { availableParallelism } from 'node:os'
import { parseNetworks } from '../accounts/client-address.ts'
import { RETENTION, type Retention } from '../accounts/retention.ts'
import { CLUSTER_VALUES, type ClusterConfig, readClusterConfig } from '../cluster/cluster-config.ts'
import { OUTCOME_KNOWN_MS_MAX } from '../core/bookings/booking-turns.ts'
import { DAY_MS } from '../lib/clock.ts'
import type { TraceSettings } from '../lib/tracer.ts'
import { DatabaseUrlError, isSameDatabase, parseDatabaseUrl } from '../postgres/client/database-url.ts'
import { readSignInConfig, SIGN_IN_VALUES, type SignInConfig } from './sign-in-config.ts'
import { readTracesConfig, TRACES_DEFAULTS, TRACES_VALUES } from './traces-config.ts'
import { unknownVariables } from './unknown-variables.ts'

/** How the service runs; read once at start, never changed. A limit's unit is the last word of its name. */
export type Config = {
  readonly port: number
  readonly host: string
  /** Where probes, metrics and the operator's token are served instead of on `port`; null: all on `port`. */
  readonly admin: { readonly port: number; readonly host: string } | null
  /** Addresses and networks (CIDR) whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[]
  /** null: the service starts a PostgreSQL of its own in `dataDir`. */
  readonly databaseUrl: string | null
  /** The same database as the owner of its tables, who migrates it at the start; null: the user of `databaseUrl` does. */
  readonly migrationDatabaseUrl: string | null
  /** Whether a start is refused when commits do not wait for a standby. */
  readonly requireSynchronousStandby: boolean
  readonly dataDir: string
  /** As `parsePortalTokens` returns them. null only without a DATABASE_URL: then one is made and kept in `dataDir` (src/app/secrets.ts). */
  readonly portalTokens: readonly string[] | null
  /** Origin of the page, as people open it; null: localhost on the port. Passkeys are bound to it. */
  readonly publicUrl: string | null
  /** 32 bytes; null as for `portalTokens`. */
  readonly secretKey: Uint8Array | null
  /** Where erasures are written down outside the database; null: nowhere. */
  readonly erasuresFile: string | null
  readonly logLevel: LogLevel
  readonly environment: Environment
  /** `host:port`, lower case: receivers that are exempt from the public-address and https rules. */
  readonly webhookAllowHosts: readonly string[]
  readonly signIn: SignInConfig
  /** Processes that serve on this machine, under a parent; 1: this process alone. */
  readonly workers: number
  /** Whether each of them also listens on a port of its own, for a proxy that knows which one owns an agency: those that follow `port`. */
  readonly workerPorts: boolean
  /** null: this process is the only one that serves. */
  readonly cluster: ClusterConfig | null
  /** null: tracing is off. */
  readonly traces: TraceSettings | null
  readonly limits: Limits
}

type Limits = { readonly [name in keyof typeof LIMITS]: number }

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

const ENVIRONMENTS = ['development', 'test', 'production'] as const
type Environment = (typeof ENVIRONMENTS)[number]

/** The limits that the environment can set, with their defaults. */
export const LIMITS = {
  /** Unit actors kept in memory at once. */
  residentUnitsMax: { variable: 'RESIDENT_UNITS_MAX', fallback: 20_000, min: 1, max: 10_000_000 },
  /** Idle time before a unit is evicted. */
  unitIdleMs: { variable: 'UNIT_IDLE_MS', fallback: 600_000, min: 1_000, max: DAY_MS },
  /** Commands that wait for one unit. */
  mailboxMax: { variable: 'MAILBOX_MAX', fallback: 256, min: 1, max: 100_000 },
  /** Entries that wait for the journal. */
  journalWaitingMax: { variable: 'JOURNAL_WAITING_MAX', fallback: 8_192, min: 1, max: 1_000_000 },
  /** Entries of one group commit. */
  journalBatchMax: { variable: 'JOURNAL_BATCH_MAX', fallback: 512, min: 1, max: 10_000 },
  /** Events of a unit between two of its snapshots. */
  snapshotEvery: { variable: 'SNAPSHOT_EVERY', fallback: 64, min: 1, max: 100_000 },
  /**
   * How long a write is queued while the database is unavailable. Well below the time after which a caller is told that the outcome is
   * unknown: the journal then has refused what it never sent, and no connection was closed as idle.
   */
  queuedMsMax: { variable: 'HELD_MS_MAX', fallback: 5_000, min: 100, max: OUTCOME_KNOWN_MS_MAX - 5_000 },
  /** Requests of one access token of the portal. */
  portalRequestsPerMinute: { variable: 'PORTAL_REQUESTS_PER_MINUTE', fallback: 3_000, min: 60, max: 1_000_000 },
  /** What agencies keep that have not set it themselves (docs/operating.md#retention). */
  retainBookingYears: retained('RETAIN_BOOKING_YEARS', 'bookingYears'),
  retainGuestMonths: retained('RETAIN_GUEST_MONTHS', 'guestMonths'),
  retainLogYears: retained('RETAIN_LOG_YEARS', 'logYears'),
  retainDeliveryDays: retained('RETAIN_DELIVERY_DAYS', 'deliveryDays'),
} as const satisfies Record<string, { variable: string; fallback: number; min: number; max: number }>

function retained(variable: string, name: keyof Retention) {
  const { default: fallback, minimum: min, maximum: max } = RETENTION[name]
  return { variable, fallback, min, max }
}

/** The operator's, for whatever an agency has not set. */
export function retentionOf(limits: Pick<Limits, `retain${string}` & keyof Limits>): Retention {
  return {
    bookingYears: limits.retainBookingYears,
    guestMonths: limits.retainGuestMonths,
    logYears: limits.retainLogYears,
    deliveryDays: limits.retainDeliveryDays,
  }
}

export const PORTAL_TOKEN_LENGTH_MIN = 32
const PORTAL_TOKENS_MAX = 2
export const SECRET_KEY_BYTES = 32
const LOOPBACK = '127.0.0.1'

/** Defaults. Variables that are not listed have none. */
export const DEFAULTS = {
  REQUIRE_SYNCHRONOUS_STANDBY: false,
  HOST: LOOPBACK,
  PORT: 3000,
  ADMIN_HOST: LOOPBACK,
  WORKERS: 1,
  WORKER_PORTS: false,
  OIDC_ONLY: false,
  DATA_DIR: './data',
  LOG_LEVEL: 'info',
  NODE_ENV: 'development',
  ...TRACES_DEFAULTS,
} as const satisfies Partial<Record<Variable, string | number | boolean>>

/** The environment does not describe a service that can run. The message names every invalid variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  constructor(readonly faults: readonly string[]) {
    super(
      `Cannot start: ${faults.length === 1 ? 'an environment variable is' : `${faults.length} environment variables are`} invalid.\n${faults.map((fault) => `- ${fault}`).join('\n')}`,
    )
  }
}

type Env = Readonly<Record<string, string | undefined>>

/**
 * Reads and checks the whole environment at once. An empty variable counts as not set.
 * @throws ConfigError naming every invalid variable and what is accepted
 */
export function readConfig(env: Env): Config {
  const faults: string[] = []
  const databaseUrl = readDatabaseUrl(env, 'DATABASE_URL', faults)
  const environment = read(env, 'NODE_ENV', faults, (text) => oneOf(ENVIRONMENTS, text)) ?? DEFAULTS.NODE_ENV
  const webhookAllowHosts = read(env, 'WEBHOOK_ALLOW_HOSTS', faults, parseAllowHosts) ?? []
  if (env['WEBHOOK_ALLOW_HOSTS'] && environment === 'production') {
    faults.push(
      'WEBHOOK_ALLOW_HOSTS is not allowed when NODE_ENV is production, because it disables the webhook safety rules: remove one of them.',
    )
  }
  const port = read(env, 'PORT', faults, parsePort) ?? DEFAULTS.PORT
  const config: Config = {
    port,
    host: read(env, 'HOST', faults, parseHost) ?? DEFAULTS.HOST,
    admin: readAdmin(env, port, faults),
    trustedProxies: read(env, 'TRUSTED_PROXIES', faults, parseTrustedProxies) ?? [],
    databaseUrl,
    migrationDatabaseUrl: readMigrationUrl(env, databaseUrl, faults),
    requireSynchronousStandby:
      read(env, 'REQUIRE_SYNCHRONOUS_STANDBY', faults, parseSwitch) ?? DEFAULTS.REQUIRE_SYNCHRONOUS_STANDBY,
    dataDir: read(env, 'DATA_DIR', faults, (text) => text) ?? DEFAULTS.DATA_DIR,
    portalTokens: read(env, 'PORTAL_TOKEN', faults, parsePortalTokens),
    publicUrl: read(env, 'PUBLIC_URL', faults, parsePublicUrl),
    secretKey: read(env, 'SECRET_KEY', faults, parseSecretKey),
    erasuresFile: read(env, 'ERASURES_FILE', faults, (text) => text),
    logLevel: read(env, 'LOG_LEVEL', faults, (text) => oneOf(LOG_LEVELS, text)) ?? DEFAULTS.LOG_LEVEL,
    environment,
    webhookAllowHosts,
    signIn: readSignInConfig(env, faults, (name, parse) => read(env, name, faults, parse)),
    workers: read(env, 'WORKERS', faults, parseWorkers) ?? DEFAULTS.WORKERS,
    workerPorts: read(env, 'WORKER_PORTS', faults, parseSwitch) ?? DEFAULTS.WORKER_PORTS,
    cluster: readClusterConfig(env, faults, (name, parse) => read(env, name, faults, parse)),
    traces: readTracesConfig((name, parse) => read(env, name, faults, parse)),
    limits: readLimits(env, faults),
  }
  if (config.workerPorts || (config.cluster !== null && config.workers > 1)) checkWorkerPorts(config, faults)
  if (config.requireSynchronousStandby && !env['DATABASE_URL'])
    faults.push('REQUIRE_SYNCHRONOUS_STANDBY is set, but DATABASE_URL is not: the built-in PostgreSQL has no standby.')
  if (env['DATABASE_URL']) {
    // Secrets in the data folder of one process would not work for a database that several processes may share.
    for (const name of ['PORTAL_TOKEN', 'SECRET_KEY'] as const) {
      if (!env[name]) faults.push(`${name} is required when DATABASE_URL is set: use ${WHAT_PASSES[name]}.`)
    }
  }
  faults.push(...unknownVariables(env, VARIABLES))
  if (faults.length > 0) throw new ConfigError(faults)
  return Object.freeze(config)
}

/** What a value must be, to complete "use …". */
const WHAT_PASSES = {
  DATABASE_URL: 'a URL such as postgres://user:password@host:5432/database, with several hosts as host:5432,other:5432',
  MIGRATION_DATABASE_URL: 'the URL of the same database as DATABASE_URL, with the owner of its tables as the user',
  REQUIRE_SYNCHRONOUS_STANDBY: 'true or false',
  PORTAL_TOKEN: `at least ${PORTAL_TOKEN_LENGTH_MIN} visible ASCII characters without spaces or commas, or two such tokens separated by a comma`,
  SECRET_KEY: `${SECRET_KEY_BYTES} random bytes as ${2 * SECRET_KEY_BYTES} hexadecimal digits or in base64 (openssl rand -hex ${SECRET_KEY_BYTES})`,
  PUBLIC_URL:
    'the origin of the page, such as https://bookings.example.com, or http://localhost:3000 on the same machine',
  PORT: 'a whole number from 0 to 65535',
  HOST: 'a host name or an address to listen on, such as 127.0.0.1 or 0.0.0.0',
  ADMIN_PORT: 'a whole number from 0 to 65535',
  ADMIN_HOST: 'a host name or an address to listen on, such as 127.0.0.1 or 0.0.0.0',
  TRUSTED_PROXIES:
    'comma-separated addresses, or networks that are not all addresses, such as 127.0.0.1,10.0.0.0/8,fd00::/8',
  WORKERS: 'auto, or a whole number from 1 to 64',
  WORKER_PORTS: 'true or false',
  DATA_DIR: 'the path of a folder',
  ERASURES_FILE: 'the path of a file',
  LOG_LEVEL: `one of ${LOG_LEVELS.join(', ')}`,
  NODE_ENV: `one of ${ENVIRONMENTS.join(', ')}`,
  WEBHOOK_ALLOW_HOSTS: 'comma-separated host:port pairs, such as localhost:9000,[::1]:9000',
  ...SIGN_IN_VALUES,
  ...CLUSTER_VALUES,
  ...TRACES_VALUES,
} as const

type Variable = keyof typeof WHAT_PASSES

/** Every variable that the service reads. */
export const VARIABLES: readonly string[] = [
  ...Object.keys(WHAT_PASSES),
  ...Object.values(LIMITS).map(({ variable }) => variable),
]

/** Values that must not be seen in a log; a URL holds a password. */
export const SECRET: ReadonlySet<string> = new Set([
  ...([
    'DATABASE_URL',
    'MIGRATION_DATABASE_URL',
    'PORTAL_TOKEN',
    'SECRET_KEY',
    'CLUSTER_ETCD',
    'CLUSTER_SECRET',
    'OIDC_CLIENT_SECRET',
    'SMTP_URL',
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'OTEL_EXPORTER_OTLP_HEADERS',
  ] as const),
])

/** @returns null when the variable is not set, or wrong, in which case a fault is noted */
function read<T>(env: Env, name: Variable, faults: string[], parse: (text: string) => T | null): T | null {
  const text = env[name]
  if (!text) return null
  const value = parse(text)
  if (value === null) {
    faults.push(
      `${name} ${SECRET.has(name) ? 'has an invalid format' : `is ${JSON.stringify(text)}`}: use ${WHAT_PASSES[name]}.`,
    )
  }
  return value
}

/** @returns null when ADMIN_PORT is not set, or is wrong, in which case a fault is noted */
function readAdmin(env: Env, publicPort: number, faults: string[]): Config['admin'] {
  const port = read(env, 'ADMIN_PORT', faults, parsePort)
  const host = read(env, 'ADMIN_HOST', faults, parseHost)
  // Otherwise an operator would believe that /metrics is no longer served on PORT.
  if (host !== null && !env['ADMIN_PORT'])
    faults.push('ADMIN_HOST is set, but ADMIN_PORT is not: use both, or remove ADMIN_HOST.')
  if (port !== null && port !== 0 && port === publicPort)
    faults.push(`ADMIN_PORT is ${port}, like PORT: use a different port.`)
  return port === null ? null : Object.freeze({ port, host: host ?? DEFAULTS.ADMIN_HOST })
}

/** The ports that follow PORT are the workers'. */
function checkWorkerPorts({ port, workers, admin }: Config, faults: string[]): void {
  const [first, last] = [port + 1, port + workers]
  if (port === 0) faults.push("PORT is 0, but the ports after it are to be the workers' own: use a fixed port.")
  else if (last > PORT_MAX)
    faults.push(
      `PORT is ${port}, but the ${workers} ports after it are the workers': use a port of at most ${PORT_MAX - workers}.`,
    )
  else if (admin !== null && admin.port >= first && admin.port <= last)
    faults.push(`ADMIN_PORT is ${admin.port}, but ports ${first} to ${last} are the workers': use a different port.`)
}

function readLimits(env: Env, faults: string[]): Limits {
  const limits: Record<string, number> = {}
  for (const [name, limit] of Object.entries(LIMITS)) {
    const { variable, fallback } = limit
    const text = env[variable]
    const value = text ? wholeNumber(text, limit) : fallback
    if (value === null) {
      faults.push(`${variable} is ${JSON.stringify(text)}: use a whole number from ${limit.min} to ${limit.max}.`)
    }
    limits[name] = value ?? fallback
  }
  return Object.freeze(limits) as Limits
}

const PORT_MAX = 65_535

function parsePort(text: string): number | null {
  return wholeNumber(text, { min: 0, max: PORT_MAX })
}

const WORKERS_MAX = 64

/** `auto`: a core is left to PostgreSQL and the kernel. Elsewhere than on Linux, the kernel does not divide the connections of a port. */
function parseWorkers(text: string): number | null {
  const count =
    text === 'auto'
      ? Math.max(1, Math.min(WORKERS_MAX, availableParallelism() - 1))
      : wholeNumber(text, { min: 1, max: WORKERS_MAX })
  return count !== null && process.platform !== 'linux' ? 1 : count
}

function wholeNumber(text: string, { min, max }: { min: number; max: number }): number | null {
  const value = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max ? value : null
}

function oneOf<T extends string>(values: readonly T[], text: string): T | null {
  return values.find((value) => value === text) ?? null
}

function parseHost(text: string): string | null {
  return /^[\w.:-]+$/.test(text) ? text : null
}

/** @returns null when it is not set, or wrong, in which case a fault is noted */
function readDatabaseUrl(env: Env, name: 'DATABASE_URL' | 'MIGRATION_DATABASE_URL', faults: string[]): string | null {
  try {
    return read(env, name, faults, (text) => (parseDatabaseUrl(text) === null ? null : text))
  } catch (error) {
    if (!(error instanceof DatabaseUrlError)) throw error
    faults.push(`${name} ${error.message}`)
    return null
  }
}

/** @returns null when it is not set, or wrong, in which case a fault is noted */
function readMigrationUrl(env: Env, databaseUrl: string | null, faults: string[]): string | null {
  const url = readDatabaseUrl(env, 'MIGRATION_DATABASE_URL', faults)
  const wanted = WHAT_PASSES.MIGRATION_DATABASE_URL
  if (url !== null && !env['DATABASE_URL'])
    faults.push('MIGRATION_DATABASE_URL is set, but DATABASE_URL is not: use both, or remove MIGRATION_DATABASE_URL.')
  if (url !== null && databaseUrl !== null && !isSameDatabase(url, databaseUrl))
    faults.push(`MIGRATION_DATABASE_URL names another server or database than DATABASE_URL: use ${wanted}.`)
  return url
}

function parseSwitch(text: string): boolean | null {
  return text === 'true' ? true : text === 'false' ? false : null
}

/**
 * The operator's tokens, of which any is valid: the one given, or the two that are separated by a comma while the token is being
 * changed. Tokens travel in a header: visible ASCII only.
 * @returns null when a token is too short or has other characters, or when there are more than two
 */
export function parsePortalTokens(text: string): readonly string[] | null {
  const tokens = text.split(',')
  const isEach = tokens.every((token) => token.length >= PORTAL_TOKEN_LENGTH_MIN && /^[\x21-\x7e]+$/.test(token))
  return isEach && tokens.length <= PORTAL_TOKENS_MAX ? Object.freeze(tokens) : null
}

/** Browsers have passkeys over TLS, and on localhost; never for an address without a name. */
function parsePublicUrl(text: string): string | null {
  const url = URL.parse(text)
  if (url === null || (text !== url.origin && text !== url.href) || url.href !== `${url.origin}/`) return null
  const isLocal = url.hostname === 'localhost' || url.hostname.endsWith('.localhost')
  const isNamed = /[a-z]/.test(url.hostname) && !url.hostname.includes(':')
  return isNamed && (url.protocol === 'https:' || (url.protocol === 'http:' && isLocal)) ? url.origin : null
}

function parseTrustedProxies(text: string): readonly string[] | null {
  const networks = text.split(',').map((network) => network.trim())
  return parseNetworks(networks) === null ? null : Object.freeze(networks)
}

/** 64 hexadecimal digits, or base64 (either alphabet, padded or not) of 32 bytes. */
export function parseSecretKey(text: string): Uint8Array | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Uint8Array.fromHex(text)
  if (!/^[\w+/-]{43}=?$/.test(text)) return null
  return new Uint8Array(Buffer.from(text, 'base64'))
}

function parseAllowHosts(text: string): readonly string[] | null {
  const hosts = text.split(',').map((host) => host.trim().toLowerCase())
  const valid = hosts.every((host) => {
    const [, port] = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\]):(\d{1,5})$/.exec(host) ?? []
    return port !== undefined && Number(port) >= 1 && Number(port) <= 65_535
  })
  return valid ? Object.freeze(hosts) : null
}
