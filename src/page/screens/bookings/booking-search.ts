/**
 * Finds bookings by guest, reference or id. The service has no search over bookings: each of the three is asked for by its own index.
 */
import { answerOf, client } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { type Booking, guestName } from '../../stays/stay-name.ts'
import { type BookingFilter, listQuery, soonestFirst } from './booking-filter.ts'

/** Guests whose stays are shown; more than that are too many to mean one. */
const GUESTS_MAX = 8
const STAYS_PER_GUEST = 25
const SEARCH_LENGTH_MIN = 2

interface FoundBookings {
  /** Each once, by `soonestFirst`. */
  readonly bookings: readonly Booking[]
  /** Guests that the search means, and how many of them have their stays in `bookings`. */
  readonly guests: { readonly total: number; readonly shown: readonly { readonly id: string; readonly name: string }[] }
  /** Some of these guests have more stays. */
  readonly hasMore: boolean
}

type Path = { readonly agencySlug: string }
interface SearchParams {
  readonly path: Path
  readonly filter: BookingFilter
  /** `YYYY-MM-DD`. */
  readonly today: string
  readonly signal: AbortSignal
}

export async function searchBookings(params: SearchParams): Promise<FoundBookings> {
  const [byId, byReference, byGuest] = await Promise.all([withId(params), withReference(params), ofGuests(params)])
  const all = new Map([...byId, ...byReference, ...byGuest.bookings].map((booking) => [booking.id, booking]))
  const bookings = [...all.values()].toSorted(soonestFirst(params.today))
  return { bookings, guests: byGuest.guests, hasMore: byGuest.hasMore }
}

async function withId({ path, filter: { search }, signal }: SearchParams): Promise<Booking[]> {
  if (!/^bkg_\w{1,60}$/.test(search)) return []
  try {
    const { booking } = await answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}', {
        params: { path: { ...path, bookingId: search } },
        signal,
      }),
    )
    return [booking]
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return []
    throw error
  }
}

async function withReference({ path, filter, signal }: SearchParams): Promise<Booking[]> {
  const query = { ...listQuery(filter), sourceRef: filter.search, pageSize: STAYS_PER_GUEST }
  const { bookings } = await answerOf(
    client.GET('/portal/v1/agencies/{agencySlug}/bookings', { params: { path, query }, signal }),
  )
  return bookings
}

async function ofGuests({ path, filter, signal }: SearchParams) {
  // The service ignores a shorter one, and would list every guest.
  if ([...filter.search].length < SEARCH_LENGTH_MIN)
    return { bookings: [], guests: { total: 0, shown: [] }, hasMore: false }
  const { guests, totalItems } = await answerOf(
    client.GET('/portal/v1/agencies/{agencySlug}/guests', {
      params: { path, query: { search: filter.search, pageSize: GUESTS_MAX } },
      signal,
    }),
  )
  const lists = await Promise.all(
    guests.map(({ id }) =>
      answerOf(
        client.GET('/portal/v1/agencies/{agencySlug}/bookings', {
          params: { path, query: { ...listQuery(filter), guest: id, pageSize: STAYS_PER_GUEST } },
          signal,
        }),
      ),
    ),
  )
  return {
    bookings: lists.flatMap(({ bookings }) => bookings),
    guests: { total: totalItems, shown: guests.map((guest) => ({ id: guest.id, name: guestName(guest) })) },
    hasMore: lists.some(({ totalItems: total }) => total > STAYS_PER_GUEST),
  }
}
