import './overview.css'
import { getTape } from '../../chart/tape.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { LinkButton } from '../../design/button.tsx'
import { Card, PageHeader } from '../../design/card.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../design/feedback.tsx'
import { dayText, todayIn } from '../../format/days.ts'
import { useNowS } from '../../lib/hooks.ts'
import { useLiveStays } from '../../stays/live-stays.ts'
import { type DaySheet, daySheet, sheetWindow } from './day-sheet.ts'
import { Holds } from './holds.tsx'
import { MonthCharts } from './month-charts.tsx'
import { StayList } from './stay-list.tsx'
import { Tiles } from './tiles.tsx'

const LIVE = ['tape/overview']
const LIVE_EVENTS = ['booking.', 'unit.']

/** The day at a glance: who comes, who goes, what needs a decision, and how the months go. */
export function OverviewScreen() {
  const { agency, path } = useSession()
  // Left open overnight, it goes on to the next day.
  const today = todayIn(agency.timezone, useNowS() * 1_000)
  useLiveStays(LIVE, LIVE_EVENTS)
  const { data, error, refresh } = useResource(`tape/overview?today=${today}`, async (signal) =>
    daySheet(await getTape(path, sheetWindow(today), signal)),
  )
  return (
    <>
      <PageHeader title="Overview" description={dayText(data?.today ?? today, 'long')} />
      <ErrorNote problem={error} onRetry={refresh} />
      {data !== undefined ? <Sheet sheet={data} /> : error === null && <Skeleton lines={6} />}
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
