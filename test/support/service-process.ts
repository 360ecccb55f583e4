import { join } from 'node:path'

/** Credentials of services that tests start on a database of theirs. */
export const TEST_PORTAL_TOKEN = 'portal-token-for-tests-0123456789abcdef'
export const TEST_SECRET_KEY = '00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff'

const MAIN = join(import.meta.dir, '../../src/main.ts')
const START_MS_MAX = 20_000

/** The real service in a process of its own. */
export interface ServiceProcess {
  readonly baseUrl: string
  readonly pid: number
  /** From spawning to the first answer of the service, milliseconds. */
  readonly readyMs: number
  /** Everything the service has logged so far. */
  readonly log: () => string
  readonly exited: Promise<number>
  kill(signal: NodeJS.Signals): void
}

/**
 * Starts the service and waits for its first answer.
 * @param command what to run instead of the source, for example the built binary
 * @throws Error with the service's log when it does not come up
 */
export async function startService(
  env: Record<string, string>,
  { command = [process.execPath, 'run', MAIN], cwd }: { command?: string[]; cwd?: string } = {},
): Promise<ServiceProcess> {
  const since = performance.now()
  const child = Bun.spawn(command, {
    env: { PATH: process.env['PATH'] ?? '', PORT: '0', LOG_LEVEL: 'info', NODE_ENV: 'test', ...env },
    stdout: 'ignore',
    stderr: 'pipe',
    ...(cwd === undefined ? {} : { cwd }),
  })
  let text = ''
  const reading = (async () => {
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) text += chunk
  })()
  const failed = child.exited.then(async (code) => {
    await reading
    throw new Error(`The service ended with ${code} before it was up:\n${text}`)
  })
  failed.catch(() => undefined)
  const port = await Promise.race([failed, portFrom(() => text)])
  const baseUrl = `http://127.0.0.1:${port}`
  await fetch(`${baseUrl}/partner/v1/openapi.json`).then((response) => response.arrayBuffer())
  return {
    baseUrl,
    pid: child.pid,
    readyMs: performance.now() - since,
    log: () => text,
    exited: child.exited,
    kill: (signal) => child.kill(signal),
  }
}

/** A service on a database of the test run, with the tests' credentials. */
export function startServiceOn(
  databaseUrl: string,
  env: Record<string, string> = {},
  options: { command?: string[] } = {},
): Promise<ServiceProcess> {
  const credentials = { DATABASE_URL: databaseUrl, PORTAL_TOKEN: TEST_PORTAL_TOKEN, SECRET_KEY: TEST_SECRET_KEY }
  return startService({ ...credentials, ...env }, options)
}

async function portFrom(log: () => string): Promise<number> {
  const deadline = performance.now() + START_MS_MAX
  while (performance.now() < deadline) {
    const line = log()
      .split('\n')
      .find((candidate) => candidate.includes('"listening"'))
    if (line !== undefined) return JSON.parse(line).port
    await Bun.sleep(5)
  }
  throw new Error(`The service did not come up within ${START_MS_MAX} ms:\n${log()}`)
}
