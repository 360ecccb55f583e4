import { readFileSync } from 'node:fs'

/** Milliseconds of the units that people use. */
export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

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

/** The time since the machine booted: the same for all of its processes, and never adjusted. */
export interface BootTime {
  /** Identifies this boot of this machine. Times with different ids cannot be compared. */
  readonly bootId: string
  readonly ms: number
}

const readText = (path: string): string => readFileSync(path, 'utf8')

/**
 * Null where the platform does not provide it (proc(5): Linux does, with a resolution of 10 ms, but not in every sandbox).
 * @param read the text of a file; throws when it cannot be read
 */
export function bootTime(read: (path: string) => string = readText): BootTime | null {
  try {
    const bootId = read('/proc/sys/kernel/random/boot_id').trim()
    const ms = Number.parseFloat(read('/proc/uptime')) * 1_000
    return bootId !== '' && Number.isFinite(ms) ? { bootId, ms } : null
  } catch {
    // The file is missing or hidden: there is no boot clock here. The service can run without one.
    return null
  }
}

/**
 * Instants as text. A booking is written with the same few instants in its row, its entry and its answer, and `toISOString` is slow
 * (170 ns against 25): the text up to the seconds is kept for the second that was written last.
 */

const MILLISECONDS = Array.from({ length: 1_000 }, (_, ms) => `${String(ms).padStart(3, '0')}Z`)

/** Since 1970; that of `upToSeconds`. */
let second = Number.NaN
let upToSeconds = ''

/**
 * ISO 8601, UTC, with milliseconds, as `Date` writes it.
 * @throws RangeError in a second that `Date` cannot hold
 */
export function instantText(instant: number): string {
  // `Date` drops a fraction of a millisecond too.
  const ms = Math.trunc(instant)
  const itsSecond = Math.floor(ms / 1_000)
  if (itsSecond !== second) {
    upToSeconds = new Date(ms).toISOString().slice(0, -'000Z'.length)
    second = itsSecond
  }
  return upToSeconds + (MILLISECONDS[ms - itsSecond * 1_000] ?? '')
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/
const INSTANT_MIN = Date.UTC(2000, 0, 1)
/** The first instant that `parseInstant` does not accept. */
export const INSTANT_MAX = Date.UTC(2100, 0, 1)

/** Milliseconds since 1970 of an ISO 8601 timestamp with an offset from UTC, in the years 2000 to 2099; null for any other text. */
export function parseInstant(text: string): number | null {
  if (!INSTANT.test(text)) return null
  try {
    const at = Temporal.Instant.from(text).epochMilliseconds
    return at >= INSTANT_MIN && at < INSTANT_MAX ? at : null
  } catch {
    return null
  }
}

/**
 * The first instant of a calendar day in a time zone, milliseconds since 1970 (docs/contract.md#conventions: day boundaries are meant in
 * the agency time zone). Where midnight is skipped by a clock change the day starts when the clocks resume; a whole day
 * that was skipped (Pacific/Apia, 2011-12-30) starts with the next one.
 * @param date `YYYY-MM-DD` that exists in the calendar
 * @param timeZone IANA name that passes `isTimeZone`
 */
export function dayStart(date: string, timeZone: string): number {
  return Temporal.PlainDate.from(date).toZonedDateTime(timeZone).startOfDay().epochMilliseconds
}

/** The calendar day of an instant in a time zone, `YYYY-MM-DD`. */
export function dayOf(instant: number, timeZone: string): string {
  return Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timeZone).toPlainDate().toString()
}

/**
 * The instant of a local time. If a clock change makes it occur twice, the first; if it is skipped, the moment of the change.
 * @param date `YYYY-MM-DD`
 * @param time `HH:MM`
 * @param timeZone IANA name that passes `isTimeZone`
 */
export function localInstant(date: string, time: string, timeZone: string): number {
  const wanted = Temporal.PlainDateTime.from(`${date}T${time}`)
  const earlier = wanted.toZonedDateTime(timeZone, { disambiguation: 'earlier' })
  const isSkipped = !earlier.toPlainDateTime().equals(wanted)
  return (isSkipped ? (earlier.getTimeZoneTransition('next') ?? earlier) : earlier).epochMilliseconds
}

const OFFSET = /^[+-]/

/** Whether the name is an IANA time zone that this runtime knows; offsets such as `+02:00` have no clock changes and are none. */
export function isTimeZone(name: string): boolean {
  if (OFFSET.test(name)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
