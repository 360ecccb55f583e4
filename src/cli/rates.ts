import type { Command } from 'commander'
import { UsageError } from './exit-codes.ts'
import { asNumber, bodyOf, withFields } from './fields.ts'
import type { Json } from './portal-client.ts'
import { asking, type Session } from './session.ts'
import { type Column, table } from './table.ts'
import type { Terminal } from './terminal.ts'

const SEASONS: readonly Column<Json>[] = [
  { title: 'SEASON', value: ({ name }) => name },
  { title: 'FROM', value: ({ from }) => from },
  { title: 'TO', value: ({ to }) => to },
  { title: 'PRICE', value: ({ nightlyPrice }) => nightlyPrice, align: 'right' },
  { title: 'MIN STAY', value: ({ minStay }) => minStay, align: 'right' },
]
const WEEKDAYS: readonly Column<Json>[] = [
  { title: 'WEEKDAY', value: ({ weekday }) => DAYS[Number(weekday) - 1] },
  { title: 'PERCENT', value: ({ pct }) => pct, align: 'right' },
]
const DISCOUNTS: readonly Column<Json>[] = [
  { title: 'FROM NIGHTS', value: ({ minNights }) => minNights, align: 'right' },
  { title: 'PERCENT OFF', value: ({ pct }) => pct, align: 'right' },
]
const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const

const several = (value: string, before: string[] = []) => [...before, value]

export function rates(program: Command, terminal: Terminal): void {
  const noun = program.command('rates').description("show and set a unit's rates")
  asking(
    noun,
    { name: 'show <unit>', summary: "show a unit's rates" },
    terminal,
    async (session, { arguments: [unit = ''] }) => {
      show(session, await session.client.get(await ratesPath(session, unit)))
    },
  )
  asking(
    noun,
    {
      name: 'set <unit>',
      summary: "replace all of a unit's rates; anything not given is removed",
      options: (command) =>
        withFields(command, [])
          .option(
            '--season <name:from:to:price[:minStay]>',
            'season with its own price per night; to is exclusive',
            several,
          )
          .option('--weekday <1-7:pct>', 'percentage added on this weekday; 1 is Monday', several)
          .option('--discount <nights:pct>', 'percentage off stays of at least this many nights', several),
      examples: [
        'rates set sea-view --season Summer:2027-06-01:2027-09-01:18000:3 --weekday 5:15 --weekday 6:15 --discount 7:10',
        'rates set sea-view --data @rates.json',
      ],
    },
    terminal,
    async (session, { arguments: [unit = ''], options }) => {
      const body = await bodyOf(options, [], terminal)
      if (options.season !== undefined) body['seasons'] = options.season.map(seasonOf)
      if (options.weekday !== undefined)
        body['weekdayAdjustments'] = pairs('weekday', options.weekday).map(([weekday, pct]) => ({ weekday, pct }))
      if (options.discount !== undefined)
        body['lengthOfStayDiscounts'] = pairs('discount', options.discount).map(([minNights, pct]) => ({
          minNights,
          pct,
        }))
      show(session, await session.client.send('PUT', await ratesPath(session, unit), body))
    },
  )
}

function ratesPath(session: Session, unit: string): Promise<string> {
  return session.agencyPath(`/units/${encodeURIComponent(unit)}/rates`)
}

function show(session: Session, answer: Json): void {
  if (session.isJson) {
    session.printJson(answer)
    return
  }
  const { seasons, weekdayAdjustments, lengthOfStayDiscounts } = answer['rates'] as Record<string, Json[]>
  session.terminal.out(table(seasons ?? [], SEASONS, 'No seasons: the base price applies all year.'))
  if (weekdayAdjustments?.length) session.terminal.out(`\n${table(weekdayAdjustments, WEEKDAYS)}`)
  if (lengthOfStayDiscounts?.length) session.terminal.out(`\n${table(lengthOfStayDiscounts, DISCOUNTS)}`)
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

function pairs(option: string, texts: readonly string[]): [number, number][] {
  return texts.map((text) => {
    const [a = '', b = '', ...more] = text.split(':')
    if (b === '' || more.length > 0)
      throw new UsageError(`--${option}: ${JSON.stringify(text)} is not two numbers separated by a colon.`)
    return [asNumber(a), asNumber(b)]
  })
}
