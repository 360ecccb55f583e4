import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { type Endpoint, endpointName } from '../../deliveries/endpoints.tsx'
import { FormDialog } from '../../design/dialog.tsx'
import { ErrorNote } from '../../design/feedback.tsx'
import { Select } from '../../design/inputs.tsx'
import { SecretDialog } from '../../design/secret-dialog.tsx'

const OVERLAPS = [
  { value: '24', label: 'For 24 hours' },
  { value: '4', label: 'For 4 hours' },
  { value: '1', label: 'For an hour' },
  { value: '0', label: 'Stop now: it may have leaked' },
] as const

interface Rotated {
  readonly webhookEndpoint: Endpoint
  readonly secret: string | null
}

/** Makes another signing secret; for a while messages are signed with both. */
export function RotateSecret({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const { path } = useSession()
  const [overlap, setOverlap] = useState<(typeof OVERLAPS)[number]['value']>('24')
  const [rotated, setRotated] = useState<Rotated | null>(null)
  const { run, isRunning, problem } = useMutation<{ overlapHours: number }, Rotated>({
    send: (body, header) =>
      answerOf(
        client.POST('/portal/v1/agencies/{agencySlug}/webhook-endpoints/{endpointId}/rotate-secret', {
          params: { path: { ...path, endpointId: endpoint.id }, header },
          body,
        }),
      ),
    invalidates: ['webhooks', 'audit'],
    onDone: setRotated,
    report: 'inline',
  })
  if (rotated !== null)
    return (
      <SigningSecret title={`New secret for ${endpointName(endpoint)}`} secret={rotated.secret} onClose={onClose} />
    )
  return (
    <FormDialog
      title={`Rotate the secret for ${endpointName(endpoint)}`}
      width="s"
      onClose={onClose}
      onSubmit={() => void run({ overlapHours: Number(overlap) })}
      action="Rotate secret"
      isBusy={isRunning}
    >
      <p>The new secret is shown once. Set it at the receiver while both are in use, so that no message is rejected.</p>
      <Select label="Keep signing with the old secret" value={overlap} onChange={setOverlap} options={OVERLAPS} />
      <ErrorNote problem={problem} />
    </FormDialog>
  )
}

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
  return (
    <SecretDialog
      title={title}
      label="Signing secret"
      isHashed={false}
      secret={secret}
      lost={{
        title: 'The secret was not received',
        advice: 'Rotate it to get a new one, and set that at the receiver at once.',
      }}
      onClose={onClose}
    >
      <p class="muted">
        The receiver needs it to verify that messages come from here. They follow Standard Webhooks, whose libraries
        check the headers <code>webhook-id</code>, <code>webhook-timestamp</code> and <code>webhook-signature</code>.
      </p>
    </SecretDialog>
  )
}
