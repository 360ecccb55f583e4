import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { type Endpoint, endpointName } from '../../deliveries/endpoints.tsx'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { ErrorNote, Note } from '../../design/feedback.tsx'
import { toast } from '../../design/toast.tsx'
import { EndpointFields } from './endpoint-fields.tsx'

interface Change {
  readonly url?: string
  readonly description?: string | null
}

export function ChangeEndpoint({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const { path } = useSession()
  const [before] = useState({ url: endpoint.url, description: endpoint.description ?? '' })
  const [url, setUrl] = useState(before.url)
  const [description, setDescription] = useState(before.description)
  const { run, isRunning, problem } = useMutation({
    send: (body: Change, header) =>
      answerOf(
        client.PATCH('/portal/v1/agencies/{agencySlug}/webhook-endpoints/{endpointId}', {
          params: { path: { ...path, endpointId: endpoint.id }, header },
          body,
        }),
      ),
    invalidates: ['webhooks', 'audit'],
    report: 'inline',
    onDone: (answer) => {
      toast({ tone: 'good', text: `${endpointName(answer.webhookEndpoint)} has been saved` })
      onClose()
    },
  })
  // Only what was edited: a colleague may be changing the rest.
  const change: Change = {
    ...(url.trim() === before.url ? {} : { url: url.trim() }),
    ...(description.trim() === before.description ? {} : { description: description.trim() || null }),
  }
  return (
    <Dialog
      title="Change address or name"
      onClose={onClose}
      onSubmit={() => (Object.keys(change).length === 0 ? onClose() : void run(change))}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" isBusy={isRunning} disabled={url.trim() === ''}>
            Save
          </Button>
        </>
      }
    >
      <EndpointFields
        url={url}
        description={description}
        onUrl={setUrl}
        onDescription={setDescription}
        problem={problem}
      />
      {change.url !== undefined && (
        <Note>
          <p>Unsent messages go to the new address, signed with the same secret.</p>
        </Note>
      )}
      <ErrorNote problem={(problem?.fields.length ?? 0) > 0 ? null : problem} />
    </Dialog>
  )
}
