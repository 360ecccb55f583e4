import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { ConfirmDialog } from '../../design/dialog.tsx'
import { Note } from '../../design/feedback.tsx'
import { nameText } from '../../format/texts.ts'
import { type Invitation, InvitationDialog } from './invitation-dialog.tsx'
import type { Person } from './person-table.tsx'

/** Another link for a person whose first one was lost or has expired, or who has lost all their devices. */
export function SendLink({ person, onClose }: { person: Person; onClose: () => void }) {
  const { path } = useSession()
  const [invitation, setInvitation] = useState<Invitation | null>(null)
  const { run, isRunning, problem } = useMutation({
    send: (personId: string, header) =>
      answerOf(
        client.POST('/portal/v1/agencies/{agencySlug}/people/{personId}/invitations', {
          params: { path: { ...path, personId }, header },
        }),
      ),
    invalidates: ['people'],
    onDone: (answer) => setInvitation(answer.invitation),
    report: 'inline',
  })
  const name = nameText(person.name)
  if (invitation !== null) {
    return <InvitationDialog title={`A link for ${name}`} person={person} invitation={invitation} onClose={onClose} />
  }
  return (
    <ConfirmDialog
      title={`Send ${name} another link?`}
      action="Create link"
      tone="primary"
      isBusy={isRunning}
      problem={problem}
      onConfirm={() => void run(person.id)}
      onClose={onClose}
    >
      {person.invitedUntil !== null && <p>Their current link will stop working.</p>}
      {person.passkeys === 0 ? (
        <p>The link lets {name} create a passkey and sign in.</p>
      ) : (
        <>
          <p>Do this if {name} has lost their devices. The link lets them create a new passkey.</p>
          <Note tone="warn">
            When {name} uses the link, their old passkeys
            {person.passkeys === null ? '' : ` (${person.passkeys})`} stop working and all their sessions end. To add a
            device, they can create a passkey under “Your account” instead.
          </Note>
        </>
      )}
    </ConfirmDialog>
  )
}
