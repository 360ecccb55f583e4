import { useId } from 'preact/hooks'
import { Badge } from '../../../design/badge.tsx'
import { Button } from '../../../design/button.tsx'
import { Icon } from '../../../design/icon.tsx'
import { DateInput, FieldRow, MoneyInput, NumberInput, TextInput } from '../../../design/inputs.tsx'
import { plural } from '../../../format/count.ts'
import { dayRange, dayText } from '../../../format/days.ts'
import { money } from '../../../format/money.ts'
import { useSession } from '../../../session/use-session.ts'
import { dayOrNull, type Saved, type SeasonDraft } from './rates-draft.ts'
import { type RatesErrors, seasonField } from './rates-errors.ts'

/** A season in one line, which opens to its fields. */
export function SeasonRow({
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
  const id = useId()
  const fields = ['name', 'from', 'lastNight', 'nightlyPrice', 'minStay'] as const
  const isWrong = fields.some((field) => errors.has(seasonField(season.key, field)))
  const name = season.name.trim() === '' ? 'New season' : season.name
  return (
    <li class={isOpen ? 'rates-season rates-season-open' : 'rates-season'}>
      <button
        type="button"
        class="rates-season-line"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        disabled={!mayChange}
        onClick={onToggle}
      >
        <span class="rates-season-name">
          {name} {isWrong ? <Badge tone="bad">Check</Badge> : <StateBadge season={season} base={base} />}
        </span>
        <span class="rates-season-price numeric">
          {season.nightlyPrice === null ? '—' : money(season.nightlyPrice, currency)}
        </span>
        <span class="rates-season-detail">
          {nightsText(season)}
          {season.minStay !== null && ` · at least ${plural(season.minStay, 'night')}`}
        </span>
        {mayChange && <Icon name={isOpen ? 'up' : 'down'} size={14} />}
      </button>
      {isOpen && (
        <div class="rates-season-fields" id={id}>
          <Fields season={season} errors={errors} onChange={onChange} />
          <div class="rates-season-actions">
            <Button tone="quiet" size="s" icon="copy" onClick={onCopy}>
              Copy to next year
            </Button>
            <Button tone="quiet" size="s" icon="close" aria-label={`Remove ${name}`} onClick={onRemove}>
              Remove
            </Button>
          </div>
        </div>
      )}
    </li>
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
  const errorOf = (field: keyof SeasonDraft) => errors.get(seasonField(season.key, field))
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
        error={errorOf('name')}
      />
      <FieldRow>
        <DateInput
          label="First night"
          value={season.from}
          onChange={(from) => onChange({ from })}
          error={errorOf('from')}
        />
        <DateInput
          label="Last night"
          value={season.lastNight}
          {...(season.from === '' ? {} : { min: season.from })}
          onChange={(lastNight) => onChange({ lastNight })}
          error={errorOf('lastNight')}
        />
      </FieldRow>
      <FieldRow>
        <MoneyInput
          label="Price per night"
          value={season.nightlyPrice}
          onChange={(nightlyPrice) => onChange({ nightlyPrice })}
          error={errorOf('nightlyPrice')}
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
          error={errorOf('minStay')}
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
