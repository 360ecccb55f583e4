import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { ConfirmDialog } from '../../design/dialog.tsx'
import { toast } from '../../design/toast.tsx'
import { type Key, keyName } from './key-state.ts'

/** Asks before a key is closed for good. */
export function RevokeKey({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const { path } = useSession()
  const { run, isRunning, problem } = useMutation({
    send: (keyId: string, header) =>
      answerOf(
        client.DELETE('/portal/v1/agencies/{agencySlug}/keys/{keyId}', {
          params: { path: { ...path, keyId }, header },
        }),
      ),
    invalidates: ['keys'],
    onDone: () => {
      toast({ tone: 'good', text: `${keyName(apiKey)} has been revoked` })
      onClose()
    },
    report: 'inline',
  })
  return (
    <ConfirmDialog
      title={`Revoke ${keyName(apiKey)}?`}
      action="Revoke key"
      isBusy={isRunning}
      problem={problem}
      onConfirm={() => void run(apiKey.id)}
      onClose={onClose}
    >
      <p>Requests with this key are refused immediately. A revoked key cannot be restored.</p>
    </ConfirmDialog>
  )
}
