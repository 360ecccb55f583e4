import type { Problem } from '../../api/problem.ts'
import { Checkbox, FieldRow, FieldSet, NumberInput, TextInput } from '../../design/inputs.tsx'
import { missingOf, type UnitDraft } from './unit-draft.ts'

type Texts = { [F in keyof UnitDraft]: UnitDraft[F] extends string ? F : never }[keyof UnitDraft]
type Numbers = { [F in keyof UnitDraft]: UnitDraft[F] extends number | null ? F : never }[keyof UnitDraft]

/** The fields of a unit's master data. */
export function UnitFields({
  draft,
  onChange,
  isSubmitted,
  problem,
  slugHint,
}: {
  draft: UnitDraft
  onChange: (change: Partial<UnitDraft>) => void
  /** What is missing is said only then. */
  isSubmitted: boolean
  problem: Problem | null
  slugHint: string
}) {
  const missing = isSubmitted ? missingOf(draft) : {}
  const errorOf = (field: keyof UnitDraft) =>
    missing[field] ??
    problem?.of(field) ??
    (field === 'slug' && problem?.code === 'SLUG_TAKEN' ? problem.message : undefined)
  const text = (field: Texts) => ({
    value: draft[field],
    onChange: (value: string) => onChange({ [field]: value }),
    error: errorOf(field),
    autocomplete: 'off',
  })
  const number = (field: Numbers) => ({
    value: draft[field],
    onChange: (value: number | null) => onChange({ [field]: value }),
    error: errorOf(field),
    min: 0,
  })
  return (
    <div class="units-fields">
      <FieldRow>
        <TextInput label="Name" autofocus {...text('name')} />
        <TextInput label="Slug" isCode spellcheck={false} hint={slugHint} {...text('slug')} />
      </FieldRow>
      <FieldSet legend="Location">
        <FieldRow>
          <TextInput label="Building" isOptional {...text('building')} />
          <TextInput label="Area" isOptional {...text('area')} />
          <TextInput label="City" isOptional {...text('city')} />
        </FieldRow>
      </FieldSet>
      <FieldSet legend="Size">
        <div class="units-sizes">
          <NumberInput label="Guests" {...number('maxGuests')} min={1} />
          <NumberInput label="Bedrooms" {...number('bedrooms')} />
          <NumberInput label="Beds" {...number('beds')} />
          <NumberInput label="Bathrooms" step={0.5} {...number('bathrooms')} />
          <NumberInput label="Floor area, m²" step={0.1} {...number('sizeSqm')} />
        </div>
      </FieldSet>
      <FieldSet legend="Check-in and check-out">
        <FieldRow>
          <TextInput label="Check-in from" type="time" {...text('checkinTime')} />
          <TextInput label="Check-out until" type="time" {...text('checkoutTime')} />
        </FieldRow>
        <Checkbox
          label="Instant booking"
          hint="If off, partners tell guests that you confirm each stay."
          isChecked={draft.instantBook}
          onChange={(instantBook) => onChange({ instantBook })}
        />
      </FieldSet>
    </div>
  )
}
