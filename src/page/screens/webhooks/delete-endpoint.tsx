import { answerOf, client } from '../../api/client.ts'
import { resources } from '../../data/resources.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { type Endpoint, endpointName, isWaiting, waitingText } from '../../deliveries/endpoints.tsx'
import { ConfirmDialog } from '../../design/dialog.tsx'
import { toast } from '../../design/toast.tsx'
import { navigate } from '../../route/router.ts'

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
