import { programCommand } from './bundled-program.ts'
import { type HttpAnswer, type HttpCall, send } from './http-call.ts'
import { asService } from './postgres.ts'

/** `PUBLIC_URL` of services that tests start: passkeys of a test are bound to it. */
export const TEST_PAGE_URL = 'http://localhost:3000'
export const TEST_PORTAL_TOKEN = 'portal-token-for-tests-0123456789abcdef'
export const TEST_SECRET_KEY = '00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff'

/** Only bounds how long a failure takes: on a busy machine a start can take half a minute. */
const START_MS_MAX = 120_000

/** The real service in a process of its own. */
export interface ServiceProcess {
  readonly baseUrl: string
  /** Where the operator is served: `baseUrl`, unless ADMIN_PORT is set. */
  readonly adminUrl: string
  readonly pid: number
  /** From spawning to the first answer of the service, milliseconds. */
  readonly readyMs: number
  /** Everything the service has logged so far. */
  readonly log: () => string
  readonly exited: Promise<number>
  /** `path` begins at the root. */
  ask(path: string, call?: HttpCall): Promise<HttpAnswer>
  /** With the portal's token; `path` begins after `/portal/v1`. `json` makes it a POST. */
  portal(path: string, json?: object): Promise<HttpAnswer>
  kill(signal: NodeJS.Signals): void
}

/** A service that listens, and may not be ready yet. */
export type StartingService = Omit<ServiceProcess, 'readyMs'>

/**
 * Starts the service and waits until it listens; what it needs may be missing still.
 * @throws Error with the service's log when it ends before
 */
export async function startListening(
  env: Record<string, string>,
  { command = programCommand(env), takesOver = false }: Pick<StartOptions, 'command' | 'takesOver'> = {},
): Promise<StartingService> {
  const { child, log, failed } = spawn([...command, ...takeOver(takesOver)], env)
  return serviceOf(child, await Promise.race([failed, portsFrom(log, 'starting')]), log)
}

function takeOver(takesOver: boolean): string[] {
  return takesOver ? ['serve', '--take-over'] : []
}

interface StartOptions {
  /** What to run instead of the source, for example the built binary. */
  readonly command?: string[]
  /** Fences out the present writer at once; without it, the service waits for its turn. */
  readonly takesOver?: boolean
  readonly cwd?: string
}

/**
 * Starts the service and waits for its first answer.
 * @throws Error with the service's log when it does not come up
 */
export async function startService(
  env: Record<string, string>,
  { command = programCommand(env), takesOver = false, cwd }: StartOptions = {},
): Promise<ServiceProcess> {
  const since = performance.now()
  const { child, log, failed } = spawn([...command, ...takeOver(takesOver)], env, cwd)
  const service = serviceOf(child, await Promise.race([failed, portsFrom(log, 'listening')]), log)
  await fetch(`${service.baseUrl}/partner/v1/openapi.json`).then((response) => response.arrayBuffer())
  return { ...service, readyMs: performance.now() - since }
}

type Child = Pick<ServiceProcess, 'pid' | 'exited' | 'kill'>

/** `failed` rejects with the log when the process ends; nobody has to listen. */
function spawn(command: string[], env: Record<string, string>, cwd?: string) {
  const child = Bun.spawn(command, {
    env: {
      PATH: process.env['PATH'] ?? '',
      PORT: '0',
      LOG_LEVEL: 'info',
      NODE_ENV: 'test',
      PUBLIC_URL: TEST_PAGE_URL,
      ...env,
    },
    stdout: 'ignore',
    stderr: 'pipe',
    ...(cwd === undefined ? {} : { cwd }),
  })
  let text = ''
  const reading = (async () => {
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) text += chunk
  })()
  // With its last lines; what it has started may still hold the pipe open.
  const exited = child.exited.then(async (code) => {
    await Promise.race([reading, Bun.sleep(200)])
    return code
  })
  const failed = exited.then((code): never => {
    throw new Error(`The service ended with ${code} before it was up:\n${text}`)
  })
  failed.catch(() => undefined)
  return {
    child: { pid: child.pid, kill: (signal: NodeJS.Signals) => child.kill(signal), exited },
    failed,
    log: () => text,
  }
}

interface Ports {
  readonly port: number
  readonly adminPort?: number
}

function serviceOf(child: Child, { port, adminPort = port }: Ports, log: () => string): StartingService {
  const baseUrl = `http://127.0.0.1:${port}`
  const adminUrl = `http://127.0.0.1:${adminPort}`
  const ask = (path: string, call: HttpCall = {}) => send(baseUrl + path, call)
  return {
    baseUrl,
    adminUrl,
    pid: child.pid,
    log,
    exited: child.exited,
    ask,
    portal: (path, json) =>
      send(`${adminUrl}/portal/v1${path}`, { token: TEST_PORTAL_TOKEN, ...(json === undefined ? {} : { json }) }),
    kill: (signal) => child.kill(signal),
  }
}

/** Makes an agency with one unit and a key, through the portal. @returns the key as a partner sends it */
export async function makeAgencyByPortal(
  { portal }: Pick<ServiceProcess, 'portal'>,
  options: { slug?: string; scopes: readonly string[]; plan?: object; unit?: object },
): Promise<string> {
  const { slug = 'harbour', scopes, plan = {}, unit = {} } = options
  await portal('/agencies', { slug, name: 'Harbour', currency: 'EUR', timezone: 'Europe/Lisbon', plan })
  await portal(`/agencies/${slug}/units`, { slug: 'sea-view', name: 'Sea View', basePrice: 10_000, ...unit })
  const { body } = await portal(`/agencies/${slug}/keys`, { scopes })
  if (typeof body.secret !== 'string') throw new Error(`Cannot make a key in a test: ${JSON.stringify(body)}`)
  return body.secret
}

/** A service on a database of the test run, with the tests' credentials. */
export function startServiceOn(
  databaseUrl: string,
  env: Record<string, string> = {},
  options: StartOptions = {},
): Promise<ServiceProcess> {
  return startService({ ...credentialsFor(databaseUrl), ...env }, options)
}

/** What a service on a database of the test run is told: it serves with a role that owns nothing. */
export function credentialsFor(databaseUrl: string): Record<string, string> {
  const roles = { DATABASE_URL: asService(databaseUrl), MIGRATION_DATABASE_URL: databaseUrl }
  const hasOneRole = roles.DATABASE_URL === roles.MIGRATION_DATABASE_URL
  return {
    ...(hasOneRole ? { DATABASE_URL: databaseUrl } : roles),
    PORTAL_TOKEN: TEST_PORTAL_TOKEN,
    SECRET_KEY: TEST_SECRET_KEY,
  }
}

async function portsFrom(log: () => string, message: 'starting' | 'listening'): Promise<Ports> {
  const deadline = performance.now() + START_MS_MAX
  while (performance.now() < deadline) {
    const line = log()
      .split('\n')
      .find((candidate) => candidate.includes(`"${message}"`))
    if (line !== undefined) return JSON.parse(line)
    await Bun.sleep(5)
  }
  throw new Error(`The service did not come up within ${START_MS_MAX} ms:\n${log()}`)
}
