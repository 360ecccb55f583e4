import './calendar.css'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Problem } from '../../api/problem.ts'
import { onSignedInAgain, session } from '../../api/session.ts'
import { isFree } from '../../chart/chart-rows.ts'
import { barText, DayWords } from '../../chart/labels.ts'
import type { Zoom } from '../../chart/scale.ts'
import type { Stay } from '../../chart/stay.ts'
import { type ChartHandle, TapeChart } from '../../chart/tape-chart.tsx'
import { useSession } from '../../data/use-session.ts'
import { toast } from '../../design/toast.tsx'
import { type Day, dayRange, monthStart, todayIn } from '../../format/days.ts'
import { useIsPhone, useNowS, useStore, useTextScale } from '../../lib/hooks.ts'
import { setQuery, useRoute } from '../../route/router.ts'
import type { Pricing } from '../../stays/booking-writes.ts'
import { MoveDialog, type Placement } from '../../stays/move-dialog.tsx'
import { addressOf, filterQuery, isFiltering, staysFound, type UnitFilter, unitsShown } from './calendar-address.ts'
import { CalendarData, HORIZON_DAYS } from './calendar-data.ts'
import { CalendarLegend, CalendarNotice, Refusal } from './calendar-notice.tsx'
import { CalendarFilters, CalendarToolbar } from './calendar-toolbar.tsx'
import { NewStayPanel } from './new-stay-panel.tsx'
import { MissingStayPanel, StayPanel } from './stay-panel.tsx'
import { usePosition } from './use-position.ts'
import { useStayChanges } from './use-stay-changes.ts'

/** What is open over the chart. Details of a stay are in the address instead. */
type Open =
  | { readonly kind: 'new'; readonly to: readonly Placement[] }
  /** `stay`: as it was when the change started. */
  | { readonly kind: 'change'; readonly stay: Stay; readonly to: Placement; readonly refusal: Problem | null }

const FOUND_MAX = 500
/** Days before today at the left edge: who came yesterday is still of interest. */
const BACK_DAYS = 2

export function CalendarScreen() {
  const { path, agency, may } = useSession()
  const { query } = useRoute()
  const address = addressOf(query)
  const isPhone = useIsPhone()
  const textScale = useTextScale()
  const nowS = useNowS()
  const words = useMemo(() => new DayWords(), [])
  const today = todayIn(agency.timezone, nowS * 1_000)
  // The horizon stays where it was when the screen was opened: else all columns would move at midnight.
  const [opened] = useState(() => ({
    from: today - HORIZON_DAYS,
    to: today + HORIZON_DAYS + 1,
    day: clamped(address.from ?? today - BACK_DAYS, today),
  }))
  const data = useMemo(() => new CalendarData(path, opened, opened.day), [path.agencySlug])
  useEffect(() => () => data.close(), [data])
  const state = useStore(data.state)
  const changes = useStayChanges(data.rows)
  const [open, setOpen] = useState<Open | null>(null)
  const [isFilterOpen, setFilterOpen] = useState(isFiltering(address.filter))
  const [leftDay, setLeftDay] = useState<Day>(opened.day)
  const handle = useRef<ChartHandle>(null) as { current: ChartHandle }

  const zoom: Zoom = address.zoom ?? (isPhone ? 'week' : 'month')
  const { filter, search } = address
  const filterKey = JSON.stringify(filter)
  const { revision } = state
  const { freeFrom, freeTo } = filter
  const wantsFreeUnits = freeFrom !== null && freeTo !== null
  // Of days that are not loaded nothing is known: every unit would look free.
  const isFreeKnown = !wantsFreeUnits || (state.loadedFrom <= freeFrom && freeTo <= state.loadedTo)
  useEffect(() => {
    if (wantsFreeUnits && !isFreeKnown) data.want({ from: freeFrom, to: freeTo })
  }, [data, freeFrom, freeTo, isFreeKnown])
  const units = useMemo(
    () => (isFreeKnown ? unitsShown(data.rows.units, filter, (unit) => data.rows.staysOf(unit)) : []),
    // A change of any stay matters only to who asks for free units.
    [data, filterKey, data.rows.units, isFreeKnown, freeFrom === null ? 0 : revision],
  )
  const foundStays = useMemo(
    () => (search.trim() === '' ? [] : staysFound(data.rows.all(), search, today, FOUND_MAX)),
    [data, search, today, revision],
  )
  const found = useMemo(() => new Set(foundStays.map(({ id }) => id)), [foundStays])
  const [foundAt, setFoundAt] = useState(0)
  const position = usePosition({
    address,
    units,
    handle,
    shown: (day) => clamped(day ?? today - BACK_DAYS, today),
  })

  function show({ arrival, unit }: Pick<Stay, 'arrival' | 'unit'>): void {
    const row = units.findIndex(({ slug }) => slug === unit)
    handle.current.scrollTo({ day: arrival - BACK_DAYS, row: row === -1 ? null : Math.max(0, row - 3) })
  }

  // A search looks at everything there is, and goes to the first that it finds.
  useEffect(() => {
    if (search.trim() !== '') data.wantAll()
    setFoundAt(0)
  }, [data, search])
  const firstFound = foundStays[0]?.id
  useEffect(() => {
    const first = foundStays[0]
    if (first !== undefined) show(first)
  }, [search, firstFound])

  function goToFound(step: -1 | 1): void {
    const { length } = foundStays
    if (length === 0) return
    const at = (foundAt + step + length) % length
    setFoundAt(at)
    const stay = foundStays[at]
    if (stay !== undefined) show(stay)
  }

  // As they are when a refusal comes, which may be much later.
  const openNow = useRef(open)
  openNow.current = open
  const isLeft = useRef(false)
  useEffect(
    () => () => {
      isLeft.current = true
    },
    [],
  )

  async function move(stay: Stay, to: Placement, pricing: Pricing): Promise<void> {
    setOpen(null)
    const problem = await changes.move(stay, to, pricing)
    if (problem === null) return
    if (problem.status === 401) await signedInAgain()
    // The dialog must not replace what somebody is typing, and cannot show a stay that is gone.
    if (isLeft.current || openNow.current !== null) return notMoved(stay, problem.message)
    if (data.rows.stay(stay.id) === null) return notMoved(stay, GONE)
    // Said in the dialog, with what was asked for: it can be tried again or changed.
    setOpen({ kind: 'change', stay, to, refusal: problem })
  }

  const openStay = address.booking === null ? null : data.rows.stay(address.booking)
  const changing = open?.kind === 'change' ? data.rows.stay(open.stay.id) : null
  const proposals = open === null ? NO_PROPOSALS : open.kind === 'new' ? open.to : [open.to]
  const isGone = open?.kind === 'change' && changing === null
  // The answer was lost, and the change was made: it comes as that of anybody else.
  const isMade =
    open?.kind === 'change' && open.refusal !== null && isAt(changing, open.to) && !isAt(open.stay, open.to)
  useEffect(() => {
    if (!isMade) return
    toast({ tone: 'good', text: `${barText(open.stay)} moved: ${dayRange(open.to.arrival, open.to.departure)}` })
    setOpen(null)
  }, [isMade])
  useEffect(() => {
    if (!isGone) return
    notMoved(open.stay, GONE)
    setOpen(null)
  }, [isGone])
  const isReady = state.today !== null || data.rows.units.length > 0
  // It may be on days that are not loaded yet.
  const isMissing = address.booking !== null && openStay === null && isReady
  const isAllLoaded = state.loadedFrom <= opened.from && state.loadedTo >= opened.to
  useEffect(() => {
    if (isMissing) data.wantAll()
  }, [data, isMissing])

  return (
    <div class="calendar">
      <CalendarToolbar
        {...{ zoom, search, isFilterOpen }}
        from={leftDay}
        found={search.trim() === '' ? null : { count: foundStays.length, at: foundAt }}
        filters={filterCount(filter)}
        onZoom={(zoom) => setQuery({ zoom }, { replace: true })}
        onToday={() => position.jump(today - BACK_DAYS)}
        onStep={(direction) => position.jump(stepped(leftDay, zoom, direction), { isStep: true })}
        onJump={(day) => position.jump(day)}
        onSearch={(q) => setQuery({ q }, { replace: true })}
        onFound={goToFound}
        onFilter={() => setFilterOpen(!isFilterOpen)}
      />
      {isFilterOpen && (
        <CalendarFilters
          units={data.rows.units}
          filter={filter}
          shown={units.length}
          unknown={isFreeKnown ? null : state.isLoading ? 'Looking for free units…' : 'These dates are not loaded.'}
          onChange={(next) => setQuery(filterQuery(next), { replace: true })}
        />
      )}
      <div class="calendar-chart">
        <TapeChart
          {...{ units, revision, today, nowS, zoom, words, found, proposals, handle }}
          movedId={open?.kind === 'change' ? open.stay.id : null}
          data={data.rows}
          firstDay={opened.from}
          endDay={opened.to}
          loadedFrom={state.loadedFrom}
          loadedTo={state.loadedTo}
          rowHeight={Math.round((isPhone ? 44 : 38) * textScale)}
          unitWidth={Math.round((isPhone ? 96 : 200) * textScale)}
          canWrite={may('desk')}
          openId={address.booking}
          inFlight={changes.inFlight}
          initial={{ day: opened.day, row: 0 }}
          onSeen={(days) => data.want(days)}
          onSettled={(at) => {
            setLeftDay(at.leftDay)
            position.settled(at)
          }}
          onOpen={({ id }) => setQuery({ booking: id })}
          onCreate={({ slug }, { arrival, departure }) =>
            setOpen({ kind: 'new', to: [{ unit: slug, arrival, departure }] })
          }
          onChange={(stay, { slug }, { arrival, departure }) =>
            setOpen({ kind: 'change', stay, to: { unit: slug, arrival, departure }, refusal: null })
          }
          onRefused={(text) => toast({ text })}
        />
        <CalendarNotice
          state={state}
          isReady={isReady && isFreeKnown}
          units={data.rows.units.length}
          shown={units.length}
          onRetry={() => data.retry()}
        />
      </div>
      <CalendarLegend hasClosed={data.rows.units.some(({ closed }) => closed.some(({ digits }) => digits !== ''))} />
      {open?.kind === 'new' && (
        <NewStayPanel
          units={data.rows.units}
          stays={open.to}
          isFree={({ unit, ...at }) => isFree(data.rows.staysOf(unit), at)}
          onProposed={(to) => setOpen({ kind: 'new', to })}
          onCreated={(bookings) => {
            setOpen(null)
            changes.created(bookings)
          }}
          onClose={() => setOpen(null)}
        />
      )}
      {open?.kind === 'change' && changing !== null && (
        <MoveDialog
          key={`${open.stay.id} ${open.refusal === null}`}
          units={data.rows.units}
          name={barText(changing)}
          stay={changing}
          to={open.to}
          notice={<Refusal problem={open.refusal} />}
          isConflict={open.refusal?.code === 'VERSION_CHANGED'}
          onProposed={(to) => setOpen({ ...open, to })}
          onConfirm={(to, pricing) => void move(changing, to, pricing)}
          onClose={() => setOpen(null)}
        />
      )}
      {open === null && openStay !== null && (
        <StayPanel
          key={openStay.id}
          stay={openStay}
          units={data.rows.units}
          {...{ today, nowS }}
          onTook={(booking) => {
            changes.apply(booking)
            // Cancelled by the person who looks at it: there is nothing left to show.
            if (booking.status === 'cancelled') setQuery({ booking: null }, { replace: true })
          }}
          onMove={() => setOpen({ kind: 'change', stay: openStay, to: openStay, refusal: null })}
          onClose={() => setQuery({ booking: null })}
        />
      )}
      {open === null && isMissing && isAllLoaded && <MissingStayPanel onClose={() => setQuery({ booking: null })} />}
    </div>
  )
}

const NO_PROPOSALS: readonly Placement[] = []

const GONE = 'it is no longer in the calendar. It was cancelled, or its hold has expired.'

function notMoved(stay: Stay, reason: string): void {
  toast({ tone: 'bad', text: `${barText(stay)} was not moved: ${reason}` })
}

function isAt(stay: Stay | null, { unit, arrival, departure }: Placement): boolean {
  return stay !== null && stay.unit === unit && stay.arrival === arrival && stay.departure === departure
}

/** Resolves when nothing covers the screen to sign in again. */
function signedInAgain(): Promise<void> {
  const { value } = session
  // Somebody may have signed in before the refusal came.
  if (value.kind !== 'signed_in' || !value.ended) return Promise.resolve()
  return new Promise((resolve) => {
    const stop = onSignedInAgain(() => {
      stop()
      resolve()
    })
  })
}

function filterCount({ text, area, bedrooms, freeFrom, freeTo }: UnitFilter): number {
  return [text.trim() !== '', area !== null, bedrooms !== null, freeFrom !== null && freeTo !== null].filter(Boolean)
    .length
}

function clamped(day: Day, today: Day): Day {
  return Math.max(today - HORIZON_DAYS, Math.min(day, today + HORIZON_DAYS))
}

function stepped(day: Day, zoom: Zoom, direction: -1 | 1): Day {
  if (zoom === 'week') return day + 7 * direction
  const start = monthStart(day)
  const step = zoom === 'month' ? 1 : 3
  // Within a month, one step back goes to its first day.
  return direction === -1 && day > start && zoom === 'month' ? start : monthStart(day, direction * step)
}
