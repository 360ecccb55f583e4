import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import type { Schema } from '../../api/schema.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { FormDialog } from '../../design/dialog.tsx'
import { ErrorNote } from '../../design/feedback.tsx'
import { Checkbox, DateInput, FieldSet, Select, TextInput } from '../../design/inputs.tsx'
import { CodeBlock, SecretDialog } from '../../design/secret-dialog.tsx'
import { isoOf, todayIn } from '../../format/days.ts'
import { realTime } from '../../lib/present.ts'
import { DEFAULT_SCOPES, keyName, SCOPES, type Scope } from './key-table.tsx'

const LIFETIMES = [
  { value: 'never', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
  { value: 'date', label: 'On a date…' },
] as const

type Lifetime = (typeof LIFETIMES)[number]['value']
type NewKeyBody = { name: string | null; scopes: Scope[]; expiresAt: string | null }
type Created = { key: Schema<'Key'>; secret: string | null }

/** Asks for what the key may do, makes it, and shows its secret once. */
export function NewKey({ onClose }: { onClose: () => void }) {
  const { path } = useSession()
  const [created, setCreated] = useState<Created | null>(null)
  const mutation = useMutation<NewKeyBody, Created>({
    send: (body, header) =>
      answerOf(client.POST('/portal/v1/agencies/{agencySlug}/keys', { params: { path, header }, body })),
    invalidates: ['keys'],
    onDone: setCreated,
    report: 'inline',
  })
  if (created === null) return <KeyForm mutation={mutation} onClose={onClose} />
  const { key, secret } = created
  return (
    <SecretDialog
      title={`${keyName(key)} is ready`}
      label="API key"
      secret={secret}
      lost={{
        title: 'The key was created, but its secret was lost',
        advice: `Revoke ${keyName(key)} and create another key.`,
      }}
      onClose={onClose}
    >
      <CodeBlock
        label="Try it in a terminal"
        text={`curl -H "Authorization: Bearer ${secret}" ${location.origin}/partner/v1/${key.scopes.includes('read:units') ? 'units' : 'me'}`}
      />
    </SecretDialog>
  )
}

function KeyForm({
  mutation: { run, isRunning, problem },
  onClose,
}: {
  mutation: ReturnType<typeof useMutation<NewKeyBody, Created>>
  onClose: () => void
}) {
  const { agency } = useSession()
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<readonly Scope[]>(DEFAULT_SCOPES)
  const [lifetime, setLifetime] = useState<Lifetime>('never')
  const [date, setDate] = useState('')
  const [isDateMissing, setDateMissing] = useState(false)
  const today = todayIn(agency.timezone, realTime())

  const submit = () => {
    setDateMissing(lifetime === 'date' && date === '')
    if (lifetime === 'date' && date === '') return
    const expiresAt = lifetime === 'never' ? null : lifetime === 'date' ? date : isoOf(today + Number(lifetime))
    void run({ name: name.trim() === '' ? null : name.trim(), scopes: [...scopes], expiresAt })
  }
  return (
    <FormDialog title="Create API key" onClose={onClose} onSubmit={submit} action="Create key" isBusy={isRunning}>
      <TextInput
        label="Name"
        isOptional
        hint="Who will use it, for example the partner’s name."
        autocomplete="off"
        autofocus
        value={name}
        onChange={setName}
        error={problem?.of('name')}
      />
      <FieldSet legend="Permissions">
        {SCOPES.map(({ scope, label, hint }) => (
          <Checkbox
            key={scope}
            label={label}
            hint={hint}
            isChecked={scopes.includes(scope)}
            onChange={(isChecked) =>
              setScopes(isChecked ? [...scopes, scope] : scopes.filter((chosen) => chosen !== scope))
            }
          />
        ))}
      </FieldSet>
      <Select label="Expires" value={lifetime} onChange={setLifetime} options={LIFETIMES} />
      {lifetime === 'date' && (
        <DateInput
          label="Expires at the start of"
          min={isoOf(today + 1)}
          value={date}
          onChange={setDate}
          error={isDateMissing ? 'Choose a date.' : problem?.of('expiresAt')}
        />
      )}
      <ErrorNote problem={problem} />
    </FormDialog>
  )
}
