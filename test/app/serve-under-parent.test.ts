import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { SERVE_AS_WORKER } from '../../src/app/worker-processes.ts'
import type { WorkerCalls } from '../../src/cluster/workers/parent-calls.ts'
import { ProcessChannel } from '../../src/cluster/workers/process-channel.ts'

const SETTINGS = {
  worker: 1,
  program: '0.9.0 (source)',
  parentId: 'x',
  parentPid: process.pid,
  database: { url: '', isEmbedded: false, isOwner: false },
  port: 0,
  adminPort: null,
  folder: '',
  isFirst: false,
  isSuccessor: true,
}

test('a worker whose program is not its parent’s, because the file was replaced meanwhile, says so and ends', async () => {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, '../../src/main.ts'), SERVE_AS_WORKER, '1'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    serialization: 'json',
    ipc: (message) => channel.receive(message),
  })
  const channel = new ProcessChannel((message) => child.send(message), {})
  void channel
    .remote<WorkerCalls>()
    .start(SETTINGS)
    .catch(() => {})
  expect(await child.exited).toBe(1)
  expect(await new Response(child.stderr).text()).toContain('the service runs 0.9.0 (source). Restart the service.')
})
