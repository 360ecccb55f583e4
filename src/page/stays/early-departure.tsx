import { useSession } from '../data/use-session.ts'
import { ErrorNote } from '../design/feedback.tsx'
import { FieldSet, Radio } from '../design/inputs.tsx'
import { type Day, dayText, isoOf } from '../format/days.ts'
import { plural } from '../format/numbers.ts'
import { type BookingPatch, type Pricing, tryPatch, useTried } from './booking-writes.ts'
import { PriceChoice } from './move-dialog.tsx'
import { RestrictionWarning } from './restriction-warning.tsx'

/** A stay that is checked out. Minor units. */
interface DepartingStay {
  readonly id: string
  readonly version: number
  readonly type: 'guest' | 'owner_stay' | 'maintenance' | 'block'
  readonly arrival: Day
  readonly departure: Day
  readonly total: number | null
}

/** What becomes of the nights that are left. */
interface EarlyChoice {
  readonly isShortened: boolean
  readonly pricing: Pricing
}

/** What was agreed with the guest stays agreed unless somebody says otherwise. */
export const EARLY_CHOICE: EarlyChoice = { isShortened: true, pricing: 'keep' }

/** Where the stay ends if it is shortened: today, after at least one night. Null when no night is left to be freed. */
export function earlyDeparture(
  { arrival, departure }: Pick<DepartingStay, 'arrival' | 'departure'>,
  today: Day,
): Day | null {
  const day = Math.max(today, arrival + 1)
  return day < departure ? day : null
}

/** The check-out, with the shorter stay if that was chosen. */
export function checkOutPatch(stay: DepartingStay, today: Day, { isShortened, pricing }: EarlyChoice): BookingPatch {
  const day = earlyDeparture(stay, today)
  if (day === null || !isShortened) return { status: 'checked_out' }
  return { status: 'checked_out', departure: isoOf(day), ...(stay.type === 'guest' ? { pricing } : {}) }
}

/** Asks whether a stay that is checked out early frees the nights that are left, and at what price. `day`: of `earlyDeparture`. */
export function EarlyDeparture({
  stay,
  day,
  choice,
  onChange,
}: {
  stay: DepartingStay
  day: Day
  choice: EarlyChoice
  onChange: (choice: EarlyChoice) => void
}) {
  const { path } = useSession()
  const { id, version, type, departure, total } = stay
  const change: BookingPatch = { status: 'checked_out', departure: isoOf(day) }
  const { tried, problem } = useTried(choice.isShortened ? { id, version, ...change } : null, (signal) =>
    tryPatch(change, { ...path, bookingId: id }, signal),
  )
  return (
    <>
      <FieldSet legend={`Booked until ${dayText(departure, 'short')}, ${plural(departure - day, 'night')} left`}>
        <Radio
          group="early-departure"
          isChosen={choice.isShortened}
          onChoose={() => onChange({ ...choice, isShortened: true })}
          label={`Shorten the stay to ${dayText(day, 'short')}`}
          hint="Remaining nights become free immediately."
        />
        <Radio
          group="early-departure"
          isChosen={!choice.isShortened}
          onChoose={() => onChange({ ...choice, isShortened: false })}
          label="Keep the booked dates"
          hint="Remaining nights stay taken, although nobody is there."
        />
      </FieldSet>
      {choice.isShortened && type === 'guest' && total !== null && tried !== null && (
        <PriceChoice
          before={total}
          after={tried.booking.totalAmount}
          pricing={choice.pricing}
          onChoose={(pricing) => onChange({ ...choice, pricing })}
        />
      )}
      {choice.isShortened && problem === null && <RestrictionWarning warnings={tried?.warnings} />}
      <ErrorNote problem={problem} />
    </>
  )
}
