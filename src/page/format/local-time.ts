/** Moments as they are read on a clock of the agency. */

const MINUTE_MS = 60_000

/** `YYYY-MM-DD` and `HH:MM` of a moment in a time zone. */
export function localTime(
  instant: string | number,
  timezone: string,
): { readonly date: string; readonly time: string } {
  const at = typeof instant === 'number' ? instant : Date.parse(instant)
  // This locale writes YYYY-MM-DD, HH:MM.
  const format = { timeZone: timezone, hourCycle: 'h23', dateStyle: 'short', timeStyle: 'short' } as const
  const [date = '', time = ''] = new Intl.DateTimeFormat('en-CA', format).format(at).split(', ')
  return { date, time }
}

/**
 * The moment at which clocks in a time zone show a day and a time. Of a time that they skip in spring, the one as long after the
 * change; of one that they show twice in autumn, one of the two.
 * @returns milliseconds; null when it is no such day or time
 */
export function instantOf({ date, time }: { date: string; time: string }, timezone: string): number | null {
  const wall = Date.parse(`${date}T${time}:00Z`)
  if (Number.isNaN(wall)) return null
  const shown = (at: number) => {
    const local = localTime(at, timezone)
    return Date.parse(`${local.date}T${local.time}:00Z`)
  }
  // The offset at a guess is that of the moment itself, or its neighbour's across a change: then the second guess is right.
  const first = wall - (shown(wall) - wall)
  return Math.round((first - (shown(first) - wall)) / MINUTE_MS) * MINUTE_MS
}
