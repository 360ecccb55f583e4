import './overview.css'
import { getTape } from '../../chart/tape.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { BarChart } from '../../design/bar-chart.tsx'
import { LinkButton } from '../../design/button.tsx'
import { Card, PageHeader } from '../../design/card.tsx'
import { EmptyState, LoadStatus } from '../../design/feedback.tsx'
import { type Day, dayText, monthStart, todayIn } from '../../format/days.ts'
import { timeLeft } from '../../format/instants.ts'
import { count, money, percent, shortMoney } from '../../format/numbers.ts'
import { useIsPhone, useNowS } from '../../lib/hooks.ts'
import { useLiveStays } from '../../stays/live-stays.ts'
import { type DaySheet, daySheet, type Month, sheetWindow } from './day-sheet.ts'
import { Holds, StayList } from './stay-list.tsx'

const LIVE = ['tape/overview']
const LIVE_EVENTS = ['booking.', 'unit.', 'guest.']

/** The day at a glance: who comes, who goes, what needs a decision, and how the months go. */
export function OverviewScreen() {
  const { agency, path } = useSession()
  // Left open overnight, it continues with the next day.
  const today = todayIn(agency.timezone, useNowS() * 1_000)
  useLiveStays(LIVE, LIVE_EVENTS)
  const { data, error, refresh } = useResource(`tape/overview?today=${today}`, async (signal) =>
    daySheet(await getTape(path, sheetWindow(today), signal)),
  )
  return (
    <>
      <PageHeader title="Overview" description={dayText(data?.today ?? today, 'long')} />
      <LoadStatus of={{ data, error, refresh }} lines={6} />
      {data !== undefined && <Sheet sheet={data} />}
    </>
  )
}

function Sheet({ sheet }: { sheet: DaySheet }) {
  const { may } = useSession()
  const { today, units, arrivals, departures, inHouse, holds, months } = sheet
  if (units === 0) {
    return (
      <Card>
        <EmptyState
          icon="units"
          title="No units yet"
          action={
            may('manager') && (
              <LinkButton href="#/units" tone="primary">
                Go to units
              </LinkButton>
            )
          }
        >
          Add a unit and its rates. Arrivals, departures and charts appear here once it has bookings.
        </EmptyState>
      </Card>
    )
  }
  return (
    <>
      <Tiles sheet={sheet} />
      <div class="overview-lists">
        <StayList
          title="Arrivals"
          icon="arrive"
          stays={arrivals}
          today={today}
          empty="No arrivals today"
          when={({ departure }) => `until ${dayText(departure, 'short')}`}
        />
        <StayList
          title="Departures"
          icon="depart"
          stays={departures}
          today={today}
          empty="No departures today"
          when={({ arrival }) => `since ${dayText(arrival, 'short')}`}
        />
        <StayList
          title="In house tonight"
          icon="home"
          stays={inHouse}
          today={today}
          empty="Nobody in house tonight"
          when={({ departure }) => `until ${dayText(departure, 'short')}`}
        />
        <Holds holds={holds} />
      </div>
      <MonthCharts months={months} today={today} />
    </>
  )
}

/** The figures of today. */
function Tiles({ sheet: { arrivals, departures, inHouse, holds, units } }: { sheet: DaySheet }) {
  const tiles = [
    ['Arrivals today', count(arrivals.length), guestsText(arrivals)],
    ['Departures today', count(departures.length), guestsText(departures)],
    ['In house tonight', count(inHouse.length), guestsText(inHouse)],
    ['Occupancy tonight', percent(inHouse.length / units), `${count(inHouse.length)} of ${count(units)} units`],
    ['Holds', count(holds.length), holdsText(holds)],
  ] as const
  return (
    <dl class="tiles">
      {tiles.map(([name, figure, detail]) => (
        <div key={name} class="tile">
          <dt>{name}</dt>
          <dd class="tile-figure numeric">{figure}</dd>
          <dd class="tile-detail">{detail}</dd>
        </div>
      ))}
    </dl>
  )
}

function guestsText(stays: readonly { guests: number }[]): string {
  const people = stays.reduce((sum, { guests }) => sum + guests, 0)
  if (people === 0) return 'no guests'
  return people === 1 ? '1 guest' : `${count(people)} guests`
}

function holdsText([next]: DaySheet['holds']): string {
  return next === undefined ? 'none open' : `next expires in ${timeLeft(next.holdExpiresAt ?? 0)}`
}

/** Occupancy and revenue by month; months that are not over are hatched, because more may be sold. */
function MonthCharts({ months: all, today }: { months: readonly Month[]; today: Day }) {
  const { currency } = useSession()
  // As many as have room for their figures.
  const months = useIsPhone() ? all.slice(2, 10) : all
  const parts = months.map(({ soldNights, nights }) => (nights === 0 ? 0 : soldNights / nights))
  const thisMonth = monthStart(today)
  const common = ({ start }: Month) => ({
    label: dayText(start, 'shortMonth'),
    fullLabel: dayText(start, 'month'),
    isOpen: start >= thisMonth,
    isCurrent: start === thisMonth,
  })
  return (
    <div class="overview-charts">
      <Card title="Occupancy" aside="Share of nights sold to guests">
        <BarChart
          title="Occupancy by month"
          valueHead="Occupancy"
          max={parts.some((part) => part > 0.5) ? 1 : 0.5}
          bars={months.map((month, index) => {
            const part = parts[index] ?? 0
            return { ...common(month), value: part, text: percent(part) }
          })}
        />
      </Card>
      <Card title="Revenue" aside="Guest stays, spread over their nights">
        <BarChart
          title="Revenue by month"
          valueHead="Revenue"
          bars={months.map((month) => ({
            ...common(month),
            value: month.revenue,
            text: money(month.revenue, currency),
            shortText: shortMoney(month.revenue, currency),
          }))}
        />
      </Card>
    </div>
  )
}
