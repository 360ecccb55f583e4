import { present } from '../../../lib/present.ts'
import './nights-view.css'
import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { answerOf, client } from '../../../api/client.ts'
import type { Problem } from '../../../api/problem.ts'
import { useResource } from '../../../data/use-resource.ts'
import { useSession } from '../../../data/use-session.ts'
import { Button, IconButton } from '../../../design/button.tsx'
import { Card } from '../../../design/card.tsx'
import { EmptyState, ErrorNote, Note, Skeleton } from '../../../design/feedback.tsx'
import { DateInput, Field, TextInput } from '../../../design/inputs.tsx'
import { type Day, dayText, isoOf, monthStart, parseDay, todayIn } from '../../../format/days.ts'
import { instantOf, instantText, localTime, relativeTime } from '../../../format/instants.ts'
import { useIsPhone, useNow, useSettled } from '../../../lib/hooks.ts'
import { setQuery, useRoute } from '../../../route/router.ts'
import { useLiveStays } from '../../../stays/live-stays.ts'
import { usePreview } from '../editing/use-preview.ts'
import { NightGrid } from './night-grid.tsx'
import { differenceText, momentAt, type Nights, nightsOf, POSITIONS, positionOf } from './nights.ts'

/** What is drawn. It stays until the next picture is complete. */
interface Picture {
  readonly months: readonly Day[]
  readonly now: Nights
  /** Null: now. */
  readonly at: number | null
  /** Null: the nights are as they are now, or not shown, for the reason in `problem`. */
  readonly past: Nights | null
  readonly problem: Problem | null
}

/** The nights of a unit, as they are and as they were. */
export function NightsView({ slug }: { slug: string }) {
  const { agency, path } = useSession()
  const { query } = useRoute()
  const count = useIsPhone() ? 2 : 6
  const today = todayIn(agency.timezone)
  const start = monthStart(parseDay(query['from'] ?? '') ?? today)
  const [moment, setMoment] = useState<Moment>(() => ({ at: Date.parse(query['asOf'] ?? '') || null, typed: null }))
  const { at } = moment
  const slider = useRef<HTMLInputElement>(null)
  const [attempt, setAttempt] = useState(0)
  const asOf = at === null ? null : new Date(at).toISOString()
  // Not at every step of the slider: browsers refuse to change the address that often.
  const settled = useSettled(asOf)
  useEffect(() => setQuery({ asOf: settled }, { replace: true }), [settled])

  const range = { from: isoOf(start), to: isoOf(monthStart(start, count)) }
  const read = async (query: typeof range & { asOf?: string }, signal: AbortSignal) => {
    const params = { path: { ...path, unitSlug: slug }, query }
    const { calendar } = await answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/units/{unitSlug}/calendar', { params, signal }),
    )
    return nightsOf(calendar)
  }
  useLiveStays([`units/${slug}/nights`])
  const now = useResource(`units/${slug}/nights?from=${range.from}&to=${range.to}`, (signal) => read(range, signal))
  const then = usePreview(asOf === null ? null : { ...range, asOf, attempt }, ({ attempt: _, ...request }, signal) =>
    read(request, signal),
  )
  const drawn = useRef<Picture | null>(null)
  if (now.data !== undefined && (at === null || !then.isBehind)) {
    const past = at === null || then.problem !== null ? null : then.preview
    const months = Array.from({ length: count }, (_, index) => monthStart(start, index))
    drawn.current = { months, now: now.data, at, past, problem: at === null ? null : then.problem }
  }
  const picture = drawn.current
  const go = (by: number) => setQuery({ from: isoOf(monthStart(start, by)) }, { replace: true })
  return (
    <div class="nights">
      <MomentCard moment={moment} onChange={setMoment} slider={slider} />
      <ErrorNote problem={now.error} onRetry={now.refresh} />
      {picture === null && now.error === null && <Skeleton lines={8} />}
      {picture !== null && (
        <>
          <Standing
            picture={picture}
            onNow={() => {
              setMoment({ at: null, typed: null })
              slider.current?.focus()
            }}
          />
          <Card
            title={monthsText(picture.months)}
            aside={
              <div class="day-steps">
                <IconButton icon="left" label="Earlier months" onClick={() => go(-count)} />
                <IconButton icon="right" label="Later months" onClick={() => go(count)} />
              </div>
            }
          >
            {picture.problem !== null ? (
              <NoPicture problem={picture.problem} onRetry={() => setAttempt(attempt + 1)} />
            ) : (
              <div class="form">
                <NightGrid
                  months={picture.months}
                  nights={picture.past ?? picture.now}
                  now={picture.past === null ? null : picture.now}
                  today={today}
                />
              </div>
            )}
          </Card>
        </>
      )}
    </div>
  )
}

function monthsText(months: readonly Day[]): string {
  return `${dayText(months[0] ?? 0, 'shortMonthYear')} – ${dayText(months.at(-1) ?? 0, 'shortMonthYear')}`
}

interface Moment {
  /** Null: now. */
  readonly at: number | null
  /** What is in the fields, which may be incomplete or in the future. */
  readonly typed: { readonly date: string; readonly time: string } | null
}

/** The moment: a date and a time, and a slider over the last weeks. */
function MomentCard({
  moment: { at, typed },
  onChange,
  slider,
}: {
  moment: Moment
  onChange: (moment: Moment) => void
  slider: RefObject<HTMLInputElement | null>
}) {
  const { timezone } = useSession().agency
  const now = useNow()
  const shown = typed ?? localTime(at ?? now, timezone)
  const instant = parseDay(shown.date) === null ? null : instantOf(shown, timezone)
  const type = (change: Partial<typeof shown>) => {
    const next = { ...shown, ...change }
    const instant = parseDay(next.date) === null ? null : instantOf(next, timezone)
    onChange({ at: instant !== null && instant <= present() ? instant : at, typed: next })
  }
  const hour = now - (now % 60_000) - Number(localTime(now, timezone).time.slice(3)) * 60_000
  const slide = (position: number) => onChange({ at: momentAt(position, hour), typed: null })
  return (
    <Card title="As it was">
      <div class="nights-moment">
        <DateInput
          label="Date"
          max={localTime(now, timezone).date}
          value={shown.date}
          error={instant !== null && instant > now ? 'That is in the future.' : undefined}
          onChange={(date) => type({ date })}
        />
        <TextInput label="Time" type="time" value={shown.time} onChange={(time) => type({ time })} />
        <Field label="Last four weeks" hint={<Scale hour={hour} />}>
          {(control) => (
            <input
              {...control}
              ref={slider}
              class="nights-slider"
              type="range"
              min={0}
              max={POSITIONS}
              value={positionOf(at, hour)}
              aria-valuetext={at === null ? 'Now' : momentText(at, timezone)}
              onInput={({ currentTarget }) => slide(currentTarget.valueAsNumber)}
              onKeyDown={(event) => {
                const days = { PageUp: 1, PageDown: -1 }[event.key]
                if (days === undefined) return
                event.preventDefault()
                slide(Math.max(0, positionOf(at, hour) + days * 24))
              }}
            />
          )}
        </Field>
      </div>
      <p class="nights-hint">
        Dates and times are those of {timezone.replaceAll('_', ' ')}.{' '}
        <span class="nights-keys">Arrow keys move the slider by an hour, Page Up and Page Down by a day.</span>
      </p>
    </Card>
  )
}

/** The dates below the slider, one for each week. */
function Scale({ hour }: { hour: number }) {
  const { timezone } = useSession().agency
  return (
    <span class="nights-scale">
      {WEEKS_AGO.map((weeks) => (
        <span key={weeks}>{dayText(todayIn(timezone, hour) - weeks * 7, 'dayMonth')}</span>
      ))}
      <span>Now</span>
    </span>
  )
}

const WEEKS_AGO = [4, 3, 2, 1]

/** `Tue 17 Nov 2026, 12:00`. */
function momentText(at: number, timezone: string): string {
  return `${dayText(todayIn(timezone, at), 'short').split(/[ ,]/)[0]} ${instantText(at, timezone)}`
}

/** The moment of the picture, and what differs now. */
function Standing({ picture: { at, past, now }, onNow }: { picture: Picture; onNow: () => void }) {
  const { timezone } = useSession().agency
  return (
    <div role="status">
      {at !== null && (
        <Note tone="warn">
          <p>
            <strong>This is the past: {momentText(at, timezone)}</strong> ({relativeTime(at)}).{' '}
            {past !== null && differenceText(past, now)}
          </p>
          <Button size="s" onClick={onNow}>
            Back to now
          </Button>
        </Note>
      )}
    </div>
  )
}

/** Why there is no picture of the moment. */
function NoPicture({ problem, onRetry }: { problem: Problem; onRetry: () => void }) {
  if (problem.status === 410)
    return (
      <EmptyState icon="clock" title="No longer kept">
        This unit’s history does not go back that far. Choose a later moment.
      </EmptyState>
    )
  if (problem.status === 404)
    return (
      <EmptyState icon="clock" title="Before this unit existed">
        The unit was added later. Choose a later moment.
      </EmptyState>
    )
  if (problem.of('asOf') !== undefined)
    return (
      <EmptyState icon="clock" title="That is in the future">
        Choose an earlier moment.
      </EmptyState>
    )
  return <ErrorNote problem={problem} onRetry={problem.isPassing ? onRetry : undefined} />
}
