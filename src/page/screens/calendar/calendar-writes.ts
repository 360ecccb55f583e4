/** How the calendar makes stays, and the dry run that says beforehand what one would cost. */
import { answerOf, client } from '../../api/client.ts'
import type { WriteHeaders } from '../../data/use-mutation.ts'
import { type Day, isoOf } from '../../format/days.ts'
import type { Tried } from '../../stays/booking-writes.ts'
import type { Booking } from '../../stays/stay-name.ts'

interface Path {
  readonly agencySlug: string
}

export interface NewStay {
  readonly unit: string
  readonly arrival: Day
  readonly departure: Day
  readonly type: Booking['type']
  readonly status: 'confirmed' | 'option'
  readonly adults: number
  readonly children: number
  readonly extraBed: boolean
  readonly holdHours: number | null
  readonly notes: string
  readonly guest: {
    readonly firstName: string
    readonly lastName: string
    readonly email: string
    readonly phone: string
  } | null
}

/** @throws Problem */
export async function createStay(path: Path, stay: NewStay, headers: WriteHeaders): Promise<Booking> {
  const body = bodyOf(stay)
  const params = { path, header: headers }
  const { booking } = await answerOf(client.POST('/portal/v1/agencies/{agencySlug}/bookings', { params, body }))
  return booking
}

/** What it would cost. @throws Problem the refusal that the write would get */
export async function tryStay(path: Path, stay: NewStay, signal: AbortSignal): Promise<Tried> {
  const params = { path, query: { dryRun: 'true' as const } }
  const body = bodyOf(stay)
  return (await answerOf(client.POST('/portal/v1/agencies/{agencySlug}/bookings', { params, body, signal }))) as Tried
}

function bodyOf({ unit, arrival, departure, type, status, adults, children, extraBed, ...stay }: NewStay) {
  const isStay = type === 'guest' || type === 'owner_stay'
  const { guest, notes, holdHours } = stay
  return {
    ...{ unit, arrival: isoOf(arrival), departure: isoOf(departure), type, status },
    ...(isStay ? { adults, children, extraBed: children > 0 && extraBed } : {}),
    ...(notes.trim() === '' ? {} : { notes: notes.trim() }),
    ...(status === 'option' && holdHours !== null ? { holdHours } : {}),
    ...(guest === null
      ? {}
      : {
          guest: {
            firstName: guest.firstName.trim(),
            lastName: guest.lastName.trim(),
            email: guest.email.trim() === '' ? null : guest.email.trim(),
            phone: guest.phone.trim() === '' ? null : guest.phone.trim(),
          },
        }),
  }
}
