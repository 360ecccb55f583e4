import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { ConfirmDialog } from '../../design/dialog.tsx'
import { Note } from '../../design/feedback.tsx'
import { toast } from '../../design/toast.tsx'
import { nameText } from '../../format/texts.ts'
import type { Person } from './person-table.tsx'

/** Asks before a person loses access permanently. */
export function RemovePerson({ person, onClose }: { person: Person; onClose: () => void }) {
  const { path, actor } = useSession()
  const name = nameText(person.name)
  const { run, isRunning, problem } = useMutation({
    send: (personId: string, header) =>
      answerOf(
        client.DELETE('/portal/v1/agencies/{agencySlug}/people/{personId}', {
          params: { path: { ...path, personId }, header },
        }),
      ),
    invalidates: ['people'],
    onDone: () => {
      toast({ tone: 'good', text: `${name} has been removed` })
      onClose()
    },
    report: 'inline',
  })
  return (
    <ConfirmDialog
      title={`Remove ${name}?`}
      action="Remove person"
      isBusy={isRunning}
      problem={problem}
      onConfirm={() => void run(person.id)}
      onClose={onClose}
    >
      <p>
        {name} is signed out immediately, and their passkeys and links stop working. What they did stays in the audit
        trail under their name.
      </p>
      {person.id === actor.id && <Note tone="warn">This is you: you will no longer be able to sign in.</Note>}
    </ConfirmDialog>
  )
}
