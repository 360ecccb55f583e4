import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import type { Schema } from '../../api/schema.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { FormDialog } from '../../design/dialog.tsx'
import { ErrorNote } from '../../design/feedback.tsx'
import { Checkbox, FieldRow, TextInput } from '../../design/inputs.tsx'
import { toast } from '../../design/toast.tsx'
import { hashOf } from '../../route/route.ts'
import { guestName } from '../../stays/stay-name.ts'

export type Guest = Schema<'Guest'>

type Member = 'firstName' | 'lastName' | 'email' | 'phone' | 'nationality'
type Contact = Readonly<Record<Member, string>>
type Change = Partial<Pick<Guest, Member | 'keep'>>

export function EditGuest({ guest, onClose }: { guest: Guest; onClose: () => void }) {
  const { path } = useSession()
  const [before] = useState(() => contactOf(guest))
  const [typed, setTyped] = useState<Contact>(before)
  const [isKept, setKept] = useState(guest.keep)
  const { run, isRunning, problem } = useMutation({
    send: (body: Change, header) =>
      answerOf(
        client.PATCH('/portal/v1/agencies/{agencySlug}/guests/{guestId}', {
          params: { path: { ...path, guestId: guest.id }, header },
          body,
        }),
      ),
    invalidates: ['guests', 'bookings', 'tape', 'overview', 'audit'],
    report: 'inline',
    onDone: (answer) => {
      toast({ tone: 'good', text: `${guestName(answer.guest)} has been saved` })
      onClose()
    },
  })
  const change: Change = { ...changeOf(before, typed), ...(isKept === guest.keep ? {} : { keep: isKept }) }
  const set = (member: Member) => (value: string) => setTyped({ ...typed, [member]: value })
  const isTaken = problem?.code === 'EMAIL_TAKEN'
  const isNameMissing = typed.firstName.trim() === '' && typed.lastName.trim() === ''
  return (
    <FormDialog
      title="Edit contact details"
      onClose={onClose}
      onSubmit={() => {
        if (isNameMissing) return
        if (Object.keys(change).length === 0) onClose()
        else void run(change)
      }}
      action="Save"
      isBusy={isRunning}
    >
      <FieldRow>
        <TextInput
          label="First name"
          value={typed.firstName}
          onChange={set('firstName')}
          maxLength={80}
          autofocus
          error={isNameMissing ? 'A guest needs a name.' : problem?.of('firstName')}
        />
        <TextInput
          label="Last name"
          value={typed.lastName}
          onChange={set('lastName')}
          maxLength={80}
          error={problem?.of('lastName')}
        />
      </FieldRow>
      <TextInput
        label="E-mail"
        type="email"
        isOptional
        value={typed.email}
        onChange={set('email')}
        error={isTaken ? 'Another guest has this address.' : problem?.of('email')}
        hint={
          isTaken ? (
            <>
              Each address belongs to one guest.{' '}
              <a href={hashOf('guests', { search: typed.email.trim() })} target="_blank" rel="noopener">
                See who has it
              </a>
            </>
          ) : (
            'A stay booked under this address is added to this guest.'
          )
        }
      />
      <FieldRow>
        <TextInput
          label="Phone"
          type="tel"
          isOptional
          value={typed.phone}
          onChange={set('phone')}
          maxLength={60}
          error={problem?.of('phone')}
        />
        <TextInput
          label="Nationality"
          isOptional
          value={typed.nationality}
          onChange={set('nationality')}
          maxLength={60}
          error={problem?.of('nationality')}
        />
      </FieldRow>
      <Checkbox
        label="Keep these contact details"
        hint="They are not erased when the retention time is over, for example during a dispute."
        isChecked={isKept}
        onChange={setKept}
      />
      <ErrorNote problem={isTaken || (problem?.fields.length ?? 0) > 0 ? null : problem} />
    </FormDialog>
  )
}

function contactOf({ firstName, lastName, email, phone, nationality }: Guest): Contact {
  return { firstName, lastName, email: email ?? '', phone: phone ?? '', nationality: nationality ?? '' }
}

/** Only what was edited: a colleague may be changing the rest. */
function changeOf(before: Contact, typed: Contact): Change {
  const change: Record<string, string | null> = {}
  for (const member of Object.keys(typed) as Member[]) {
    const text = typed[member].trim()
    const isName = member === 'firstName' || member === 'lastName'
    if (text !== before[member]) change[member] = text === '' && !isName ? null : text
  }
  return change
}
