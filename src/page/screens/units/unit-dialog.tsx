/** Master data of a unit: a new one, or changes. */
import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import type { Problem } from '../../api/problem.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { FormDialog } from '../../design/dialog.tsx'
import { ErrorNote } from '../../design/feedback.tsx'
import { Checkbox, FieldRow, FieldSet, MoneyInput, NumberInput, TextInput } from '../../design/inputs.tsx'
import { toast } from '../../design/toast.tsx'
import { navigate } from '../../route/router.ts'
import { bodyOf, changeOf, draftOf, missingOf, NEW_UNIT, slugOf, type Unit, type UnitDraft } from './unit-words.ts'

/** Asks for a new unit, makes it, and opens its prices. */
export function NewUnit({ onClose }: { onClose: () => void }) {
  const { path, currency } = useSession()
  const [draft, setDraft] = useState<UnitDraft>(NEW_UNIT)
  const [basePrice, setBasePrice] = useState<number | null>(null)
  const [minStay, setMinStay] = useState<number | null>(1)
  const [isSubmitted, setSubmitted] = useState(false)
  const { run, isRunning, problem } = useMutation({
    send: (body: ReturnType<typeof bodyOf> & { basePrice: number; minStay: number }, header) =>
      answerOf(client.POST('/portal/v1/agencies/{agencySlug}/units', { params: { path, header }, body })),
    invalidates: ['units'],
    onDone: ({ unit }) => {
      toast({ tone: 'good', text: `${unit.name} has been added. Set its rates next.` })
      onClose()
      navigate(['units', unit.slug])
    },
    report: 'inline',
  })
  const change = (changed: Partial<UnitDraft>) => {
    const next = { ...draft, ...changed }
    // Follows the name until it is edited itself.
    const follows = changed.name !== undefined && draft.slug === slugOf(draft.name)
    setDraft(follows ? { ...next, slug: slugOf(next.name) } : next)
  }
  const submit = () => {
    setSubmitted(true)
    if (Object.keys(missingOf(draft)).length > 0 || basePrice === null || minStay === null) return
    void run({ ...bodyOf(draft), basePrice, minStay })
  }
  return (
    <FormDialog title="Add unit" width="l" onClose={onClose} onSubmit={submit} action="Add unit" isBusy={isRunning}>
      <UnitFields
        draft={draft}
        onChange={change}
        isSubmitted={isSubmitted}
        problem={problem}
        slugHint="Identifies the unit in the API."
      />
      <FieldRow>
        <MoneyInput
          label="Base price per night"
          hint="Outside seasons, which you can add later."
          value={basePrice}
          onChange={setBasePrice}
          error={isSubmitted && basePrice === null ? 'Enter a price.' : problem?.of('basePrice')}
          {...currency}
        />
        <NumberInput
          label="Minimum stay"
          suffix="nights"
          min={1}
          value={minStay}
          onChange={setMinStay}
          error={isSubmitted && minStay === null ? 'Enter a number of nights.' : problem?.of('minStay')}
        />
      </FieldRow>
      {problem?.code !== 'SLUG_TAKEN' && <ErrorNote problem={problem} />}
    </FormDialog>
  )
}

/** Changes a unit's master data: only the fields that were edited are sent. */
export function EditUnit({ unit, onClose }: { unit: Unit; onClose: () => void }) {
  const { path } = useSession()
  const [before] = useState(() => draftOf(unit))
  const [draft, setDraft] = useState<UnitDraft>(before)
  const [isSubmitted, setSubmitted] = useState(false)
  const { run, isRunning, problem } = useMutation({
    send: (body: ReturnType<typeof changeOf>, header) =>
      answerOf(
        client.PATCH('/portal/v1/agencies/{agencySlug}/units/{unitSlug}', {
          params: { path: { ...path, unitSlug: unit.slug }, header },
          body,
        }),
      ),
    invalidates: ['units'],
    onDone: ({ unit: changed }) => {
      toast({ tone: 'good', text: `${changed.name} has been saved` })
      onClose()
      if (changed.slug !== unit.slug) navigate(['units', changed.slug], { tab: 'details' })
    },
    report: 'inline',
  })
  const submit = () => {
    setSubmitted(true)
    if (Object.keys(missingOf(draft)).length > 0) return
    const change = changeOf(before, draft)
    if (Object.keys(change).length === 0) onClose()
    else void run(change)
  }
  return (
    <FormDialog
      title={`Edit ${unit.name}`}
      width="l"
      onClose={onClose}
      onSubmit={submit}
      action="Save unit"
      isBusy={isRunning}
    >
      <UnitFields
        draft={draft}
        onChange={(change) => setDraft({ ...draft, ...change })}
        isSubmitted={isSubmitted}
        problem={problem}
        slugHint="If you change it, partners can no longer find the unit by the old one."
      />
      {problem?.code !== 'SLUG_TAKEN' && <ErrorNote problem={problem} />}
    </FormDialog>
  )
}

type Texts = { [F in keyof UnitDraft]: UnitDraft[F] extends string ? F : never }[keyof UnitDraft]
type Numbers = { [F in keyof UnitDraft]: UnitDraft[F] extends number | null ? F : never }[keyof UnitDraft]

/** The fields of a unit's master data. */
function UnitFields({
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
        <TextInput
          label="Registration number"
          isOptional
          spellcheck={false}
          hint="Listings in the EU must show it."
          {...text('registrationNumber')}
        />
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
