import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { ConfirmDialog } from '../../design/dialog.tsx'
import { Note } from '../../design/feedback.tsx'
import { toast } from '../../design/toast.tsx'
import type { Token } from './roles.ts'

/** Asks before a person is shut out for good. */
export function RevokeAccess({
  token,
  isLastOwner,
  onClose,
}: {
  token: Token
  isLastOwner: boolean
  onClose: () => void
}) {
  const { path, actor } = useSession()
  const isOwn = token.id === actor.id
  const { run, isRunning, problem } = useMutation({
    send: (tokenId: string, header) =>
      answerOf(
        client.DELETE('/portal/v1/agencies/{agencySlug}/access-tokens/{tokenId}', {
          params: { path: { ...path, tokenId }, header },
        }),
      ),
    invalidates: ['people'],
    onDone: () => {
      toast({ tone: 'good', text: `${token.name}’s access has been revoked` })
      onClose()
    },
    report: 'inline',
  })
  return (
    <ConfirmDialog
      title={`Revoke ${token.name}’s access?`}
      action="Revoke access"
      isBusy={isRunning}
      problem={problem}
      onConfirm={() => void run(token.id)}
      onClose={onClose}
    >
      <p>
        {isOwn ? 'You are' : `${token.name} is`} signed out immediately, and the token stops working. A revoked token
        cannot be restored, but you can create a new one.
      </p>
      {isOwn && <Note tone="warn">This is your own access: you will not be able to sign in with it again.</Note>}
      {isLastOwner && (
        <Note tone="warn">
          This is the last owner. Without one, only the operator of the service can give access again.
        </Note>
      )}
    </ConfirmDialog>
  )
}
