import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { type Endpoint, endpointName, isWaiting, waitingText } from '../../deliveries/endpoints.tsx'
import { Button } from '../../design/button.tsx'
import { Radio } from '../../design/choices.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { ErrorNote } from '../../design/feedback.tsx'
import { FieldSet } from '../../design/inputs.tsx'
import { toast } from '../../design/toast.tsx'

type Pending = 'resend' | 'drop'

/** Switches a disabled endpoint on, after asking what becomes of all that has waited. */
export function SwitchOn({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const { path } = useSession()
  const [pending, setPending] = useState<Pending>('resend')
  const endpointPath = { ...path, endpointId: endpoint.id }
  const { run, isRunning, problem } = useMutation({
    send: (body: { status: 'active'; pending: Pending }, header) =>
      answerOf(
        client.PATCH('/portal/v1/agencies/{agencySlug}/webhook-endpoints/{endpointId}', {
          params: { path: endpointPath, header },
          body,
        }),
      ),
    invalidates: ['webhooks', 'audit'],
    report: 'inline',
    onDone: () => {
      const rest = pending === 'resend' ? 'waiting messages are being sent' : 'waiting messages were dropped'
      toast({ tone: 'good', text: `${endpointName(endpoint)} is switched on, and ${rest}` })
      onClose()
    },
  })
  return (
    <Dialog
      title={`Switch on ${endpointName(endpoint)}`}
      onClose={onClose}
      onSubmit={() => void run({ status: 'active', pending })}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" isBusy={isRunning}>
            {pending === 'resend' ? 'Switch on and send' : 'Switch on and drop'}
          </Button>
        </>
      }
    >
      <p>
        {isWaiting(endpoint)
          ? `Waiting to be sent: ${waitingText(endpoint)}.`
          : 'Nothing is waiting to be sent. It will receive the next change.'}
      </p>
      <FieldSet legend="Waiting messages">
        <div class="webhooks-choice">
          <Radio
            group="pending"
            isChosen={pending === 'resend'}
            onChoose={() => setPending('resend')}
            label="Send them now, in order"
            hint="The receiver catches up on everything it missed."
          />
          <Radio
            group="pending"
            isChosen={pending === 'drop'}
            onChoose={() => setPending('drop')}
            label="Drop them"
            hint="The receiver is never sent them. Choose this if it has caught up in another way."
          />
        </div>
      </FieldSet>
      <ErrorNote problem={problem} />
    </Dialog>
  )
}
