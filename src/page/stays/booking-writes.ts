/** The requests that make and change bookings, and their dry runs, which show the outcome beforehand. */
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

/** The outcome of a dry run for one stay. */
export interface TriedStay {
  /** Null when nobody pays for the stay. */
  readonly quote: Quote | null
  /** Only if restrictions would refuse the stay to partners. */
  readonly warnings?: Schema<'Warnings'> | undefined
}

/** What a write would do. */
export interface Tried extends TriedStay {
  readonly booking: Booking
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

/** Cancels all stays of a group that are not cancelled yet. @param reason as entered; empty: none. @throws Problem */
export function cancelGroup(
  reason: string,
  path: Path & { readonly groupId: string },
  header: WriteHeaders,
): Promise<{ bookings: readonly Booking[] }> {
  const body = reason.trim() === '' ? {} : { reason: reason.trim() }
  return answerOf(
    client.POST('/portal/v1/agencies/{agencySlug}/bookings/group/{groupId}/cancel', {
      params: { path, header },
      body,
    }),
  )
}

interface Path {
  readonly agencySlug: string
}

/** One or several stays to be made. The members outside `stays` apply to all of them. */
export interface NewStays {
  readonly stays: readonly {
    readonly unit: string
    readonly arrival: Day
    readonly departure: Day
    readonly adults: number
    readonly children: number
    readonly extraBed: boolean
  }[]
  readonly type: Booking['type']
  readonly status: 'confirmed' | 'option'
  readonly holdHours: number | null
  readonly notes: string
  readonly guest: {
    readonly firstName: string
    readonly lastName: string
    readonly email: string
    readonly phone: string
  } | null
}

/** Makes all stays or none. @returns them in the same order. @throws Problem */
export async function createStays(path: Path, wanted: NewStays, headers: WriteHeaders): Promise<readonly Booking[]> {
  const { stays, shared } = bodyOf(wanted)
  const [only, another] = stays
  const params = { path, header: headers }
  if (only !== undefined && another === undefined) {
    const body = { ...only, ...shared }
    return [(await answerOf(client.POST('/portal/v1/agencies/{agencySlug}/bookings', { params, body }))).booking]
  }
  const body = { stays, ...shared }
  return (await answerOf(client.POST('/portal/v1/agencies/{agencySlug}/bookings/group', { params, body }))).bookings
}

/** A dry run of `createStays`. @returns the outcomes in the same order. @throws Problem the refusal that the write would get */
export async function tryStays(path: Path, wanted: NewStays, signal: AbortSignal): Promise<readonly TriedStay[]> {
  const { stays, shared } = bodyOf(wanted)
  const [only, another] = stays
  const params = { path, query: { dryRun: 'true' as const } }
  if (only !== undefined && another === undefined) {
    const body = { ...only, ...shared }
    const answer = client.POST('/portal/v1/agencies/{agencySlug}/bookings', { params, body, signal })
    return [(await answerOf(answer)) as Tried]
  }
  const body = { stays, ...shared }
  const answer = client.POST('/portal/v1/agencies/{agencySlug}/bookings/group', { params, body, signal })
  const { quotes, warnings = [] } = (await answerOf(answer)) as TriedGroup
  return quotes.map((quote, i) => ({ quote, warnings: warnings.find(({ stay }) => stay === i) }))
}

interface TriedGroup {
  readonly quotes: readonly (Quote | null)[]
  readonly warnings?: readonly (Schema<'Warnings'> & { readonly stay: number })[]
}

function bodyOf({ stays, type, status, holdHours, notes, guest }: NewStays) {
  const isStay = type === 'guest' || type === 'owner_stay'
  return {
    stays: stays.map(({ unit, arrival, departure, adults, children, extraBed }) => ({
      unit,
      arrival: isoOf(arrival),
      departure: isoOf(departure),
      ...(isStay ? { adults, children, extraBed: children > 0 && extraBed } : {}),
      ...(notes.trim() === '' ? {} : { notes: notes.trim() }),
    })),
    shared: {
      type,
      status,
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
    },
  }
}

interface UsedTried<T> {
  /** The last that is known; of other input while `isLoading`. */
  readonly tried: T | null
  readonly problem: Problem | null
  readonly isLoading: boolean
  /** Asks the same again. */
  readonly retry: () => void
}

/**
 * What a write would do, asked again whenever the input changes.
 * @param input names everything that `load` depends on; null: nothing to ask yet
 */
export function useTried<T>(input: object | null, load: (signal: AbortSignal) => Promise<T>): UsedTried<T> {
  const { data, error, isLoading, refresh } = useResource(
    input === null ? null : `tried?${JSON.stringify(input)}`,
    load,
  )
  const last = useRef<T | null>(null)
  if (data !== undefined) last.current = data
  if (error !== null) last.current = null
  return {
    tried: last.current,
    problem: error,
    retry: () => void refresh(),
    isLoading: isLoading || (data === undefined && error === null),
  }
}
