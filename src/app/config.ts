import { DAY_MS } from '../lib/duration.ts'

/** How the service runs; read once at start, never changed. A limit's unit is the last word of its name. */
export type Config = {
  readonly port: number
  readonly host: string
  /** null: the service starts a PostgreSQL of its own in `dataDir`. */
  readonly databaseUrl: string | null
  readonly dataDir: string
  /** null only without a DATABASE_URL: then it is made and kept in `dataDir` (src/app/secrets.ts). */
  readonly portalToken: string | null
  /** 32 bytes; null as for `portalToken`. */
  readonly secretKey: Uint8Array | null
  readonly logLevel: LogLevel
  readonly environment: Environment
  /** `host:port`, lower case: receivers that are exempt from the public-address and https rules. */
  readonly webhookAllowHosts: readonly string[]
  readonly limits: Limits
}

export type Limits = { readonly [name in keyof typeof LIMITS]: number }

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export const ENVIRONMENTS = ['development', 'test', 'production'] as const
export type Environment = (typeof ENVIRONMENTS)[number]

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
  /** How long a write is queued while the database is unavailable. */
  queuedMsMax: { variable: 'HELD_MS_MAX', fallback: 5_000, min: 100, max: 60_000 },
} as const satisfies Record<string, { variable: string; fallback: number; min: number; max: number }>

export const PORTAL_TOKEN_LENGTH_MIN = 32
export const SECRET_KEY_BYTES = 32

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
  const databaseUrl = read(env, 'DATABASE_URL', faults, parseDatabaseUrl)
  const environment = read(env, 'NODE_ENV', faults, (text) => oneOf(ENVIRONMENTS, text)) ?? 'development'
  const webhookAllowHosts = read(env, 'WEBHOOK_ALLOW_HOSTS', faults, parseAllowHosts) ?? []
  if (env['WEBHOOK_ALLOW_HOSTS'] && environment === 'production') {
    faults.push(
      'WEBHOOK_ALLOW_HOSTS is not allowed when NODE_ENV is production, because it disables the webhook safety rules: remove one of them.',
    )
  }
  const config: Config = {
    port: read(env, 'PORT', faults, (text) => wholeNumber(text, { min: 0, max: 65_535 })) ?? 3000,
    host: read(env, 'HOST', faults, parseHost) ?? '127.0.0.1',
    databaseUrl,
    dataDir: env['DATA_DIR'] || './data',
    portalToken: read(env, 'PORTAL_TOKEN', faults, parsePortalToken),
    secretKey: read(env, 'SECRET_KEY', faults, parseSecretKey),
    logLevel: read(env, 'LOG_LEVEL', faults, (text) => oneOf(LOG_LEVELS, text)) ?? 'info',
    environment,
    webhookAllowHosts,
    limits: readLimits(env, faults),
  }
  if (env['DATABASE_URL']) {
    // Secrets in the data folder of one process would not work for a database that several processes may share.
    for (const name of ['PORTAL_TOKEN', 'SECRET_KEY'] as const) {
      if (!env[name]) faults.push(`${name} is required when DATABASE_URL is set: use ${WHAT_PASSES[name]}.`)
    }
  }
  if (faults.length > 0) throw new ConfigError(faults)
  return Object.freeze(config)
}

/** What a value must be, to complete "use …". */
const WHAT_PASSES = {
  DATABASE_URL: 'a URL such as postgres://user:password@host:5432/database',
  PORTAL_TOKEN: `at least ${PORTAL_TOKEN_LENGTH_MIN} visible ASCII characters without spaces`,
  SECRET_KEY: `${SECRET_KEY_BYTES} random bytes as ${2 * SECRET_KEY_BYTES} hexadecimal digits or in base64 (openssl rand -hex ${SECRET_KEY_BYTES})`,
  PORT: 'a whole number from 0 to 65535',
  HOST: 'a host name or an address to listen on, such as 127.0.0.1 or 0.0.0.0',
  LOG_LEVEL: `one of ${LOG_LEVELS.join(', ')}`,
  NODE_ENV: `one of ${ENVIRONMENTS.join(', ')}`,
  WEBHOOK_ALLOW_HOSTS: 'comma-separated host:port pairs, such as localhost:9000,[::1]:9000',
} as const

type Variable = keyof typeof WHAT_PASSES

/** Values that must not be seen in a log; a URL holds a password. */
const SECRET: ReadonlySet<Variable> = new Set(['DATABASE_URL', 'PORTAL_TOKEN', 'SECRET_KEY'])

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

function parseDatabaseUrl(text: string): string | null {
  const url = URL.parse(text)
  return url !== null && ['postgres:', 'postgresql:'].includes(url.protocol) && url.hostname !== '' ? text : null
}

/** The token travels in a header: visible ASCII only. */
export function parsePortalToken(text: string): string | null {
  return text.length >= PORTAL_TOKEN_LENGTH_MIN && /^[\x21-\x7e]+$/.test(text) ? text : null
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
