import { join } from 'node:path'

/** The command that runs this program again with `argument`, both from source and from the compiled binary. */
export function selfCommand(argument: string): readonly string[] {
  const isCompiled = import.meta.dir.includes('$bunfs') || import.meta.dir.includes('~BUN')
  return isCompiled ? [process.execPath, argument] : [process.execPath, join(import.meta.dir, '../main.ts'), argument]
}

/** Bun's, of one process; 256 unless it is set before the process starts. Beyond it, requests wait without a word. */
const VARIABLE = 'BUN_CONFIG_MAX_HTTP_REQUESTS'
/** More than the requests that are forwarded at once (src/cluster/forward/owner-route.ts), streams included, and those to etcd. */
const FETCHES_MAX = 16_384

/**
 * Replaces this process by one that may have as many requests open as a node forwards. It keeps its process id, and begins again; nothing
 * may be open yet. Does nothing without CLUSTER_ETCD, or when the limit is set already, and is as high.
 * @param args of the command `serve`
 */
export function liftFetchLimit(env: Record<string, string | undefined>, args: readonly string[]): void {
  if (!env['CLUSTER_ETCD'] || Number(env[VARIABLE]) >= FETCHES_MAX) return
  const [program = '', ...rest] = selfCommand('serve')
  process.execve?.(program, [program, ...rest, ...args], { ...process.env, [VARIABLE]: String(FETCHES_MAX) })
}
