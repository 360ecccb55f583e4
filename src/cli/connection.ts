import { join } from 'node:path'
import { readServiceFile } from '../app/service-file.ts'
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

/**
 * The address of the service and the token of its portal: from options, then the environment, then the files that a local service with
 * the built-in database keeps in `DATA_DIR`. The token of that file is only ever sent to this machine: a wrong `--url` must not give it away.
 * @throws UsageError when something is missing
 */
export function connectionOf(options: ConnectionOptions, env: Env): Connection {
  const dataDir = env['DATA_DIR'] || './data'
  const url = urlOf(options.url ?? env['NIGHTLEDGER_URL'] ?? localUrl(dataDir, env))
  const given = options.token ?? (env['PORTAL_TOKEN'] || undefined)
  if (given !== undefined) return { url: url.href.replace(/\/$/, ''), token: given }
  const tokenFile = join(dataDir, 'portal-token')
  const token = isThisMachine(url) ? readIfPresent(tokenFile) : null
  if (token !== null) return { url: url.href.replace(/\/$/, ''), token }
  throw new UsageError(
    isThisMachine(url)
      ? `Cannot connect to the service: no portal token. Set PORTAL_TOKEN, use --token, or start the service on this machine first (it stores its token in ${tokenFile}).`
      : `Cannot connect to ${url.host}: set PORTAL_TOKEN or use --token. The local service's token is never sent to other machines.`,
  )
}

function localUrl(dataDir: string, env: Env): string {
  return readServiceFile(dataDir)?.url ?? `http://127.0.0.1:${env['PORT'] || '3000'}`
}

function urlOf(text: string): URL {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new UsageError(`Cannot connect to the service: ${JSON.stringify(text)} is not an http or https URL.`)
  return url
}

function isThisMachine({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}
