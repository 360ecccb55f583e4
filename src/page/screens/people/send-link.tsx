import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { ConfirmDialog } from '../../design/dialog.tsx'
import { Note } from '../../design/feedback.tsx'
import { plural } from '../../format/numbers.ts'
import { nameText } from '../../format/texts.ts'
import { type Invitation, InvitationDialog } from './invitation-dialog.tsx'
import type { Person } from './person-table.tsx'

/** Another link for a person: the first was lost or is too old, or all their devices are. */
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
      {person.invitedUntil !== null && <p>The link that they have now stops working.</p>}
      {person.passkeys === 0 ? (
        <p>With the link, {name} creates a passkey and is signed in.</p>
      ) : (
        <>
          <p>Do this when {name} has lost their devices. With the link they create a new passkey.</p>
          <Note tone="warn">
            When the link is used, the old passkeys end
            {person.passkeys === null ? '' : ` (${plural(person.passkeys, 'passkey')})`}, and so do all sessions of{' '}
            {name}. To use one more device, they add a passkey under “Your account” instead.
          </Note>
        </>
      )}
    </ConfirmDialog>
  )
}
