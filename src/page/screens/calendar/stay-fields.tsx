import type { ChartUnit } from '../../chart/stay.ts'
import { IconButton } from '../../design/button.tsx'
import { Note } from '../../design/feedback.tsx'
import { Checkbox, FieldRow, NumberInput, Select } from '../../design/inputs.tsx'
import { plural } from '../../format/numbers.ts'
import type { TriedStay } from '../../stays/booking-writes.ts'
import type { Placement } from '../../stays/move-dialog.tsx'
import { RestrictionWarning } from '../../stays/restriction-warning.tsx'
import { StayDates } from '../../stays/stay-dates.tsx'

/** How many guests. Null: not entered. */
export interface Party {
  readonly adults: number | null
  readonly children: number | null
  readonly extraBed: boolean
}

interface StayFieldsProps {
  readonly units: readonly ChartUnit[]
  readonly at: Placement
  /** Null for a stay without guests. */
  readonly party: Party | null
  readonly warnings: TriedStay['warnings']
  /** Why the service refuses this stay of a group. */
  readonly refusal: string | null
  readonly onPlaced: (at: Placement) => void
  readonly onParty: (party: Party) => void
}

/** Unit, dates and number of guests of a new stay. */
export function StayFields({ units, at, party, warnings, refusal, onPlaced, onParty }: StayFieldsProps) {
  const { arrival, departure } = at
  return (
    <>
      <Select
        label="Unit"
        value={at.unit}
        options={units.filter(({ isArchived }) => !isArchived).map(({ slug, name }) => ({ value: slug, label: name }))}
        onChange={(unit) => onPlaced({ ...at, unit })}
      />
      <StayDates
        at={at}
        hint={plural(departure - arrival, 'night')}
        onChange={(dates) => onPlaced({ ...at, ...dates })}
      />
      {refusal !== null && (
        <Note tone="bad" role="alert">
          <p>{refusal}</p>
        </Note>
      )}
      <RestrictionWarning
        warnings={warnings}
        onArrival={(day) => onPlaced({ ...at, arrival: day, departure: day + departure - arrival })}
      />
      {party !== null && (
        <>
          <FieldRow>
            <NumberInput
              label="Adults"
              min={1}
              max={20}
              value={party.adults}
              onChange={(adults) => onParty({ ...party, adults })}
            />
            <NumberInput
              label="Children"
              min={0}
              max={10}
              value={party.children}
              onChange={(children) => onParty({ ...party, children })}
            />
          </FieldRow>
          {(party.children ?? 0) > 0 && (
            <Checkbox
              label="Extra bed"
              isChecked={party.extraBed}
              onChange={(extraBed) => onParty({ ...party, extraBed })}
            />
          )}
        </>
      )}
    </>
  )
}

/** One of several stays that are booked together, with a button that removes it. */
export function StayOfSeveral({
  place,
  onRemove,
  ...props
}: StayFieldsProps & { place: number; onRemove: () => void }) {
  const legend = `Stay ${place}`
  return (
    <fieldset class="fieldset stay-form">
      <legend class="visually-hidden">{legend}</legend>
      <div class="stay-of-several">
        <span aria-hidden="true">{legend}</span>
        <IconButton icon="close" label={`Remove stay ${place}`} onClick={onRemove} />
      </div>
      <StayFields {...props} />
    </fieldset>
  )
}
