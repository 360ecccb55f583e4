/** Changes of stays that are shown before the service has answered, and taken back if it refuses. */
import { useState } from 'preact/hooks'
import { type Problem, problemOf } from '../../api/problem.ts'
import type { ChartRows } from '../../chart/chart-rows.ts'
import { barText } from '../../chart/labels.ts'
import { isHold, type Stay } from '../../chart/stay.ts'
import { stayOfBooking } from '../../chart/tape.ts'
import { resources } from '../../data/resources.ts'
import { newIdempotencyKey } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { toast } from '../../design/toast.tsx'
import { dayRange, isoOf } from '../../format/days.ts'
import { money } from '../../format/numbers.ts'
import { nameText } from '../../format/texts.ts'
import { cancelBooking, cancelGroup, type Pricing, patchBooking } from '../../stays/booking-writes.ts'
import type { Placement } from '../../stays/move-dialog.tsx'
import type { Booking } from '../../stays/stay-name.ts'
import { getBooking } from './calendar-data.ts'

interface StayChanges {
  readonly inFlight: ReadonlySet<string>
  /** @returns why it was refused, or null */
  move(stay: Stay, to: Placement, pricing: Pricing): Promise<Problem | null>
  /** Shows a booking that a write has answered with. */
  apply(booking: Booking): void
  /** Confirms that one or several stays were made. Stays that nobody pays for can be undone. */
  created(bookings: readonly Booking[]): void
}

const NONE: ReadonlySet<string> = new Set()

export function useStayChanges(rows: ChartRows): StayChanges {
  const { path, currency } = useSession()
  const [inFlight, setInFlight] = useState(NONE)

  const apply = (booking: Booking) => {
    rows.put(stayOfBooking(booking))
    resources.invalidate('bookings')
  }

  async function write(stay: Stay, to: Placement, pricing: Pricing): Promise<Booking | Problem> {
    const change = { unit: to.unit, arrival: isoOf(to.arrival), departure: isoOf(to.departure), pricing }
    const headers = { 'Idempotency-Key': newIdempotencyKey(), 'If-Match': `"${stay.version}"` }
    rows.expect({ ...stay, ...to })
    setInFlight((ids) => new Set([...ids, stay.id]))
    try {
      const { booking } = await patchBooking(change, { ...path, bookingId: stay.id }, headers)
      apply(booking)
      return booking
    } catch (error) {
      const problem = problemOf(error)
      if (problem.code === 'VERSION_CHANGED') await refresh(stay.id)
      return problem
    } finally {
      rows.settle(stay.id)
      setInFlight((ids) => new Set([...ids].filter((id) => id !== stay.id)))
    }
  }

  /** What a colleague has made of it. The change also comes with the stream; whoever was refused should see it at once. */
  async function refresh(id: string): Promise<void> {
    try {
      const { booking } = await getBooking(path, id, new AbortController().signal)
      rows.put(stayOfBooking(booking))
    } catch {
      // The stream will bring it.
    }
  }

  const nameOf = (slug: string) => rows.units.find((unit) => unit.slug === slug)?.name ?? slug

  async function move(stay: Stay, to: Placement, pricing: Pricing): Promise<Problem | null> {
    const moved = await write(stay, to, pricing)
    if (!('id' in moved)) return moved
    const where = to.unit === stay.unit ? '' : ` to ${nameText(nameOf(to.unit))}`
    toast({
      tone: 'good',
      text: `${barText(stay)} moved${where}: ${dayRange(to.arrival, to.departure)}`,
      undo: () => void undo(stay, stayOfBooking(moved), pricing),
    })
    return null
  }

  async function undo(before: Stay, moved: Stay, pricing: Pricing): Promise<void> {
    const { unit, arrival, departure } = before
    const back = await write(rows.stored(moved.id) ?? moved, { unit, arrival, departure }, pricing)
    if (!('id' in back)) return toast({ tone: 'bad', text: `Could not undo: ${back.message}` })
    const isOtherPrice = before.total !== null && back.totalAmount !== before.total
    const price = isOtherPrice ? ` Its price is now ${money(back.totalAmount, currency)}.` : ''
    toast({ tone: 'good', text: `${barText(before)} is back where it was.${price}` })
  }

  function created(bookings: readonly Booking[]): void {
    for (const booking of bookings) apply(booking)
    const stays = bookings.map(stayOfBooking)
    const [stay] = stays
    if (stay === undefined) return
    const isHeld = isHold(stay.status)
    const text =
      stays.length === 1
        ? `${barText(stay)} ${isHeld ? 'on hold' : 'added'}: ${dayRange(stay.arrival, stay.departure)}`
        : `${barText(stay)}: ${stays.length} stays ${isHeld ? 'on hold' : 'added'}`
    const isPaid = stay.type === 'guest'
    toast({ tone: 'good', text, ...(isPaid ? {} : { undo: () => void remove(stay, stays.length) }) })
  }

  async function remove(stay: Stay, stays: number): Promise<void> {
    const key = { 'Idempotency-Key': newIdempotencyKey() }
    const { groupId } = stay
    try {
      if (groupId === null) {
        const headers = { ...key, 'If-Match': `"${stay.version}"` }
        apply((await cancelBooking('', { ...path, bookingId: stay.id }, headers)).booking)
      } else for (const booking of (await cancelGroup('', { ...path, groupId }, key)).bookings) apply(booking)
      toast({ tone: 'good', text: `${barText(stay)} removed${stays === 1 ? '' : ` from ${stays} units`}` })
    } catch (error) {
      toast({ tone: 'bad', text: `Could not undo: ${problemOf(error).message}` })
    }
  }

  return { inFlight, move, apply, created }
}
