import type { Clock } from './clock.ts'

/**
 * The wall clock for deciding that something is over: set forward while the process runs, it does not bring that about
 * sooner. Never ahead of the wall clock, nor of what it said at first plus the time that has passed since. What has passed
 * while the machine slept is not in it, and a clock that was behind at first stays behind: what is kept is then kept longer.
 * @returns milliseconds since 1970-01-01T00:00:00Z
 */
export function steadyNow(clock: Clock): () => number {
  const offset = clock.now() - clock.monotonicMs()
  return () => Math.min(clock.now(), offset + clock.monotonicMs())
}
