import { programCommand } from './bundled-program.ts'

export interface CliRun {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** The standard output as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any
}

/** Runs the command line as a separate process, with only PATH from this process's environment. */
export async function runCliProcess(
  args: readonly string[],
  {
    env = {},
    input = '',
    cwd,
    killedBy,
  }: { env?: Record<string, string>; input?: string; cwd?: string; killedBy?: AbortSignal } = {},
): Promise<CliRun> {
  const child = Bun.spawn([...programCommand(env), ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdin: new TextEncoder().encode(input),
    stdout: 'pipe',
    stderr: 'pipe',
    ...(cwd === undefined ? {} : { cwd }),
    ...(killedBy === undefined ? {} : { signal: killedBy, killSignal: 'SIGKILL' as const }),
  })
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return {
    code,
    stdout,
    stderr,
    get json() {
      return JSON.parse(stdout)
    },
  }
}
