import type { Command } from 'commander'
import { addNights, formatNight, isoWeekday, type Night, parseNight } from '../core/domain/night.ts'
import { dayOf } from '../lib/clock.ts'
import { UsageError } from './exit-codes.ts'
import { asNumber } from './flags.ts'
import type { Json } from './portal-client.ts'
import { serviceCommand } from './session.ts'
import type { Terminal } from './terminal.ts'

type NightState = 'taken' | 'cleaning'

const MARKS = { free: ' ', taken: '#', cleaning: '~' } as const
const MONTHS_MAX = 12
const NAMES = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
]

/** One month as a grid of weeks, Monday first. `month`: `YYYY-MM`. */
function monthGrid(month: string, states: ReadonlyMap<string, NightState>): string {
  const first = firstOf(month)
  const [year, number] = month.split('-')
  const lines = [`${NAMES[Number(number) - 1]} ${year}`, ' Mo  Tu  We  Th  Fr  Sa  Su']
  let line = '    '.repeat(isoWeekday(first) - 1)
  for (let night = first; formatNight(night).startsWith(month); night = addNights(night, 1)) {
    const date = formatNight(night)
    line += `${String(Number(date.slice(8))).padStart(3)}${MARKS[states.get(date) ?? 'free']}`
    if (isoWeekday(night) === 7) {
      lines.push(line)
      line = ''
    }
  }
  if (line !== '') lines.push(line)
  return `${lines.map((text) => text.trimEnd()).join('\n')}\n`
}

export function calendar(program: Command, terminal: Terminal): void {
  serviceCommand<{ month?: string; months: string }>(
    program,
    {
      name: 'calendar <unit>',
      summary: "print a unit's calendar: free, booked (#) and cleaning (~) nights",
      options: (command) =>
        command
          .option('--month <YYYY-MM>', 'first month (default: the current month)')
          .option('--months <n>', `number of months, at most ${MONTHS_MAX}`, '1'),
      examples: ['calendar sea-view --month 2027-05 --months 3'],
    },
    terminal,
    async (session, { arguments: [unit = ''], options }) => {
      const agency = (await session.client.get(await session.agencyPath()))['agency'] as Json
      const month = options.month ?? dayOf(Date.now(), String(agency['timezone'])).slice(0, 7)
      const count = asNumber(options.months)
      if (!Number.isInteger(count) || count < 1 || count > MONTHS_MAX)
        throw new UsageError(`--months must be a whole number from 1 to ${MONTHS_MAX}.`)
      const months = Array.from({ length: count }, (_, i) => monthAfter(month, i))
      const from = formatNight(firstOf(month))
      const to = formatNight(firstOf(monthAfter(month, count)))
      const path = await session.agencyPath(`/units/${encodeURIComponent(unit)}/calendar?from=${from}&to=${to}`)
      const answer = await session.client.get(path)
      if (session.isJson) return session.printJson(answer)
      const { nights } = answer['calendar'] as { nights: { night: string; state: NightState }[] }
      const states = new Map(nights.map(({ night, state }) => [night, state]))
      terminal.out(`${months.map((each) => monthGrid(each, states)).join('\n')}\n# booked   ~ cleaning\n`)
    },
  )
}

/** `units calendar-url`: prints nothing but the address, for scripts. */
export function calendarUrl(noun: Command, terminal: Terminal): void {
  serviceCommand<{ change?: true }>(
    noun,
    {
      name: 'calendar-url <slug>',
      summary: "show a unit's secret iCalendar address, for channels",
      options: (command) => command.option('--change', 'replace it; the old address answers 404 immediately'),
    },
    terminal,
    async (session, { arguments: [slug = ''], options }) => {
      const path = await session.agencyPath(`/units/${encodeURIComponent(slug)}/calendar-feed`)
      const answer = await session.client.send(options.change === true ? 'POST' : 'GET', path)
      if (session.isJson) session.printJson(answer)
      else terminal.out(`${(answer['calendarFeed'] as Json)['url']}\n`)
    },
  )
}

function firstOf(month: string): Night {
  const first = parseNight(`${month}-01`)
  if (first === null) throw new UsageError(`${JSON.stringify(month)} is not a month YYYY-MM from 2000-01 to 2099-12.`)
  return first
}

function monthAfter(month: string, n: number): string {
  firstOf(month)
  const [year, number] = month.split('-').map(Number) as [number, number]
  const months = year * 12 + number - 1 + n
  return `${Math.floor(months / 12)}-${String((months % 12) + 1).padStart(2, '0')}`
}
