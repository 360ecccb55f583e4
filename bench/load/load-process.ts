/** The load generator, a separate process: it reads a run's settings from each line of its input and prints the result. */

import { Latencies } from '../../src/lib/latencies.ts'
import type { OpenFigures } from '../../src/lib/open-loop.ts'
import { answerQuestions } from '../support/json-child.ts'
import { HttpConnection, type Run } from './http-client.ts'
import { runOpen } from './open-run.ts'
import { type Asked, sourceOf } from './requests.ts'

export interface LoadAsked extends Asked {
  readonly url: string
  readonly connections: number
  /** Warm-up, not counted: connections open, caches fill. */
  readonly warmMs: number
  readonly runMs: number
  /** Ends earlier once this many requests were answered. */
  readonly requestsMax?: number
}

/** The same load at a fixed rate, whatever the answers take. */
export interface OpenAsked extends Omit<LoadAsked, 'requestsMax'> {
  readonly perSecond: number
  /** Of the times at which requests are due. */
  readonly seed: number
}

export interface OpenResult extends OpenFigures {
  readonly sold: number
  /** As of LoadResult. */
  readonly fault: string | null
}

export interface LoadResult {
  readonly requests: number
  readonly seconds: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  readonly sold: number
  /** Null unless the run was aborted by an unexpected answer. */
  readonly fault: string | null
}

await answerQuestions<LoadAsked | OpenAsked>((params) => ('perSecond' in params ? runOpen(params) : runClosed(params)))

async function runClosed(params: LoadAsked): Promise<LoadResult> {
  const source = sourceOf(params)
  let latencies = new Latencies()
  let fault: string | null = null
  let isOver = false
  let answers = 0
  const ended = Promise.withResolvers<void>()
  const end = () => {
    isOver = true
    ended.resolve()
  }
  const run: Run = {
    next: () => (isOver ? null : source.next()),
    answered: (ns) => {
      latencies.add(ns)
      answers += 1
      if (answers === params.requestsMax) end()
    },
    failed: (why) => {
      if (isOver && why.startsWith('a connection')) return
      fault ??= why
      end()
    },
  }
  const opened = await Promise.all(
    Array.from({ length: params.connections }, () => HttpConnection.open(Number(new URL(params.url).port), run)),
  )
  for (const connection of opened) connection.send()
  await Promise.race([Bun.sleep(params.warmMs), ended.promise])
  if (params.warmMs > 0) latencies = new Latencies()
  const since = performance.now()
  await Promise.race([Bun.sleep(params.runMs), ended.promise])
  const seconds = (performance.now() - since) / 1_000
  const counted = latencies
  latencies = new Latencies()
  end()
  // What is in flight is answered before the next run begins.
  await Bun.sleep(60)
  for (const connection of opened) connection.close()
  const [p50Ms, p99Ms, p999Ms] = counted.percentiles([0.5, 0.99, 0.999])
  const { size: requests } = counted
  return { requests, seconds, perSecond: requests / seconds, p50Ms, p99Ms, p999Ms, sold: source.sold(), fault }
}
