import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { type Endpoint, endpointName } from '../../deliveries/endpoints.tsx'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { ErrorNote } from '../../design/feedback.tsx'
import { navigate } from '../../route/router.ts'
import { EndpointFields } from './endpoint-fields.tsx'
import { SigningSecret } from './signing-secret.tsx'

interface Registered {
  readonly webhookEndpoint: Endpoint
  readonly secret: string | null
}

/** Asks for the address, registers it, and shows its secret once. */
export function RegisterEndpoint({ onClose }: { onClose: () => void }) {
  const { path } = useSession()
  const [url, setUrl] = useState('')
  const [description, setDescription] = useState('')
  const [registered, setRegistered] = useState<Registered | null>(null)
  const { run, isRunning, problem } = useMutation<{ url: string; description: string | null }, Registered>({
    send: (body, header) =>
      answerOf(client.POST('/portal/v1/agencies/{agencySlug}/webhook-endpoints', { params: { path, header }, body })),
    invalidates: ['webhooks', 'audit'],
    onDone: setRegistered,
    report: 'inline',
  })
  if (registered !== null) {
    const { webhookEndpoint, secret } = registered
    return (
      <SigningSecret
        title={`${endpointName(webhookEndpoint)} is registered`}
        secret={secret}
        onClose={() => {
          onClose()
          navigate(['webhooks', webhookEndpoint.id])
        }}
      />
    )
  }
  return (
    <Dialog
      title="Register endpoint"
      onClose={onClose}
      onSubmit={() => void run({ url: url.trim(), description: description.trim() === '' ? null : description.trim() })}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" isBusy={isRunning} disabled={url.trim() === ''}>
            Register endpoint
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
      <ErrorNote problem={(problem?.fields.length ?? 0) > 0 ? null : problem} />
    </Dialog>
  )
}
