import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { ConfirmDialog } from '../../design/dialog.tsx'
import { toast } from '../../design/toast.tsx'
import { UNIT_STATUSES, type Unit, type UnitStatus } from './unit-words.ts'

const DONE: Readonly<Record<UnitStatus, string>> = {
  active: 'is active',
  draft: 'is a draft again',
  archived: 'is archived',
}

interface Change {
  readonly status: UnitStatus
  readonly before: UnitStatus
}

function useStatusChange(unit: Unit, report: 'inline' | 'toast', onDone: (change: Change) => void) {
  const { path } = useSession()
  return useMutation({
    send: ({ status }: Change, header) =>
      answerOf(
        client.PATCH('/portal/v1/agencies/{agencySlug}/units/{unitSlug}', {
          params: { path: { ...path, unitSlug: unit.slug }, header },
          body: { status },
        }),
      ),
    invalidates: ['units'],
    onDone: (_, change) => onDone(change),
    report,
  })
}

/** Buttons that archive a unit, and bring it back. */
export function UnitStatusButtons({ unit }: { unit: Unit }) {
  const [isAsking, setAsking] = useState(false)
  const done = ({ status, before }: Change) => {
    setAsking(false)
    const undo = () => void direct.run({ status: before, before: status })
    toast({ tone: 'good', text: `${unit.name} ${DONE[status]}`, undo })
  }
  const direct = useStatusChange(unit, 'toast', done)
  const asked = useStatusChange(unit, 'inline', done)
  if (unit.status === 'archived') {
    return (
      <Button isBusy={direct.isRunning} onClick={() => void direct.run({ status: 'active', before: 'archived' })}>
        Reactivate
      </Button>
    )
  }
  return (
    <>
      {unit.status === 'draft' && (
        <Button isBusy={direct.isRunning} onClick={() => void direct.run({ status: 'active', before: 'draft' })}>
          Make active
        </Button>
      )}
      <Button
        onClick={() => {
          asked.reset()
          setAsking(true)
        }}
      >
        Archive
      </Button>
      {isAsking && (
        <ConfirmDialog
          title={`Archive ${unit.name}?`}
          action="Archive unit"
          isBusy={asked.isRunning}
          problem={asked.problem}
          onConfirm={() => void asked.run({ status: 'archived', before: unit.status })}
          onClose={() => setAsking(false)}
        >
          <p>
            {UNIT_STATUSES.archived.hint} Its bookings and rates stay as they are. Channels no longer get its calendar.
            You can reactivate it at any time.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
