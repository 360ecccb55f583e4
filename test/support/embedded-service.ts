import { HOUR_MS } from '../../src/lib/clock.ts'
import { startEmbedded } from '../../src/postgres/embedded/embedded.ts'

/*
 * A service that only has a database, for tests that kill it: `bun embedded-service.ts DATA_DIR`. Says one JSON line when the
 * server runs, or when it cannot start, and then waits.
 */

if (import.meta.main) {
  const [dataDir = ''] = process.argv.slice(2)
  try {
    const { ownerUrl: url, firstStart } = await startEmbedded({ dataDir, onStep: () => {} })
    console.log(JSON.stringify({ url, firstStart }))
  } catch (error) {
    console.log(JSON.stringify({ failure: error instanceof Error ? error.message : String(error) }))
  }
  await Bun.sleep(HOUR_MS)
}

/** What the service said. */
type Said = { url?: string; firstStart?: boolean; failure?: string }

/** Runs the service as a process of its own. `kill` is a `kill -9`. */
export async function spawnService(dataDir: string): Promise<{ said: Said; pid: number; kill(): Promise<void> }> {
  const child = Bun.spawn([process.execPath, import.meta.path, dataDir], { stdout: 'pipe', stderr: 'inherit' })
  const { value } = await child.stdout.getReader().read()
  return {
    said: JSON.parse(new TextDecoder().decode(value)),
    pid: child.pid,
    kill: async () => {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}
