import { answerOf, client } from '../../api/client.ts'
import type { Schema } from '../../api/schema.ts'
import { resources } from '../../data/resources.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { ConfirmDialog } from '../../design/dialog.tsx'
import { LoadStatus, Note } from '../../design/feedback.tsx'
import { toast } from '../../design/toast.tsx'
import { plural } from '../../format/numbers.ts'
import { navigate } from '../../route/router.ts'
import { guestName } from '../../stays/stay-name.ts'
import type { Guest } from './edit-guest.tsx'

/** What shows the guest, or what they wrote. */
const SHOWN_IN = ['guests', 'bookings', 'tape', 'overview', 'audit']

/** Asks before a guest is erased, with what goes and what stays. */
export function EraseGuest({ guest, onClose }: { guest: Guest; onClose: () => void }) {
  const { path } = useSession()
  const params = { path: { ...path, guestId: guest.id } }
  const preview = useResource(`erasure/${guest.id}`, (signal) =>
    answerOf(
      client.POST('/portal/v1/agencies/{agencySlug}/guests/{guestId}/erase', {
        params: { ...params, query: { dryRun: 'true' } },
        signal,
      }),
    ),
  )
  const { run, isRunning, problem } = useMutation({
    send: (_: string, header) =>
      answerOf(
        client.POST('/portal/v1/agencies/{agencySlug}/guests/{guestId}/erase', { params: { ...params, header } }),
      ),
    onDone: () => {
      toast({ tone: 'good', text: 'The guest has been erased' })
      onClose()
      navigate('guests')
      // Once the guest is not on the screen any more, so that nobody asks for one who is gone.
      setTimeout(() => {
        for (const prefix of SHOWN_IN) resources.invalidate(prefix)
      })
    },
    report: 'inline',
  })
  return (
    <ConfirmDialog
      title={`Erase ${guestName(guest)}?`}
      action="Erase for good"
      isBusy={isRunning || preview.data === undefined}
      problem={problem}
      onConfirm={() => void run(guest.id)}
      onClose={onClose}
    >
      <LoadStatus of={preview} lines={4} />
      {preview.data !== undefined && <Preview erasure={preview.data.erasure} />}
    </ConfirmDialog>
  )
}

function Preview({ erasure }: { erasure: Schema<'GuestErasure'> }) {
  const { bookings, upcoming, withNotes, withReference, withReason } = erasure
  const texts = [
    withNotes > 0 && `Notes of ${plural(withNotes, 'stay')}`,
    withReference > 0 && `References of ${plural(withReference, 'stay')}`,
    withReason > 0 && `Reasons of ${plural(withReason, 'cancellation')}`,
  ].filter((text) => text !== false)
  return (
    <>
      {upcoming > 0 && (
        <Note tone="warn">
          <p>
            {upcoming === 1
              ? '1 stay is still to come or in progress. Afterwards nobody can see who is coming.'
              : `${upcoming} stays are still to come or in progress. Afterwards nobody can see who is coming.`}
          </p>
        </Note>
      )}
      <div class="guest-erasure">
        <section>
          <h3>What goes</h3>
          <ul>
            <li>Name, e-mail, phone and nationality</li>
            {texts.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </section>
        <section>
          <h3>What stays</h3>
          <ul>
            {bookings > 0 && <li>{plural(bookings, 'stay')} with unit, dates and price, without a guest</li>}
            <li>That a guest was erased, when and by whom</li>
            <li>What partners and mailboxes received before</li>
          </ul>
        </section>
      </div>
      <p class="muted">This cannot be undone.</p>
    </>
  )
}
