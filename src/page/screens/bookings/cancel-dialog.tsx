import { useState } from 'preact/hooks'
import { TextInput } from '../../design/inputs.tsx'
import { toast } from '../../design/toast.tsx'
import { cancelBooking } from '../../stays/booking-writes.ts'
import { type Booking, stayDates, stayName } from '../../stays/stay-name.ts'
import { ActionDialog } from './action-dialog.tsx'
import { useVersionedWrite } from './versioned-write.ts'

const REASON_LENGTH_MAX = 255

/** What cancelling it is called. */
export function cancelWords({ status, type }: Pick<Booking, 'status' | 'type'>): string {
  if (status === 'option' || status === 'draft') return 'Release the hold'
  return type === 'guest' ? 'Cancel the booking' : 'Remove it'
}

export function CancelDialog({ booking, onClose }: { booking: Booking; onClose: () => void }) {
  const [reason, setReason] = useState('')
  const write = useVersionedWrite<string>({
    booking,
    send: cancelBooking,
    onDone: (changed) => {
      toast({ tone: 'good', text: `${stayName(changed)} is cancelled. The nights are free.` })
      onClose()
    },
  })
  const { base } = write
  const action = cancelWords(base)
  return (
    <ActionDialog
      title={`${action}: ${stayName(booking)}`}
      action={action}
      tone="danger"
      write={write}
      onSubmit={() => write.run(reason)}
      onClose={onClose}
    >
      <p>
        The nights of {stayDates(base)} in {base.unitName} become free immediately. This cannot be undone: someone else
        may book them.
      </p>
      <TextInput
        label="Reason"
        isOptional
        hint="Visible to partners who can read the booking."
        maxLength={REASON_LENGTH_MAX}
        value={reason}
        onChange={setReason}
        autocomplete="off"
        autofocus
        error={write.problem?.of('reason')}
      />
    </ActionDialog>
  )
}
