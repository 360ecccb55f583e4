import { useState } from 'preact/hooks'
import { useSession } from '../../../data/use-session.ts'
import { Badge } from '../../../design/badge.tsx'
import { Button } from '../../../design/button.tsx'
import { Card } from '../../../design/card.tsx'
import { EmptyState } from '../../../design/feedback.tsx'
import { DateInput, FieldRow, MoneyInput, NumberInput, TextInput } from '../../../design/inputs.tsx'
import { toast } from '../../../design/toast.tsx'
import { dayRange, dayText, todayIn } from '../../../format/days.ts'
import { money, plural } from '../../../format/numbers.ts'
import { FoldRow } from '../editing/fold-row.tsx'
import {
  dayOrNull,
  newKey,
  nextYear,
  type RatesErrors,
  type Saved,
  type SeasonDraft,
  seasonField,
} from './rates-draft.ts'
import type { RatesEditing } from './use-rates.ts'

/** Periods with a nightly price of their own. */
export function SeasonsCard({ editing, mayChange }: { editing: RatesEditing; mayChange: boolean }) {
  const { agency } = useSession()
  const { draft, base, change } = editing
  const { seasons } = draft
  const [open, setOpen] = useState<number | null>(null)
  const [showsPast, setShowsPast] = useState(false)
  const today = todayIn(agency.timezone)
  const isPast = ({ key, lastNight }: SeasonDraft) => key !== open && (dayOrNull(lastNight) ?? today) < today
  const past = seasons.filter(isPast)
  const shown = showsPast ? seasons : seasons.filter((season) => !isPast(season))

  const insert = (season: SeasonDraft, after: SeasonDraft | undefined) => {
    const index = after === undefined ? seasons.length : seasons.indexOf(after) + 1
    change({ seasons: seasons.toSpliced(index, 0, season) })
    setOpen(season.key)
  }
  const add = mayChange && (
    <Button
      size="s"
      icon="plus"
      onClick={() =>
        insert({ key: newKey(), name: '', from: '', lastNight: '', nightlyPrice: null, minStay: null }, seasons.at(-1))
      }
    >
      Add season
    </Button>
  )
  const remove = (season: SeasonDraft) => {
    const index = seasons.indexOf(season)
    change({ seasons: seasons.toSpliced(index, 1) })
    toast({
      text: `${season.name.trim() === '' ? 'The season' : season.name} is removed from the draft`,
      undo: () => change((now) => ({ seasons: now.seasons.toSpliced(index, 0, season) })),
    })
  }
  return (
    <Card title="Seasons" aside={add} isFlush>
      {seasons.length === 0 && (
        <EmptyState icon="calendar" title="No seasons yet">
          {mayChange
            ? 'Every night costs the base price. Add a season for the weeks that cost more, or less.'
            : 'Every night costs the base price.'}
        </EmptyState>
      )}
      {past.length > 0 && (
        <button type="button" class="rates-past" aria-expanded={showsPast} onClick={() => setShowsPast(!showsPast)}>
          {showsPast ? 'Hide' : 'Show'} {plural(past.length, 'past season')}
        </button>
      )}
      <ul>
        {shown.map((season) => (
          <SeasonRow
            key={season.key}
            season={season}
            base={base}
            errors={editing.errors}
            isOpen={season.key === open}
            mayChange={mayChange}
            onToggle={() => setOpen(season.key === open ? null : season.key)}
            onChange={(part) =>
              change({ seasons: seasons.map((other) => (other === season ? { ...other, ...part } : other)) })
            }
            onCopy={() => insert(nextYear(season), season)}
            onRemove={() => remove(season)}
          />
        ))}
      </ul>
    </Card>
  )
}

const FIELDS = ['name', 'from', 'lastNight', 'nightlyPrice', 'minStay'] as const

/** A season in one line, which opens to its fields. */
function SeasonRow({
  season,
  base,
  errors,
  isOpen,
  mayChange,
  onToggle,
  onChange,
  onCopy,
  onRemove,
}: {
  season: SeasonDraft
  base: Saved
  errors: RatesErrors
  isOpen: boolean
  mayChange: boolean
  onToggle: () => void
  onChange: (part: Partial<SeasonDraft>) => void
  onCopy: () => void
  onRemove: () => void
}) {
  const { currency } = useSession()
  const isWrong = FIELDS.some((field) => errors.has(seasonField(season.key, field)))
  const name = season.name.trim() === '' ? 'New season' : season.name
  return (
    <FoldRow
      name={
        <>
          {name} {isWrong ? <Badge tone="bad">Check</Badge> : <StateBadge season={season} base={base} />}
        </>
      }
      figure={season.nightlyPrice === null ? '—' : money(season.nightlyPrice, currency)}
      detail={
        <>
          {nightsText(season)}
          {season.minStay !== null && ` · at least ${plural(season.minStay, 'night')}`}
        </>
      }
      isOpen={isOpen}
      mayOpen={mayChange}
      onToggle={onToggle}
      actions={
        <>
          <Button tone="quiet" size="s" icon="copy" onClick={onCopy}>
            Copy to next year
          </Button>
          <Button tone="quiet" size="s" icon="close" aria-label={`Remove ${name}`} onClick={onRemove}>
            Remove
          </Button>
        </>
      }
    >
      <Fields season={season} errors={errors} onChange={onChange} />
    </FoldRow>
  )
}

function Fields({
  season,
  errors,
  onChange,
}: {
  season: SeasonDraft
  errors: RatesErrors
  onChange: (part: Partial<SeasonDraft>) => void
}) {
  const { currency } = useSession()
  // A new season is not full of errors before anything has been typed.
  const [visited, setVisited] = useState<readonly (keyof SeasonDraft)[]>(season.name === '' ? [] : FIELDS)
  const input = (field: (typeof FIELDS)[number]) => {
    const isEmpty = season[field] === '' || season[field] === null
    return {
      error: isEmpty && !visited.includes(field) ? undefined : errors.get(seasonField(season.key, field)),
      onBlur: () => setVisited((before) => (before.includes(field) ? before : [...before, field])),
    }
  }
  return (
    <>
      <TextInput
        label="Name"
        autocomplete="off"
        autofocus={season.name === ''}
        placeholder="Summer"
        maxLength={120}
        value={season.name}
        onChange={(name) => onChange({ name })}
        {...input('name')}
      />
      <FieldRow>
        <DateInput label="First night" value={season.from} onChange={(from) => onChange({ from })} {...input('from')} />
        <DateInput
          label="Last night"
          value={season.lastNight}
          {...(season.from === '' ? {} : { min: season.from })}
          onChange={(lastNight) => onChange({ lastNight })}
          {...input('lastNight')}
        />
      </FieldRow>
      <FieldRow>
        <MoneyInput
          label="Price per night"
          value={season.nightlyPrice}
          onChange={(nightlyPrice) => onChange({ nightlyPrice })}
          {...input('nightlyPrice')}
          {...currency}
        />
        <NumberInput
          label="Minimum stay"
          isOptional
          hint="For arrivals in the season"
          suffix="nights"
          min={1}
          value={season.minStay}
          onChange={(minStay) => onChange({ minStay })}
          {...input('minStay')}
        />
      </FieldRow>
    </>
  )
}

/** New and changed seasons are marked until they are saved. */
function StateBadge({ season, base }: { season: SeasonDraft; base: Saved }) {
  const last = dayOrNull(season.lastNight)
  const isSaved = base.rates.seasons.some(
    ({ name, from, to, nightlyPrice, minStay }) =>
      from === season.from &&
      dayOrNull(to) === (last ?? 0) + 1 &&
      name === season.name.trim() &&
      nightlyPrice === season.nightlyPrice &&
      minStay === season.minStay,
  )
  return isSaved ? null : <Badge tone="accent">Not saved</Badge>
}

function nightsText({ from, lastNight }: SeasonDraft): string {
  const [first, last] = [dayOrNull(from), dayOrNull(lastNight)]
  if (first === null || last === null || last < first) return 'Dates missing'
  return first === last ? dayText(first) : dayRange(first, last)
}
