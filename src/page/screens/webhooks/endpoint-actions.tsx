/** What can be done with an endpoint besides changing it: test it, switch it on, delete it. */
import { useEffect, useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { resources } from '../../data/resources.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { attemptWords, type Delivery, isAccepted } from '../../deliveries/delivery-list.tsx'
import { type Endpoint, endpointName, isWaiting, waitingText } from '../../deliveries/endpoints.tsx'
import { Button } from '../../design/button.tsx'
import { ConfirmDialog, Dialog, FormDialog } from '../../design/dialog.tsx'
import { ErrorNote, Note, Skeleton } from '../../design/feedback.tsx'
import { FieldSet, Radio } from '../../design/inputs.tsx'
import { toast } from '../../design/toast.tsx'
import { navigate } from '../../route/router.ts'

/** Sends a test message and shows what the receiver answered. */
export function Ping({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const { path } = useSession()
  const [delivery, setDelivery] = useState<Delivery | null>(null)
  const ping = useMutation({
    send: (endpointId: string, header) =>
      answerOf(
        client.POST('/portal/v1/agencies/{agencySlug}/webhook-endpoints/{endpointId}/ping', {
          params: { path: { ...path, endpointId }, header },
        }),
      ),
    invalidates: ['webhooks', 'audit'],
    onDone: (answer) => setDelivery(answer.delivery),
    report: 'inline',
  })
  useEffect(() => void ping.run(endpoint.id), [])
  const attempt = delivery?.attempts[0]
  const isGood = attempt !== undefined && isAccepted(attempt)
  return (
    <Dialog
      title={`Test of ${endpointName(endpoint)}`}
      width="s"
      onClose={onClose}
      footer={
        <>
          <Button icon="refresh" isBusy={ping.isRunning} onClick={() => void ping.run(endpoint.id)}>
            Send another
          </Button>
          <Button tone="primary" onClick={onClose}>
            Close
          </Button>
        </>
      }
    >
      <ErrorNote problem={ping.problem} />
      {ping.isRunning && (
        <div class="webhooks-ping">
          <p>Sending a test message. The receiver has 10 seconds to answer.</p>
          <Skeleton lines={2} />
        </div>
      )}
      {!ping.isRunning && ping.problem === null && delivery !== null && attempt !== undefined && (
        <div class="webhooks-ping">
          <Note tone={isGood ? 'good' : 'bad'} role="status">
            <p>
              {isGood ? (
                <>
                  <strong>It works.</strong> The receiver {attemptWords(attempt)} after {Math.round(attempt.durationMs)}{' '}
                  ms.
                </>
              ) : (
                <>
                  <strong>It does not work yet.</strong> The receiver {attemptWords(attempt)}.
                </>
              )}
            </p>
          </Note>
          <p class="muted">Tests do not count towards failures, whatever the answer.</p>
        </div>
      )}
    </Dialog>
  )
}

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
    <FormDialog
      title={`Switch on ${endpointName(endpoint)}`}
      onClose={onClose}
      onSubmit={() => void run({ status: 'active', pending })}
      action={pending === 'resend' ? 'Switch on and send' : 'Switch on and drop'}
      isBusy={isRunning}
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
    </FormDialog>
  )
}

export function DeleteEndpoint({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const { path } = useSession()
  const { run, isRunning, problem } = useMutation({
    send: (endpointId: string, header) =>
      answerOf(
        client.DELETE('/portal/v1/agencies/{agencySlug}/webhook-endpoints/{endpointId}', {
          params: { path: { ...path, endpointId }, header },
        }),
      ),
    onDone: () => {
      toast({ tone: 'good', text: `${endpointName(endpoint)} has been deleted` })
      resources
        .of<{ webhookEndpoints: Endpoint[] }>('webhooks')
        .change((list) => ({ ...list, webhookEndpoints: list.webhookEndpoints.filter(({ id }) => id !== endpoint.id) }))
      onClose()
      navigate('webhooks')
    },
    invalidates: ['audit'],
    report: 'inline',
  })
  return (
    <ConfirmDialog
      title={`Delete ${endpointName(endpoint)}?`}
      action="Delete endpoint"
      isBusy={isRunning}
      problem={problem}
      onConfirm={() => void run(endpoint.id)}
      onClose={onClose}
    >
      <p>
        It receives no more messages, and unsent ones are dropped
        {isWaiting(endpoint) && ` (${waitingText(endpoint)})`}. Its secret is erased. This cannot be undone.
      </p>
    </ConfirmDialog>
  )
}
