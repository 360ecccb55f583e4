import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { ErrorNote } from '../../design/feedback.tsx'
import { toast } from '../../design/toast.tsx'
import { navigate } from '../../route/router.ts'
import { changeOf, draftOf, missingOf, type UnitDraft } from './unit-draft.ts'
import { UnitFields } from './unit-fields.tsx'
import type { Unit } from './unit-words.ts'

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
    <Dialog
      title={`Edit ${unit.name}`}
      width="l"
      onClose={onClose}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" isBusy={isRunning}>
            Save unit
          </Button>
        </>
      }
    >
      <UnitFields
        draft={draft}
        onChange={(change) => setDraft({ ...draft, ...change })}
        isSubmitted={isSubmitted}
        problem={problem}
        slugHint="If you change it, partners can no longer find the unit by the old one."
      />
      {problem?.code !== 'SLUG_TAKEN' && <ErrorNote problem={problem} />}
    </Dialog>
  )
}
