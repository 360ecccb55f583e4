/**
 * Nights as a JSON list of dates. The most requested answer consists of little else, so it is cut out of one text of
 * all dates, a piece for every run of nights: measured, a third of the time of adding date to date for a month, and
 * less for a year (docs/decisions.md#speed).
 */
import { formatNight, NIGHT_MAX, NIGHT_MIN, type Night } from '../../core/domain/night.ts'
import { forEachRunInUnion, type NightBitmap } from '../../core/domain/night-bitmap.ts'

/** `"2000-01-01",` */
const CHARS_PER_DATE = 13

/** Every date that is accepted, in order; made when the first list is. */
let allDates = ''

/** The nights of `[from, to)` in either set. Both dates lie within those accepted (docs/design.md#nights). */
export function nightListJson(a: NightBitmap, b: NightBitmap, from: Night, to: Night): string {
  if (allDates === '') allDates = writeAllDates()
  let list = ''
  forEachRunInUnion(a, b, from, to, (first, end) => {
    const run = allDates.slice((first - NIGHT_MIN) * CHARS_PER_DATE, (end - NIGHT_MIN) * CHARS_PER_DATE - 1)
    list = list === '' ? run : `${list},${run}`
  })
  return `[${list}]`
}

function writeAllDates(): string {
  const dates: string[] = []
  for (let night = NIGHT_MIN; night <= NIGHT_MAX; night++) dates.push(`"${formatNight(night as Night)}",`)
  return dates.join('')
}
