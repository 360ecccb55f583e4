import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import type { Problem } from '../../api/problem.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { type Endpoint, type EndpointEvent, EVENT_CHOICES, endpointName } from '../../deliveries/endpoints.tsx'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { ErrorNote, Note } from '../../design/feedback.tsx'
import { Checkbox, FieldSet, TextInput } from '../../design/inputs.tsx'
import { toast } from '../../design/toast.tsx'
import { navigate } from '../../route/router.ts'
import { SigningSecret } from './rotate-secret.tsx'

/** The default of the service. */
const DEFAULT_EVENTS = EVENT_CHOICES[0]?.events ?? []

interface Registered {
  readonly webhookEndpoint: Endpoint
  readonly secret: string | null
}

interface Draft {
  readonly url: string
  readonly description: string | null
  readonly events: EndpointEvent[]
}

/** Asks for the address, registers it, and shows its secret once. */
export function RegisterEndpoint({ onClose }: { onClose: () => void }) {
  const { path } = useSession()
  const [url, setUrl] = useState('')
  const [description, setDescription] = useState('')
  const [events, setEvents] = useState<readonly EndpointEvent[]>(DEFAULT_EVENTS)
  const [registered, setRegistered] = useState<Registered | null>(null)
  const { run, isRunning, problem } = useMutation<Draft, Registered>({
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
      onSubmit={() => void run({ url: url.trim(), description: description.trim() || null, events: [...events] })}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" isBusy={isRunning} disabled={url.trim() === '' || events.length === 0}>
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
      <EventChoice events={events} onChange={setEvents} />
      <ErrorNote problem={(problem?.fields.length ?? 0) > 0 ? null : problem} />
    </Dialog>
  )
}

interface Change {
  readonly url?: string
  readonly description?: string | null
  readonly events?: EndpointEvent[]
}

export function ChangeEndpoint({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const { path } = useSession()
  const [before] = useState({ url: endpoint.url, description: endpoint.description ?? '', events: endpoint.events })
  const [url, setUrl] = useState(before.url)
  const [description, setDescription] = useState(before.description)
  const [events, setEvents] = useState<readonly EndpointEvent[]>(before.events)
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
    ...(events === before.events ? {} : { events: [...events] }),
  }
  return (
    <Dialog
      title="Change address, name or events"
      onClose={onClose}
      onSubmit={() => (Object.keys(change).length === 0 ? onClose() : void run(change))}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" isBusy={isRunning} disabled={url.trim() === '' || events.length === 0}>
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
      <EventChoice events={events} onChange={setEvents} />
      {change.url !== undefined && (
        <Note>
          <p>Unsent messages go to the new address, signed with the same secret.</p>
        </Note>
      )}
      <ErrorNote problem={(problem?.fields.length ?? 0) > 0 ? null : problem} />
    </Dialog>
  )
}

/** The events of an endpoint. Those of bookings are chosen together; an endpoint that has only some of them keeps them until its box is changed. */
function EventChoice({
  events: chosen,
  onChange,
}: {
  events: readonly EndpointEvent[]
  onChange: (events: readonly EndpointEvent[]) => void
}) {
  return (
    <FieldSet legend="Send it">
      {EVENT_CHOICES.map(({ events, label, hint }) => {
        const others = chosen.filter((event) => !events.includes(event))
        return (
          <Checkbox
            key={label}
            label={label}
            hint={hint}
            isChecked={others.length < chosen.length}
            onChange={(isChecked) => onChange(isChecked ? [...others, ...events] : others)}
          />
        )
      })}
    </FieldSet>
  )
}

const DESCRIPTION_LENGTH_MAX = 255

/** The address, and what people call it. */
function EndpointFields({
  url,
  description,
  onUrl,
  onDescription,
  problem,
}: {
  url: string
  description: string
  onUrl: (url: string) => void
  onDescription: (description: string) => void
  problem: Problem | null
}) {
  return (
    <>
      <TextInput
        label="Address"
        type="url"
        placeholder="https://"
        hint="It must begin with https:// and be reachable from the internet."
        autocomplete="off"
        spellcheck={false}
        autofocus
        value={url}
        onChange={onUrl}
        error={sentence(problem?.of('url'))}
      />
      <TextInput
        label="Name"
        isOptional
        hint="Shown on this page instead of the address."
        autocomplete="off"
        maxLength={DESCRIPTION_LENGTH_MAX}
        value={description}
        onChange={onDescription}
        error={problem?.of('description')}
      />
    </>
  )
}

/** Field errors speak of the address. */
function sentence(message: string | undefined): string | undefined {
  if (message === undefined) return undefined
  if (message.startsWith('Endpoint address is not'))
    return 'This address is on a private network. Webhooks are sent only to public addresses.'
  return `The address ${message.charAt(0).toLowerCase()}${message.slice(1)}`
}
