/** Time as a port: the process's own clock, or a simulated one. */
export interface Clock {
  /** Wall clock, milliseconds since 1970-01-01T00:00:00Z. May jump. */
  now(): number
  /** Milliseconds since some fixed moment; never jumps. For limits and deadlines. */
  monotonicMs(): number
  /** Runs `task` once, not before `ms` milliseconds have passed; returns a function that cancels it. */
  after(ms: number, task: () => void): () => void
}

/** The longest wait that timers of the platform can hold (2^31 - 1 ms); a longer one would fire at once. */
const TIMER_MS_MAX = 2_147_483_647

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(ms, task) {
    const timer = setTimeout(task, Math.min(Math.max(0, Math.ceil(ms)), TIMER_MS_MAX))
    return () => clearTimeout(timer)
  },
}

/** Ends early when `signal` is aborted. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve()
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', end)
      resolve()
    })
    const end = () => {
      cancel()
      resolve()
    }
    signal?.addEventListener('abort', end, { once: true })
  })
}
