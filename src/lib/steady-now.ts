import type { Clock } from './clock.ts'

/**
 * A clock for deciding whether something has expired: setting the wall clock forward while the process runs does not make
 * things expire sooner. It is never ahead of the wall clock, nor of its first reading plus the time that has passed since. Time
 * during which the machine slept does not count, and a clock that started behind stays behind: things are then kept longer.
 * @returns milliseconds since 1970-01-01T00:00:00Z
 */
export function steadyNow(clock: Clock): () => number {
  const offset = clock.now() - clock.monotonicMs()
  return () => Math.min(clock.now(), offset + clock.monotonicMs())
}
