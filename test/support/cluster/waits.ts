/** How long requests took and how they ended, from one moment to the next. */
export interface Window {
  readonly requests: number
  /** From the first attempt of a request to its final answer, milliseconds; one that is still open counts up to now. */
  readonly longestMs: number
  readonly p99Ms: number
  /** What was answered or happened other than success and refusals by a rule, with how often. */
  readonly failed: Readonly<Record<string, number>>
  /** How often a client had to send a request again. */
  readonly repeated: number
}

export class Waits {
  readonly #open = new Set<{ readonly since: number }>()
  #took: number[] = []
  #failed = new Map<string, number>()
  #repeated = 0

  begin(): { readonly since: number } {
    const request = { since: performance.now() }
    this.#open.add(request)
    return request
  }

  end(request: { readonly since: number }): void {
    this.#open.delete(request)
    this.#took.push(performance.now() - request.since)
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
    const took = [...this.#took, ...[...this.#open].map(({ since }) => now - since)].toSorted((a, b) => a - b)
    const window = {
      requests: this.#took.length,
      longestMs: took.at(-1) ?? 0,
      p99Ms: took[Math.floor(took.length * 0.99)] ?? 0,
      failed: Object.fromEntries(this.#failed),
      repeated: this.#repeated,
    }
    this.#took = []
    this.#failed = new Map()
    this.#repeated = 0
    return window
  }
}

export function described({ requests, longestMs, p99Ms, failed, repeated }: Window): string {
  const kinds = Object.entries(failed).map(([kind, count]) => `${count} × ${kind}`)
  return `${requests} requests, longest ${longestMs.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms, ${repeated} sent again${kinds.length === 0 ? '' : `: ${kinds.join(', ')}`}`
}
