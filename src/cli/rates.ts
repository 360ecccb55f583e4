/** The rates of a unit: how their lists are typed and shown. */
import { UsageError } from './exit-codes.ts'
import { asNumber } from './flags.ts'
import type { Json } from './portal-client.ts'
import { type Columns, table } from './table.ts'
import type { Terminal } from './terminal.ts'
import type { OwnFlags } from './verbs.ts'

const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const
const SEASONS: Columns = { SEASON: 'name', FROM: 'from', TO: 'to', PRICE: 'nightlyPrice', 'MIN STAY': 'minStay' }
const WEEKDAYS: Columns = { WEEKDAY: ({ weekday }) => DAYS[Number(weekday) - 1], PERCENT: 'pct' }
const DISCOUNTS: Columns = { 'FROM NIGHTS': 'minNights', 'PERCENT OFF': 'pct' }

const several = (value: string, before: string[] = []) => [...before, value]

/** The lists of `rates set`. */
export const RATE_FLAGS: OwnFlags = {
  add: (command) =>
    command
      .option(
        '--season <name:from:to:price[:minStay]>',
        'season with its own price per night; to is exclusive',
        several,
      )
      .option('--weekday <1-7:pct>', 'percentage added on this weekday; 1 is Monday', several)
      .option('--discount <nights:pct>', 'percentage off stays of at least this many nights', several),
  body: ({ season, weekday, discount }) => ({
    ...(season === undefined ? {} : { seasons: (season as string[]).map(seasonOf) }),
    ...(weekday === undefined ? {} : { weekdayAdjustments: pairs('weekday', 'weekday', weekday) }),
    ...(discount === undefined ? {} : { lengthOfStayDiscounts: pairs('discount', 'minNights', discount) }),
  }),
}

export function showRates(answer: Json, terminal: Terminal): void {
  const { seasons, weekdayAdjustments, lengthOfStayDiscounts } = answer['rates'] as Record<string, Json[]>
  terminal.out(table(seasons ?? [], SEASONS, 'No seasons: the base price applies all year.'))
  if (weekdayAdjustments?.length) terminal.out(`\n${table(weekdayAdjustments, WEEKDAYS)}`)
  if (lengthOfStayDiscounts?.length) terminal.out(`\n${table(lengthOfStayDiscounts, DISCOUNTS)}`)
}

/** The name may hold colons: what follows it is counted from the end. */
function seasonOf(text: string): Json {
  const match = /^(.+):(\d{4}-\d{2}-\d{2}):(\d{4}-\d{2}-\d{2}):(\d+)(?::(\d+))?$/.exec(text)
  if (match === null)
    throw new UsageError(`--season: ${JSON.stringify(text)} is not name:from:to:price or name:from:to:price:minStay.`)
  const [, name, from, to, price, minStay] = match
  const season = { name, from, to, nightlyPrice: Number(price) }
  return minStay === undefined ? season : { ...season, minStay: Number(minStay) }
}

function pairs(flag: string, member: string, texts: unknown): Json[] {
  return (texts as string[]).map((text) => {
    const [a = '', b = '', ...more] = text.split(':')
    if (b === '' || more.length > 0)
      throw new UsageError(`--${flag}: ${JSON.stringify(text)} is not two numbers separated by a colon.`)
    return { [member]: asNumber(a), pct: asNumber(b) }
  })
}
