/** A run of the load generator at a fixed rate. */

import { Arrivals, OpenLoop } from '../../src/lib/open-loop.ts'
import { HttpConnection, type Planned } from './http-client.ts'
import type { OpenAsked, OpenResult } from './load-process.ts'
import { sourceOf } from './requests.ts'

/** Between two looks at the clock and at the sockets: shorter than any latency of interest, and a core is not kept busy. */
const PAUSE_MS = 0.03
/** For what is in flight or waiting at the end of the window. Without an answer by then, the server is overloaded. */
const DRAIN_MS_MAX = 2_000

/**
 * A process with a real-time policy runs before everything else on the machine, so it is on time although others want its core. Only root
 * may; otherwise it is late more often, which the figures show.
 */
function schedule(policy: '--fifo' | '--other', priority: number): void {
  if (Bun.which('chrt') === null) return
  const command = ['chrt', policy, '--all-tasks', '--pid', String(priority), String(process.pid)]
  Bun.spawnSync(command, { stdout: 'ignore', stderr: 'ignore' })
}

export async function runOpen(params: OpenAsked): Promise<OpenResult> {
  schedule('--fifo', 1)
  const source = sourceOf(params)
  const window = { fromNs: params.warmMs * 1e6, untilNs: (params.warmMs + params.runMs) * 1e6 }
  const loop = new OpenLoop(new Arrivals(params), window)
  const cell = new Int32Array(new SharedArrayBuffer(4))
  const idle: HttpConnection[] = []
  let fault: string | null = null
  let isOver = false
  let startNs = 0
  const now = () => Bun.nanoseconds() - startNs

  const open = () => {
    let dueNs = 0
    return HttpConnection.open(Number(new URL(params.url).port), {
      next: (): Planned | null => {
        const next = isOver ? null : loop.send()
        if (next === null) return null
        dueNs = next
        return source.next()
      },
      idle: (connection) => idle.push(connection),
      answered: () => loop.answered(dueNs, now()),
      failed: (why) => {
        if (!isOver) fault ??= why
      },
    })
  }
  const connections = await Promise.all(Array.from({ length: params.connections }, open))
  idle.push(...connections)
  startNs = Bun.nanoseconds()
  const ended = Promise.withResolvers<void>()
  const turn = () => {
    while (loop.advance(now())) idle.shift()?.send()
    const late = now() - window.untilNs
    const isDrained = late >= 0 && loop.open === 0
    if (fault !== null || isDrained || late > DRAIN_MS_MAX * 1e6) return ended.resolve()
    // Not a timer: those fire at whole milliseconds.
    Atomics.wait(cell, 0, 0, Math.max(0, Math.min(PAUSE_MS, (loop.dueNs - now()) / 1e6)))
    setImmediate(turn)
  }
  turn()
  await ended.promise
  isOver = true
  const figures = loop.end(now())
  for (const connection of connections) connection.close()
  schedule('--other', 0)
  return { ...figures, sold: source.sold(), fault }
}
