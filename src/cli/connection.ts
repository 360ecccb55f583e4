import { join } from 'node:path'
import { readServiceFile } from '../app/service-file.ts'
import { localUrl } from '../lib/local-url.ts'
import { readIfPresent } from '../lib/private-file.ts'
import { UsageError } from './exit-codes.ts'

export interface ConnectionOptions {
  readonly url?: string | undefined
  readonly token?: string | undefined
}

export interface Connection {
  /** Without a slash at its end. */
  readonly url: string
  readonly token: string
}

type Env = Readonly<Record<string, string | undefined>>

/** As `TOKEN_PREFIX` and `KEY_PREFIX` in the catalogue: served where partners and people are, which is never ADMIN_PORT. */
const OF_AGENCY = /^(?:hp_live|hr_live|hr_test)_/

/** As `TOKEN_PREFIX` in the catalogue: the token is one of an agency, and not the operator's. */
const ACCESS_TOKEN = /^hp_live_/

export function isAccessToken(token: string): boolean {
  return ACCESS_TOKEN.test(token)
}

/**
 * The address of the service and a token of its portal: from options, then the environment, then the files that a local service with
 * the built-in database keeps in `DATA_DIR`. The token of that file is only ever sent to this machine: a wrong `--url` must not give it away.
 * @throws UsageError when something is missing
 */
export function connectionOf(options: ConnectionOptions, env: Env): Connection {
  const dataDir = env['DATA_DIR'] || './data'
  const given = options.token ?? (env['PORTAL_TOKEN'] || undefined)
  const url = serviceUrl(options, env, { isPublic: given !== undefined && OF_AGENCY.test(given) })
  if (given !== undefined) return { url, token: tokenIn(given) }
  const tokenFile = join(dataDir, 'portal-token')
  const { hostname, host } = new URL(url)
  const token = isThisMachine(hostname) ? readIfPresent(tokenFile) : null
  if (token !== null) return { url, token: tokenIn(token) }
  throw new UsageError(
    isThisMachine(hostname)
      ? `Cannot connect to the service: no portal token. Set PORTAL_TOKEN, use --token, or start the service on this machine first (it stores its token in ${tokenFile}).`
      : `Cannot connect to ${host}: set PORTAL_TOKEN or use --token. The local service's token is never sent to other machines.`,
  )
}

/**
 * The address of the service, without a slash at its end.
 * @param options.isPublic where access tokens and API keys are accepted; otherwise where the operator's token is, and the probes are.
 * The two differ only with ADMIN_PORT
 * @throws UsageError when the address that was given is none
 */
export function serviceUrl({ url }: ConnectionOptions, env: Env, { isPublic }: { isPublic: boolean }): string {
  const text = url ?? (env['NIGHTLEDGER_URL'] || urlOnThisMachine(env, isPublic))
  const parsed = URL.parse(text)
  if (parsed === null || !['http:', 'https:'].includes(parsed.protocol))
    throw new UsageError(`Cannot connect to the service: ${JSON.stringify(text)} is not an http or https URL.`)
  return parsed.href.replace(/\/$/, '')
}

/** Of a service that has left its address in `DATA_DIR`, or has the same environment. */
function urlOnThisMachine(env: Env, isPublic: boolean): string {
  const running = readServiceFile(env['DATA_DIR'] || './data')
  if (running !== null) return isPublic ? running.url : running.adminUrl
  const adminPort = env['ADMIN_PORT']
  if (!isPublic && adminPort) return localUrl(env['ADMIN_HOST'] || '127.0.0.1', adminPort)
  return localUrl('127.0.0.1', env['PORT'] || '3000')
}

/** While the operator's token is being changed, PORTAL_TOKEN holds two. */
function tokenIn(text: string): string {
  const [first = text] = text.split(',')
  return first
}

function isThisMachine(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}
