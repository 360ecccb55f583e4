/** How long requests took and how they ended, from one moment to the next. */
export interface Window {
  readonly requests: number
  /** From the first attempt of a request to its final answer, milliseconds; one that is still open counts up to now. */
  readonly longestMs: number
  readonly p99Ms: number
  /** Which requests these were, the slowest first. */
  readonly slowest: readonly SlowRequest[]
  /** What was answered or happened other than success and refusals by a rule, with how often. */
  readonly failed: Readonly<Record<string, number>>
  /** How often a client had to send a request again. */
  readonly repeated: number
}

export interface SlowRequest {
  readonly ms: number
  readonly request: Request
}

export interface Request {
  /** By `performance.now`. */
  readonly since: number
  readonly kind: 'read' | 'write'
  readonly shard: number
  /** X-Request-Id of all its attempts. */
  readonly id: string
  /** How each attempt ended, for people. */
  readonly attempts: string[]
}

const SLOWEST = 3

export class Waits {
  readonly #kind: Request['kind']
  readonly #open = new Set<Request>()
  #took: SlowRequest[] = []
  #failed = new Map<string, number>()
  #repeated = 0

  constructor(kind: Request['kind']) {
    this.#kind = kind
  }

  begin(shard: number): Request {
    const request = { since: performance.now(), kind: this.#kind, shard, id: crypto.randomUUID(), attempts: [] }
    this.#open.add(request)
    return request
  }

  end(request: Request): void {
    this.#open.delete(request)
    this.#took.push({ ms: performance.now() - request.since, request })
  }

  /** An attempt has ended. */
  note(request: Request, what: string): void {
    request.attempts.push(`+${(performance.now() - request.since).toFixed(0)} ms ${what}`)
  }

  fail(what: string): void {
    this.#failed.set(what, (this.#failed.get(what) ?? 0) + 1)
  }

  repeat(): void {
    this.#repeated += 1
  }

  /** What happened since the last call. */
  take(): Window {
    const now = performance.now()
    const open = [...this.#open].map((request) => ({ ms: now - request.since, request }))
    const durations = [...this.#took, ...open].toSorted((a, b) => b.ms - a.ms)
    const window = {
      requests: this.#took.length,
      longestMs: durations[0]?.ms ?? 0,
      p99Ms: durations[Math.floor(durations.length * 0.01)]?.ms ?? 0,
      slowest: durations.slice(0, SLOWEST),
      failed: Object.fromEntries(this.#failed),
      repeated: this.#repeated,
    }
    this.#took = []
    this.#failed = new Map()
    this.#repeated = 0
    return window
  }
}

function describedRequest({ ms, request: { kind, shard, since } }: SlowRequest): string {
  const at = new Date(performance.timeOrigin + since).toISOString().slice(11, 23)
  return `${kind} of shard ${shard} from ${at} for ${ms.toFixed(0)} ms`
}

export function described({ requests, longestMs, p99Ms, slowest, failed, repeated }: Window): string {
  const kinds = Object.entries(failed).map(([kind, count]) => `${count} × ${kind}`)
  return `${requests} requests, longest ${longestMs.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms, ${repeated} sent again (${slowest.map(describedRequest).join(', ')})${kinds.length === 0 ? '' : `: ${kinds.join(', ')}`}`
}
