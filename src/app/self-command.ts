import { join } from 'node:path'

/** The command that runs this program again with `argument`, both from source and from the compiled binary. */
export function selfCommand(argument: string): readonly string[] {
  const isCompiled = import.meta.dir.includes('$bunfs') || import.meta.dir.includes('~BUN')
  return isCompiled ? [process.execPath, argument] : [process.execPath, join(import.meta.dir, '../main.ts'), argument]
}

/** Bun's, of one process; 256 unless it is set before the process starts. Beyond it, requests wait without a word. */
const VARIABLE = 'BUN_CONFIG_MAX_HTTP_REQUESTS'
/**
 * More than the requests that are forwarded at once (src/cluster/forward/owner-route.ts), streams included, and those to etcd; or than the
 * requests of ADMIN_PORT that the parent of workers has passed on (src/app/admin-relay.ts).
 */
const FETCHES_MAX = 16_384

/**
 * Replaces this process by one that may have as many requests open as a node or a parent of workers passes on. It keeps its process id,
 * and begins again; nothing may be open yet. Does nothing for a single process, or when the limit is set already, and is as high.
 * @param args of the command `serve`
 */
export function liftFetchLimit(env: Record<string, string | undefined>, args: readonly string[]): void {
  const passesOn = Boolean(env['CLUSTER_ETCD']) || (env['WORKERS'] ?? '1') !== '1'
  if (!passesOn || Number(env[VARIABLE]) >= FETCHES_MAX) return
  const [program = '', ...rest] = selfCommand('serve')
  process.execve?.(program, [program, ...rest, ...args], { ...process.env, [VARIABLE]: String(FETCHES_MAX) })
}
