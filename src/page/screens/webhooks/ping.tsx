import { useEffect, useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { attemptWords, type Delivery, isAccepted } from '../../deliveries/delivery-list.tsx'
import { type Endpoint, endpointName } from '../../deliveries/endpoints.tsx'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { ErrorNote, Note, Skeleton } from '../../design/feedback.tsx'

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
