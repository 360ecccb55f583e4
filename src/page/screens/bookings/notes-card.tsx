import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { Card } from '../../design/card.tsx'
import { FormDialog } from '../../design/dialog.tsx'
import { ErrorNote, Note } from '../../design/feedback.tsx'
import { TextArea } from '../../design/inputs.tsx'
import { toast } from '../../design/toast.tsx'
import { type Booking, stayName } from '../../stays/stay-name.ts'

const LENGTH_MAX = 2_000

/** What the agency has noted about a booking. Partners do not see it. */
export function NotesCard({ booking }: { booking: Booking }) {
  const { may } = useSession()
  const [isOpen, setOpen] = useState(false)
  const { notes } = booking
  if (notes === null && !may('desk')) return null
  return (
    <Card
      title="Notes"
      aside={
        may('desk') && (
          <Button size="s" icon="edit" onClick={() => setOpen(true)}>
            {notes === null ? 'Add notes' : 'Edit notes'}
          </Button>
        )
      }
    >
      {notes === null ? <p class="muted">None. Partners do not see notes.</p> : <p class="booking-notes">{notes}</p>}
      {isOpen && <NotesDialog booking={booking} onClose={() => setOpen(false)} />}
    </Card>
  )
}

function NotesDialog({ booking, onClose }: { booking: Booking; onClose: () => void }) {
  const { path } = useSession()
  // As they were when the dialog was opened, or as a colleague has left them since: they must not be overwritten unseen.
  const [seen, setSeen] = useState(booking.notes)
  const [notes, setNotes] = useState(booking.notes ?? '')
  const write = useMutation({
    send: (body: { notes: string; replaces: string | null }, header) =>
      answerOf(
        client.PUT('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}/notes', {
          params: { path: { ...path, bookingId: booking.id }, header },
          body,
        }),
      ),
    invalidates: ['bookings', 'audit'],
    report: 'inline',
    onDone: ({ booking: { notes: now } }) => {
      toast({ tone: 'good', text: now === null ? 'Notes removed' : 'Notes saved' })
      onClose()
    },
  })
  const { problem } = write
  const isConflict = problem?.code === 'NOTES_CHANGED'
  const now = isConflict ? ((problem.body['notes'] as string | null) ?? null) : seen
  return (
    <FormDialog
      title={`Notes: ${stayName(booking)}`}
      onClose={onClose}
      onSubmit={() => {
        setSeen(now)
        void write.run({ notes: notes.trim(), replaces: now })
      }}
      action={isConflict ? 'Save anyway' : 'Save notes'}
      cancel={isConflict ? 'Discard' : 'Cancel'}
      isBusy={write.isRunning}
    >
      <TextArea
        label="Notes"
        hint="Only the agency sees them."
        rows={5}
        maxLength={LENGTH_MAX}
        value={notes}
        error={problem?.of('notes')}
        onChange={setNotes}
      />
      {isConflict ? (
        <Note tone="warn" role="alert">
          <p>Someone else changed the notes in the meantime. They {now === null ? 'are empty now.' : 'now say:'}</p>
          {now !== null && <p class="booking-notes">{now}</p>}
          <p>What you entered is still here. Saving it replaces theirs.</p>
        </Note>
      ) : (
        <ErrorNote problem={problem} />
      )}
    </FormDialog>
  )
}
