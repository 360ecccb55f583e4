/** The requests with which the calendar changes bookings, and the dry runs that say beforehand what would come of them. */
import { answerOf, client } from '../../api/client.ts'
import type { Schema } from '../../api/schema.ts'
import type { WriteHeaders } from '../../data/use-mutation.ts'
import { type Day, isoOf } from '../../format/days.ts'

export type Booking = Schema<'Booking'>

export interface Tried {
  readonly booking: Booking
  /** Null when nobody pays for the stay. */
  readonly quote: Quote | null
}

export interface Quote {
  readonly nights: number
  readonly total: number
  readonly lines: readonly QuoteLine[]
}

export type QuoteLine = Schema<'QuoteLine'>

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

export interface Change {
  readonly status?: Booking['status']
  readonly arrival?: string
  readonly departure?: string
  readonly unit?: string
  readonly holdExpiresAt?: string
  readonly expectedUntil?: string | null
  readonly pricing?: 'reprice' | 'keep'
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

/** @throws Problem */
export async function changeStay(path: Path, bookingId: string, body: Change, headers: WriteHeaders): Promise<Booking> {
  const params = { path: { ...path, bookingId }, header: headers }
  const { booking } = await answerOf(
    client.PATCH('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}', { params, body }),
  )
  return booking
}

/** @throws Problem the refusal that the write would get */
export async function tryChange(path: Path, bookingId: string, body: Change, signal: AbortSignal): Promise<Tried> {
  const params = { path: { ...path, bookingId }, query: { dryRun: 'true' as const } }
  return (await answerOf(
    client.PATCH('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}', { params, body, signal }),
  )) as Tried
}

/** @throws Problem */
export async function cancelStay(
  path: Path,
  bookingId: string,
  reason: string,
  headers: WriteHeaders,
): Promise<Booking> {
  const params = { path: { ...path, bookingId }, header: headers }
  const body = reason.trim() === '' ? {} : { reason: reason.trim() }
  const { booking } = await answerOf(
    client.POST('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}/cancel', { params, body }),
  )
  return booking
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
