/** The settings that a start would use, for display: secrets are replaced by fingerprints. */
import { sha256Hex } from '../lib/ids.ts'
import { type Config, ConfigError, DEFAULTS, LIMITS, readConfig, SECRET, VARIABLES } from './config.ts'

export interface Setting {
  readonly name: string
  /** null: it is not set, and has no default. */
  readonly value: string | null
  readonly source: 'environment' | 'default' | 'not set'
}

interface Settings {
  readonly settings: readonly Setting[]
  /** Why a start would be refused, as sentences. */
  readonly faults: readonly string[]
}

type Env = Readonly<Record<string, string | undefined>>

/** Reads the environment as a start does. */
export function effectiveSettings(env: Env): Settings {
  const { config, faults } = read(env)
  const defaults = defaultsOf(config)
  const settings = VARIABLES.map((name): Setting => {
    const text = env[name]
    if (text) return { name, value: shown(name, text, config), source: 'environment' }
    const value = defaults.get(name) ?? null
    return { name, value, source: value === null ? 'not set' : 'default' }
  })
  return { settings, faults }
}

function read(env: Env): { config: Config | null; faults: readonly string[] } {
  try {
    return { config: readConfig(env), faults: [] }
  } catch (error) {
    if (error instanceof ConfigError) return { config: null, faults: error.faults }
    throw error
  }
}

function defaultsOf(config: Config | null): ReadonlyMap<string, string> {
  return new Map([
    ...Object.entries(DEFAULTS).map(([name, value]) => [name, String(value)] as const),
    ...Object.values(LIMITS).map(({ variable, fallback }) => [variable, String(fallback)] as const),
    ...(config === null ? [] : [['PUBLIC_URL', `http://localhost:${config.port}`] as const]),
  ])
}

function shown(name: string, text: string, config: Config | null): string {
  if (name === 'OTEL_EXPORTER_OTLP_ENDPOINT') return originIn(text)
  // With a name before it, a short one is as long as a key.
  if (name === 'OTEL_EXPORTER_OTLP_HEADERS') return 'set'
  if (SECRET.has(name)) return isUrl(name) ? withoutPassword(text) : fingerprints(text)
  return name === 'WORKERS' && text === 'auto' && config !== null ? `auto (${config.workers} here)` : text
}

/** Decided by name: a secret could look like a URL. */
function isUrl(name: string): boolean {
  return name.endsWith('_URL') || name === 'CLUSTER_ETCD'
}

/** A password can be short, so not even its hash is shown. In doubt, hides too much of a URL. */
function withoutPassword(text: string): string {
  if (!/^[a-z+]+:\/\//i.test(text)) return 'set'
  return text.replace(/^([^:]+:\/\/[^:@/?#]*):.*@/s, '$1:***@').replaceAll(/([?&]password=)[^&]*/gi, '$1***')
}

/** Collectors take keys as user names, in paths and in queries. */
function originIn(text: string): string {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return 'set'
  return /^\/?$/.test(url.pathname + url.search) ? url.origin : `${url.origin}/***`
}

/** A shorter secret could be guessed, and its hash would confirm the guess. */
const HASHED_LENGTH_MIN = 32

/** One per secret: two are separated by a comma while a secret is being changed. */
function fingerprints(text: string): string {
  return text
    .split(',')
    .map((secret) => (secret.length < HASHED_LENGTH_MIN ? 'set' : `sha256:${sha256Hex(secret).slice(0, 8)}`))
    .join(', ')
}
