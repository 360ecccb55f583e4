import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import type { Problem } from '../../api/problem.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { type Endpoint, type EndpointEvent, EVENT_CHOICES, endpointName } from '../../deliveries/endpoints.tsx'
import { FormDialog } from '../../design/dialog.tsx'
import { ErrorNote, Note } from '../../design/feedback.tsx'
import { Checkbox, FieldSet, TextInput } from '../../design/inputs.tsx'
import { toast } from '../../design/toast.tsx'
import { navigate } from '../../route/router.ts'
import { SigningSecret } from './rotate-secret.tsx'

/** The default of the service. */
const DEFAULT_EVENTS = [...(EVENT_CHOICES[0]?.events ?? [])]
const DESCRIPTION_LENGTH_MAX = 255

interface Registered {
  readonly webhookEndpoint: Endpoint
  readonly secret: string | null
}

type Draft = Pick<Endpoint, 'url' | 'description' | 'events'>

/** Asks for the address, registers it, and shows its secret once. */
export function RegisterEndpoint({ onClose }: { onClose: () => void }) {
  const { path } = useSession()
  const [registered, setRegistered] = useState<Registered | null>(null)
  const mutation = useMutation<Draft, Registered>({
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
    <EndpointDialog
      title="Register endpoint"
      action="Register endpoint"
      initial={{ url: '', description: null, events: DEFAULT_EVENTS }}
      mutation={mutation}
      onSubmit={mutation.run}
      onClose={onClose}
    />
  )
}

/** Changes what an endpoint was registered with. */
export function ChangeEndpoint({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const { path } = useSession()
  const [before] = useState(endpoint)
  const mutation = useMutation({
    send: (body: Partial<Draft>, header) =>
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
  const submit = ({ url, description, events }: Draft) => {
    const change = {
      ...(url === before.url ? {} : { url }),
      ...(description === (before.description || null) ? {} : { description }),
      ...(events === before.events ? {} : { events }),
    }
    if (Object.keys(change).length === 0) onClose()
    else void mutation.run(change)
  }
  return (
    <EndpointDialog
      title="Change address, name or events"
      action="Save"
      initial={before}
      addressNote="Unsent messages go to the new address, signed with the same secret."
      mutation={mutation}
      onSubmit={submit}
      onClose={onClose}
    />
  )
}

/** The form for an endpoint. `onSubmit` gets what was entered, trimmed; an empty name is null. */
function EndpointDialog({
  title,
  action,
  initial,
  addressNote,
  mutation: { isRunning, problem },
  onSubmit,
  onClose,
}: {
  title: string
  action: string
  initial: Draft
  /** What follows from another address than the initial one. */
  addressNote?: string
  mutation: { readonly isRunning: boolean; readonly problem: Problem | null }
  onSubmit: (draft: Draft) => void
  onClose: () => void
}) {
  const [url, setUrl] = useState(initial.url)
  const [description, setDescription] = useState(initial.description ?? '')
  const [events, setEvents] = useState(initial.events)
  const draft = { url: url.trim(), description: description.trim() || null, events }
  return (
    <FormDialog
      title={title}
      onClose={onClose}
      onSubmit={() => onSubmit(draft)}
      action={action}
      isBusy={isRunning}
      isDisabled={draft.url === '' || events.length === 0}
    >
      <TextInput
        label="Address"
        type="url"
        placeholder="https://"
        hint="It must begin with https:// and be reachable from the internet."
        autocomplete="off"
        spellcheck={false}
        autofocus
        value={url}
        onChange={setUrl}
        error={sentence(problem?.of('url'))}
      />
      <TextInput
        label="Name"
        isOptional
        hint="Shown on this page instead of the address."
        autocomplete="off"
        maxLength={DESCRIPTION_LENGTH_MAX}
        value={description}
        onChange={setDescription}
        error={problem?.of('description')}
      />
      <EventChoice events={events} onChange={setEvents} />
      {addressNote !== undefined && draft.url !== initial.url && (
        <Note>
          <p>{addressNote}</p>
        </Note>
      )}
      <ErrorNote problem={(problem?.fields.length ?? 0) > 0 ? null : problem} />
    </FormDialog>
  )
}

/** The events of an endpoint. Those of bookings are chosen together; an endpoint that has only some of them keeps them until its box is changed. */
function EventChoice({
  events: chosen,
  onChange,
}: {
  events: readonly EndpointEvent[]
  onChange: (events: EndpointEvent[]) => void
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

/** Field errors speak of the address. */
function sentence(message: string | undefined): string | undefined {
  if (message === undefined) return undefined
  if (message.startsWith('Endpoint address is not'))
    return 'This address is on a private network. Webhooks are sent only to public addresses.'
  return `The address ${message.charAt(0).toLowerCase()}${message.slice(1)}`
}
