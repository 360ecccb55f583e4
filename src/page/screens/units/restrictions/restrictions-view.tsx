import './restrictions.css'
import { useMemo, useState } from 'preact/hooks'
import { answerOf, client } from '../../../api/client.ts'
import type { RestrictionsPreview } from '../../../api/schema.ts'
import { useSession } from '../../../data/use-session.ts'
import { Button, IconButton } from '../../../design/button.tsx'
import { Card } from '../../../design/card.tsx'
import { Note } from '../../../design/feedback.tsx'
import { NumberInput } from '../../../design/inputs.tsx'
import { type Day, dayOf, dayText, isoOf, monthStart, parseDay, todayIn } from '../../../format/days.ts'
import { plural } from '../../../format/numbers.ts'
import { useIsPhone } from '../../../lib/hooks.ts'
import { setQuery, useRoute } from '../../../route/router.ts'
import { RestrictedDays } from '../../../stays/restrictions.ts'
import { ConflictNote, SaveBar } from '../editing/save-bar.tsx'
import { usePreview } from '../editing/use-preview.ts'
import { type DaySpan, MarksLegend, RestrictionGrid } from './restriction-grid.tsx'
import {
  newRow,
  type RestrictionsDraft,
  ROWS_MAX,
  type RowDraft,
  restrictionsChanges,
  restrictionsOf,
  rowDates,
} from './restrictions-draft.ts'
import { RuleFields } from './rule-fields.tsx'
import { RulesCard } from './rules-card.tsx'
import { SalesPreview } from './sales-preview.tsx'
import type { RestrictionsEditing } from './use-restrictions.ts'

const PREVIEW_DAYS = 366

/** Which stays in a unit partners can book: the rules by day, as a list, and the difference that unsaved changes make. */
export function RestrictionsView({ editing }: { editing: RestrictionsEditing }) {
  const { may, agency, path } = useSession()
  const { query } = useRoute()
  const mayChange = may('manager')
  const { slug, base, draft, errors, theirs } = editing
  const today = todayIn(agency.timezone)
  const start = monthStart(parseDay(query['from'] ?? '') ?? today)
  const [nights, setNights] = useState<number | null>(null)
  const from = Math.max(today, start)
  const restrictions = errors.size > 0 ? null : restrictionsOf(draft)
  const request = restrictions && { slug, restrictions, from: isoOf(from), to: isoOf(from + PREVIEW_DAYS), nights }
  const { preview, isBehind, problem } = usePreview(
    request,
    ({ slug, ...body }, signal): Promise<RestrictionsPreview> => {
      const params = { path: { ...path, unitSlug: slug } }
      return answerOf(
        client.POST('/portal/v1/agencies/{agencySlug}/units/{unitSlug}/restrictions/preview', { params, body, signal }),
      )
    },
  )
  const changes = useMemo(
    () => new Map(preview?.changes.map(({ arrival, isSold }) => [dayOf(arrival), isSold ? 'gained' : 'lost'] as const)),
    [preview],
  )
  return (
    <>
      {theirs !== null && (
        <ConflictNote what="restrictions" changes={restrictionsChanges(base, theirs)} editing={editing} />
      )}
      {!mayChange && <Note>Only managers and owners can change restrictions.</Note>}
      <div class="restrictions">
        <div class="restrictions-column">
          <DaysCard {...{ editing, mayChange, start, today, changes }} />
          <SalesPreview
            {...{ preview, problem, nights }}
            isBehind={isBehind || errors.size > 0}
            isUnsaved={editing.isUnsaved}
            onNights={setNights}
            window={`between ${dayText(from)} and ${dayText(from + PREVIEW_DAYS - 1)}`}
          />
        </div>
        <fieldset class="restrictions-column editing-fields" disabled={!mayChange} aria-label="Restrictions">
          <RulesCard editing={editing} mayChange={mayChange} />
          <TimesCard editing={editing} />
        </fieldset>
      </div>
      {editing.isUnsaved && (
        <SaveBar
          action="Save restrictions"
          changes={restrictions === null ? [] : restrictionsChanges(base, restrictions)}
          editing={editing}
        />
      )}
    </>
  )
}

/** Rows that are not complete yet are left out. */
function daysOf(draft: RestrictionsDraft): RestrictedDays {
  const isWhole = ({ from, last, value }: RowDraft) =>
    value !== null && [from, last].every((day) => day === '' || parseDay(day) !== null)
  return new RestrictedDays(restrictionsOf({ ...draft, rows: draft.rows.filter(isWhole) }).restrictions)
}

function DaysCard({
  editing: { draft, change },
  mayChange,
  start,
  today,
  changes,
}: {
  editing: RestrictionsEditing
  mayChange: boolean
  start: Day
  today: Day
  changes: ReadonlyMap<Day, 'lost' | 'gained'>
}) {
  const count = useIsPhone() ? 2 : 4
  const months = Array.from({ length: count }, (_, index) => monthStart(start, index))
  const days = useMemo(() => daysOf(draft), [draft])
  const [selected, setSelected] = useState<DaySpan | null>(null)
  const go = (by: number) => setQuery({ from: isoOf(monthStart(start, by)) }, { replace: true })
  return (
    <Card
      title={`${dayText(start, 'shortMonthYear')} – ${dayText(monthStart(start, count - 1), 'shortMonthYear')}`}
      aside={
        <div class="day-steps">
          <IconButton icon="left" label="Earlier months" onClick={() => go(-count)} />
          <IconButton icon="right" label="Later months" onClick={() => go(count)} />
        </div>
      }
    >
      <div class="form">
        <RestrictionGrid
          {...{ months, days, changes, today, selected }}
          onSelect={mayChange ? setSelected : undefined}
        />
        <MarksLegend hasChanges={changes.size > 0} />
        {selected !== null && (
          <NewRule
            key={`${selected.first} ${selected.last}`}
            span={selected}
            isFull={draft.rows.length >= ROWS_MAX}
            onAdd={(row) => change((now) => ({ rows: [...now.rows, newRow(row)] }))}
            onClose={() => setSelected(null)}
          />
        )}
      </div>
    </Card>
  )
}

/** The rule to set for the selected days. */
function NewRule({
  span: { first, last },
  isFull,
  onAdd,
  onClose,
}: {
  span: DaySpan
  isFull: boolean
  onAdd: (row: Partial<RowDraft>) => void
  onClose: () => void
}) {
  const [rule, setRule] = useState<Pick<RowDraft, 'rule' | 'value' | 'weekdays'>>(() => newRow({}))
  const [added, setAdded] = useState<typeof rule | null>(null)
  const row = { from: isoOf(first), last: isoOf(last), rule: rule.rule, value: rule.value, weekdays: rule.weekdays }
  const isComplete = rule.value !== null && rule.weekdays.length > 0
  return (
    <section class="restriction-new" aria-label="New rule">
      <div class="restriction-new-head">
        <strong>{rowDates({ ...row, weekdays: [1, 2, 3, 4, 5, 6, 7] })}</strong>
        <span class="muted">{plural(last - first + 1, 'day')}</span>
        <IconButton icon="close" label="Clear the selection" onClick={onClose} />
      </div>
      <RuleFields row={rule} errorOf={() => undefined} onChange={setRule} />
      <div class="restriction-new-foot">
        <Button
          tone="primary"
          disabled={!isComplete || isFull}
          onClick={() => {
            onAdd(row)
            setAdded(rule)
          }}
        >
          Set rule
        </Button>
        <span class="muted" role="status">
          {isFull ? `There are ${ROWS_MAX} rules already.` : added === rule ? 'Added at the end of the list.' : ''}
        </span>
      </div>
    </section>
  )
}

function TimesCard({ editing: { draft, errors, change } }: { editing: RestrictionsEditing }) {
  return (
    <Card title="When stays can be booked">
      <div class="field-pairs">
        <NumberInput
          label="Advance notice"
          hint="Before check-in. Empty: none."
          suffix="hours"
          min={0}
          value={draft.advanceNoticeHours}
          error={errors.get('advanceNoticeHours')}
          onChange={(advanceNoticeHours) => change({ advanceNoticeHours })}
        />
        <NumberInput
          label="Booking window"
          hint="From today to the arrival. Empty: none."
          suffix="days"
          min={1}
          value={draft.bookingWindowDays}
          error={errors.get('bookingWindowDays')}
          onChange={(bookingWindowDays) => change({ bookingWindowDays })}
        />
      </div>
    </Card>
  )
}
