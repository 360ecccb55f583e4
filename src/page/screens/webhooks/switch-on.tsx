import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useResource } from '../../data/use-resource.ts'
import { type Endpoint, endpointName } from '../../deliveries/use-endpoints.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { ErrorNote } from '../../design/feedback.tsx'
import { FieldSet } from '../../design/inputs.tsx'
import { Radio } from '../../design/radio.tsx'
import { toast } from '../../design/toast.tsx'
import { plural } from '../../format/count.ts'
import { useSession } from '../../session/use-session.ts'
import { waitingText } from './endpoint-state.tsx'

type Pending = 'resend' | 'drop'

/** Deliveries looked at for those that wait half sent. */
const LOOKED_AT = 200

/** Switches a disabled endpoint on, after asking what becomes of all that has waited. */
export function SwitchOn({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const { path } = useSession()
  const [pending, setPending] = useState<Pending>('resend')
  const endpointPath = { ...path, endpointId: endpoint.id }
  const { data } = useResource(`webhooks/${endpoint.id}/deliveries?held`, (signal) =>
    answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/webhook-endpoints/{endpointId}/deliveries', {
        params: { path: endpointPath, query: { pageSize: LOOKED_AT } },
        signal,
      }),
    ),
  )
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
      const rest = pending === 'resend' ? 'what has waited is being sent' : 'what has waited was dropped'
      toast({ tone: 'good', text: `${endpointName(endpoint)} is switched on, and ${rest}` })
      onClose()
    },
  })
  const held = data?.deliveries.filter(({ status }) => status === 'held').length
  const waits = waitingWords(endpoint, held)
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
      <p>{waits}</p>
      <FieldSet legend="What has waited">
        <div class="webhooks-choice">
          <Radio
            group="pending"
            isChosen={pending === 'resend'}
            onChoose={() => setPending('resend')}
            label="Send it now, in its order"
            hint="The receiver learns of everything that has happened meanwhile."
          />
          <Radio
            group="pending"
            isChosen={pending === 'drop'}
            onChoose={() => setPending('drop')}
            label="Drop it"
            hint="The receiver never learns of it from here. Choose this if it has read the bookings in another way."
          />
        </div>
      </FieldSet>
      <ErrorNote problem={problem} />
    </Dialog>
  )
}

function waitingWords(endpoint: Endpoint, held: number | undefined): string {
  const { waitingEvents } = endpoint
  if (held === undefined) return 'Counting what waits …'
  if (waitingEvents === 0 && held === 0) return 'Nothing waits for it: it is told of the next change.'
  const parts = [
    ...(waitingEvents > 0 ? [`${waitingText(endpoint)}, of which nothing was sent yet`] : []),
    ...(held > 0 ? [`${plural(held, 'message')} whose delivery had failed so far`] : []),
  ]
  return `These wait for it: ${parts.join(', and ')}.`
}
