import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import type { Schema } from '../../api/schema.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { type PersonRole, roleLabel, useSession } from '../../data/use-session.ts'
import { FormDialog } from '../../design/dialog.tsx'
import { ErrorNote } from '../../design/feedback.tsx'
import { DateInput, Select, TextInput } from '../../design/inputs.tsx'
import { SecretDialog } from '../../design/secret-dialog.tsx'
import { isoOf, todayIn } from '../../format/days.ts'
import { realTime } from '../../lib/present.ts'
import { RoleChoice } from './role-choice.tsx'

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

/** Asks which program it is for and what it may do, makes the token, and shows it once. */
export function NewToken({ onClose }: { onClose: () => void }) {
  const { path } = useSession()
  const [created, setCreated] = useState<Created | null>(null)
  const mutation = useMutation<Body, Created>({
    send: (body, header) =>
      answerOf(client.POST('/portal/v1/agencies/{agencySlug}/access-tokens', { params: { path, header }, body })),
    invalidates: ['access-tokens'],
    onDone: setCreated,
    report: 'inline',
  })
  if (created === null) return <TokenForm mutation={mutation} onClose={onClose} />
  const { accessToken, secret } = created
  return (
    <SecretDialog
      title={`${accessToken.name} is ready`}
      label="Access token"
      secret={secret}
      lost={{
        title: 'The token was created, but its secret was lost',
        advice: `Revoke ${accessToken.name} and create another token.`,
      }}
      onClose={onClose}
    >
      <p>
        The program sends it in the <code>Authorization</code> header and can do what the role{' '}
        {roleLabel(accessToken.role)} allows.
      </p>
    </SecretDialog>
  )
}

function TokenForm({
  mutation: { run, isRunning, problem },
  onClose,
}: {
  mutation: ReturnType<typeof useMutation<Body, Created>>
  onClose: () => void
}) {
  const { agency } = useSession()
  const [name, setName] = useState('')
  const [role, setRole] = useState<PersonRole>('viewer')
  const [lifetime, setLifetime] = useState<Lifetime>('never')
  const [date, setDate] = useState('')
  const [isSubmitted, setSubmitted] = useState(false)
  const today = todayIn(agency.timezone, realTime())
  const nameError = isSubmitted && name.trim() === '' ? 'Enter a name.' : undefined
  const dateError = isSubmitted && lifetime === 'date' && date === '' ? 'Choose a date.' : undefined

  const submit = () => {
    setSubmitted(true)
    if (name.trim() === '' || (lifetime === 'date' && date === '')) return
    const expiresAt = lifetime === 'never' ? null : lifetime === 'date' ? date : isoOf(today + Number(lifetime))
    void run({ name: name.trim(), role, expiresAt })
  }
  return (
    <FormDialog
      title="Create access token"
      onClose={onClose}
      onSubmit={submit}
      action="Create token"
      isBusy={isRunning}
    >
      <TextInput
        label="Name"
        hint="Which program will use it. The audit trail shows the name next to everything it does."
        autocomplete="off"
        autofocus
        value={name}
        onChange={setName}
        error={nameError ?? problem?.of('name')}
      />
      <RoleChoice value={role} onChange={setRole} />
      <Select label="Expires" value={lifetime} onChange={setLifetime} options={LIFETIMES} />
      {lifetime === 'date' && (
        <DateInput
          label="Expires at the start of"
          min={isoOf(today + 1)}
          value={date}
          onChange={setDate}
          error={dateError ?? problem?.of('expiresAt')}
        />
      )}
      <ErrorNote problem={(problem?.fields.length ?? 0) > 0 ? null : problem} />
    </FormDialog>
  )
}
