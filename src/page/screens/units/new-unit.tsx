import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { ErrorNote } from '../../design/feedback.tsx'
import { FieldRow, MoneyInput, NumberInput } from '../../design/inputs.tsx'
import { toast } from '../../design/toast.tsx'
import { navigate } from '../../route/router.ts'
import { bodyOf, missingOf, NEW_UNIT, type UnitDraft } from './unit-draft.ts'
import { UnitFields } from './unit-fields.tsx'
import { slugOf } from './unit-words.ts'

/** Asks for a new unit, makes it, and goes on to its prices. */
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
    <Dialog
      title="Add unit"
      width="l"
      onClose={onClose}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" isBusy={isRunning}>
            Add unit
          </Button>
        </>
      }
    >
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
    </Dialog>
  )
}
