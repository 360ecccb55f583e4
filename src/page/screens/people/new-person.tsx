import { useId, useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import type { Schema } from '../../api/schema.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { type PersonRole, ROLES, roleLabel, useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { ErrorNote, Note } from '../../design/feedback.tsx'
import { DateInput, FieldSet, Select, TextInput } from '../../design/inputs.tsx'
import { CodeBlock, SecretDialog } from '../../design/secret-dialog.tsx'
import { isoOf, todayIn } from '../../format/days.ts'

export type Token = Schema<'AccessToken'>

const LIFETIMES = [
  { value: 'never', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '183', label: 'In 6 months' },
  { value: '365', label: 'In a year' },
  { value: 'date', label: 'On a date…' },
] as const

type Lifetime = (typeof LIFETIMES)[number]['value']
type Body = { name: string; role: PersonRole; expiresAt: string | null }
type Created = { accessToken: Token; secret: string | null }

/** Asks who it is and what they may do, makes the token, and shows it once. */
export function NewPerson({ onClose }: { onClose: () => void }) {
  const { path } = useSession()
  const [created, setCreated] = useState<Created | null>(null)
  const mutation = useMutation<Body, Created>({
    send: (body, header) =>
      answerOf(client.POST('/portal/v1/agencies/{agencySlug}/access-tokens', { params: { path, header }, body })),
    invalidates: ['people'],
    onDone: setCreated,
    report: 'inline',
  })
  if (created === null) return <PersonForm mutation={mutation} onClose={onClose} />
  const { accessToken, secret } = created
  if (secret === null) return <SecretMissed name={accessToken.name} onClose={onClose} />
  return (
    <SecretDialog
      title={`${accessToken.name} can now sign in`}
      label={`Access token for ${accessToken.name}`}
      secret={secret}
      onStored={onClose}
    >
      <p>
        Pass it on in person or through a password manager, not by e-mail. It has the role {roleLabel(accessToken.role)}
        .
      </p>
      <CodeBlock label="Where to sign in" text={`${location.origin}/portal/`} />
    </SecretDialog>
  )
}

function PersonForm({
  mutation: { run, isRunning, problem },
  onClose,
}: {
  mutation: ReturnType<typeof useMutation<Body, Created>>
  onClose: () => void
}) {
  const { agency } = useSession()
  const [name, setName] = useState('')
  const [role, setRole] = useState<PersonRole>('desk')
  const [lifetime, setLifetime] = useState<Lifetime>('never')
  const [date, setDate] = useState('')
  const [isSubmitted, setSubmitted] = useState(false)
  const today = todayIn(agency.timezone, Date.now())
  const nameError = isSubmitted && name.trim() === '' ? 'Enter a name.' : undefined
  const dateError = isSubmitted && lifetime === 'date' && date === '' ? 'Choose a date.' : undefined

  const submit = () => {
    setSubmitted(true)
    if (name.trim() === '' || (lifetime === 'date' && date === '')) return
    const expiresAt = lifetime === 'never' ? null : lifetime === 'date' ? date : isoOf(today + Number(lifetime))
    void run({ name: name.trim(), role, expiresAt })
  }
  return (
    <Dialog
      title="Add person"
      onClose={onClose}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" isBusy={isRunning}>
            Add person
          </Button>
        </>
      }
    >
      <TextInput
        label="Name"
        hint="The audit trail shows it next to everything this person does."
        autocomplete="off"
        autofocus
        value={name}
        onChange={setName}
        error={nameError ?? problem?.of('name')}
      />
      <RoleChoice value={role} onChange={setRole} />
      <Select label="Access ends" value={lifetime} onChange={setLifetime} options={LIFETIMES} />
      {lifetime === 'date' && (
        <DateInput
          label="Access ends at the start of"
          min={isoOf(today + 1)}
          value={date}
          onChange={setDate}
          error={dateError ?? problem?.of('expiresAt')}
        />
      )}
      <ErrorNote problem={(problem?.fields.length ?? 0) > 0 ? null : problem} />
    </Dialog>
  )
}

function RoleChoice({ value, onChange }: { value: PersonRole; onChange: (role: PersonRole) => void }) {
  const id = useId()
  return (
    <FieldSet legend="Role">
      <div class="people-choices">
        {ROLES.map(({ role, label, hint }) => (
          <label key={role} class="people-choice">
            <input
              type="radio"
              name={id}
              value={role}
              checked={role === value}
              aria-label={label}
              aria-describedby={`${id}-${role}`}
              onChange={() => onChange(role)}
            />
            <span class="people-choice-text">
              <span>{label}</span>
              <span class="field-hint" id={`${id}-${role}`}>
                {hint}
              </span>
            </span>
          </label>
        ))}
      </div>
    </FieldSet>
  )
}

/** The answer with the secret was lost on the way, and a repeated request does not get it. */
function SecretMissed({ name, onClose }: { name: string; onClose: () => void }) {
  return (
    <Dialog
      title="The person was added, but the token was lost"
      width="s"
      onClose={onClose}
      footer={
        <Button tone="primary" onClick={onClose}>
          Close
        </Button>
      }
    >
      <Note tone="warn">
        The connection broke before the token arrived, and it cannot be shown again. Revoke {name}’s access, then add
        them again.
      </Note>
    </Dialog>
  )
}
