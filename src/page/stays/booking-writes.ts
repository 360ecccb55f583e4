/** The requests that make and change bookings, and their dry runs, which say beforehand what would come of it. */
import { useRef } from 'preact/hooks'
import { answerOf, client } from '../api/client.ts'
import type { Problem } from '../api/problem.ts'
import type { Schema } from '../api/schema.ts'
import type { WriteHeaders } from '../data/use-mutation.ts'
import { useResource } from '../data/use-resource.ts'
import { type Day, isoOf } from '../format/days.ts'
import type { Booking } from './stay-name.ts'

/** Members left out stay as they are. */
export interface BookingPatch {
  readonly status?: Booking['status']
  readonly arrival?: string
  readonly departure?: string
  readonly unit?: string
  readonly pricing?: Pricing
  /** ISO 8601. */
  readonly holdExpiresAt?: string
  readonly expectedUntil?: string | null
}

/** Of new dates or another unit: whether the price follows. */
export type Pricing = 'reprice' | 'keep'

/** The price of a stay, in minor units. */
interface Quote {
  readonly nights: number
  readonly total: number
  readonly lines: readonly Schema<'QuoteLine'>[]
}

/** What a write would do. */
export interface Tried {
  readonly booking: Booking
  /** Null when nobody pays for the stay. */
  readonly quote: Quote | null
  /** Of a stay that restrictions would refuse to partners. */
  readonly warnings?: Schema<'Warnings'>
}

export interface BookingPath {
  readonly agencySlug: string
  readonly bookingId: string
}

/** @throws Problem */
export function patchBooking(
  body: BookingPatch,
  path: BookingPath,
  header: WriteHeaders,
): Promise<{ booking: Booking }> {
  return answerOf(
    client.PATCH('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}', { params: { path, header }, body }),
  )
}

/** @throws Problem the refusal that the write would get */
export async function tryPatch(body: BookingPatch, path: BookingPath, signal: AbortSignal): Promise<Tried> {
  const params = { path, query: { dryRun: 'true' as const } }
  const { quote = null, ...tried } = await answerOf(
    client.PATCH('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}', { params, body, signal }),
  )
  return { ...tried, quote }
}

/** @param reason as entered; empty: none. @throws Problem */
export function cancelBooking(reason: string, path: BookingPath, header: WriteHeaders): Promise<{ booking: Booking }> {
  const body = reason.trim() === '' ? {} : { reason: reason.trim() }
  return answerOf(
    client.POST('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}/cancel', { params: { path, header }, body }),
  )
}

interface Path {
  readonly agencySlug: string
}

/** A stay to be made. */
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
    unit,
    arrival: isoOf(arrival),
    departure: isoOf(departure),
    type,
    status,
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

interface UsedTried {
  /** The last that is known; of other input while `isLoading`. */
  readonly tried: Tried | null
  readonly problem: Problem | null
  readonly isLoading: boolean
  /** Asks the same again. */
  readonly retry: () => void
}

/**
 * What a write would do, asked again whenever the input changes.
 * @param input names everything that `load` depends on; null: nothing to ask yet
 */
export function useTried(input: object | null, load: (signal: AbortSignal) => Promise<Tried>): UsedTried {
  const { data, error, isLoading, refresh } = useResource(
    input === null ? null : `tried?${JSON.stringify(input)}`,
    load,
  )
  const last = useRef<Tried | null>(null)
  if (data !== undefined) last.current = data
  if (error !== null) last.current = null
  return {
    tried: last.current,
    problem: error,
    retry: () => void refresh(),
    isLoading: isLoading || (data === undefined && error === null),
  }
}
