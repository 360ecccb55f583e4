import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { Note } from '../../design/feedback.tsx'
import { SecretDialog } from '../../design/secret-dialog.tsx'

/** Shows the secret that messages are signed with, once. `secret`: null when it was lost on the way. */
export function SigningSecret({
  title,
  secret,
  onClose,
}: {
  title: string
  secret: string | null
  onClose: () => void
}) {
  if (secret === null)
    return (
      <Dialog
        title="The secret was not received"
        width="s"
        onClose={onClose}
        footer={
          <Button tone="primary" onClick={onClose}>
            Close
          </Button>
        }
      >
        <Note tone="warn">
          <p>
            The connection broke before the secret arrived, and it cannot be shown again. Rotate it to get a new one.
          </p>
        </Note>
      </Dialog>
    )
  return (
    <SecretDialog title={title} label="Signing secret" isHashed={false} secret={secret} onStored={onClose}>
      <p class="muted">
        The receiver needs it to verify that messages come from here. They follow Standard Webhooks, whose libraries
        check the headers <code>webhook-id</code>, <code>webhook-timestamp</code> and <code>webhook-signature</code>.
      </p>
    </SecretDialog>
  )
}
