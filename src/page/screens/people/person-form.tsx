import type { ComponentProps } from 'preact'
import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import type { Problem } from '../../api/problem.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { type PersonRole, useSession } from '../../data/use-session.ts'
import { FormDialog } from '../../design/dialog.tsx'
import { ErrorNote, Note } from '../../design/feedback.tsx'
import { TextInput } from '../../design/inputs.tsx'
import { toast } from '../../design/toast.tsx'
import { nameText } from '../../format/texts.ts'
import { InvitationDialog } from './invitation-dialog.tsx'
import type { Person } from './person-table.tsx'
import { RoleChoice } from './role-choice.tsx'

interface Values {
  readonly name: string
  readonly email: string | null
  readonly role: PersonRole
}

/** Asks for a person's name, e-mail address and role, then shows the link for them. */
export function NewPerson({ onClose }: { onClose: () => void }) {
  const { path } = useSession()
  const [added, setAdded] = useState<Omit<ComponentProps<typeof InvitationDialog>, 'title' | 'onClose'> | null>(null)
  const { run, isRunning, problem } = useMutation({
    send: (body: Values, header) =>
      answerOf(client.POST('/portal/v1/agencies/{agencySlug}/people', { params: { path, header }, body })),
    invalidates: ['people'],
    onDone: ({ person, invitation }) => {
      if (invitation !== null) return setAdded({ person, invitation })
      const name = nameText(person.name)
      toast(
        person.email === null
          ? { tone: 'plain', text: `${name} has been added, but cannot sign in without an e-mail address` }
          : { tone: 'good', text: `${name} has been added and can sign in with the account ${person.email}` },
      )
      onClose()
    },
    report: 'inline',
  })
  if (added !== null) {
    const title = `${nameText(added.person.name)} has been added`
    return <InvitationDialog title={title} {...added} onClose={onClose} />
  }
  return (
    <PersonForm
      title="Add person"
      action="Add person"
      before={{ name: '', email: null, role: 'desk' }}
      isBusy={isRunning}
      problem={problem}
      onSave={(values) => void run(values)}
      onClose={onClose}
    />
  )
}

export function EditPerson({ person, onClose }: { person: Person; onClose: () => void }) {
  const { path } = useSession()
  const { run, isRunning, problem } = useMutation({
    send: (body: Partial<Values>, header) =>
      answerOf(
        client.PATCH('/portal/v1/agencies/{agencySlug}/people/{personId}', {
          params: { path: { ...path, personId: person.id }, header },
          body,
        }),
      ),
    invalidates: ['people'],
    onDone: ({ person: { name } }) => {
      toast({ tone: 'good', text: `${nameText(name)} has been saved` })
      onClose()
    },
    report: 'inline',
  })
  const save = ({ name, email, role }: Values) => {
    const change = {
      ...(name === person.name ? {} : { name }),
      ...(email === person.email ? {} : { email }),
      ...(role === person.role ? {} : { role }),
    }
    if (Object.keys(change).length === 0) onClose()
    else void run(change)
  }
  return (
    <PersonForm
      title={`Edit ${nameText(person.name)}`}
      action="Save"
      before={person}
      isBusy={isRunning}
      problem={problem}
      onSave={save}
      onClose={onClose}
    />
  )
}

function PersonForm({
  title,
  action,
  before,
  isBusy,
  problem,
  onSave,
  onClose,
}: {
  title: string
  action: string
  before: Values & { readonly id?: string }
  isBusy: boolean
  problem: Problem | null
  onSave: (values: Values) => void
  onClose: () => void
}) {
  const { actor } = useSession()
  const [name, setName] = useState(before.name)
  const [email, setEmail] = useState(before.email ?? '')
  const [role, setRole] = useState(before.role)
  const [isSubmitted, setSubmitted] = useState(false)
  const isNew = before.id === undefined
  const emailError =
    problem?.code === 'EMAIL_TAKEN'
      ? 'Another person at this agency already has this e-mail address.'
      : problem?.of('email')
  const nameError = isSubmitted && name.trim() === '' ? 'Enter a name.' : problem?.of('name')
  const submit = () => {
    setSubmitted(true)
    if (name.trim() !== '') onSave({ name: name.trim(), email: email.trim() === '' ? null : email.trim(), role })
  }
  return (
    <FormDialog title={title} onClose={onClose} onSubmit={submit} action={action} isBusy={isBusy}>
      <TextInput
        label="Name"
        hint="The audit trail shows it next to everything this person does."
        autocomplete="off"
        autofocus
        value={name}
        onChange={setName}
        error={nameError}
      />
      <TextInput
        label="E-mail"
        type="email"
        isOptional
        autocomplete="off"
        value={email}
        onChange={setEmail}
        error={emailError}
      />
      <RoleChoice value={role} onChange={setRole} />
      {!isNew && role !== before.role && (
        <Note tone="warn">
          {before.id === actor.id
            ? 'This is your own role. You will be signed out and can sign in again immediately.'
            : 'A new role signs the person out. They can sign in again immediately.'}
        </Note>
      )}
      {!isNew && before.email !== null && email.trim().toLowerCase() !== before.email.toLowerCase() && (
        <Note tone="warn">
          This signs the person out, and links sent to the old address stop working. Their passkeys keep working.
        </Note>
      )}
      <ErrorNote problem={nameError === undefined && emailError === undefined ? problem : null} />
    </FormDialog>
  )
}
