import type { BookingRequest } from '../core/bookings/booking-turns.ts'
import type { BookingStatus, BookingType } from '../core/domain/booking.ts'
import { addNights, asNight, type Night } from '../core/domain/night.ts'
import type { Unit } from '../core/domain/unit.ts'
import { SeededRandom } from '../lib/seeded-random.ts'
import { demoGuests, demoWeek, type WeekStay } from './demo-data.ts'

/** What a booking is drawn from. */
interface Chance {
  readonly random: SeededRandom
  readonly guests: readonly NonNullable<BookingRequest['guest']>[]
}

const SOURCES = ['portal', 'website', 'partner', 'airbnb', 'booking.com'] as const
const DAYS_BACK = 175
const DAYS_AHEAD = 165

/**
 * About 350 bookings of every type and status, past and to come, that do not overlap: those around today are of `demoWeek`.
 * A unit that is still a draft has none.
 */
export function demoBookings(units: readonly Unit[], today: Night): BookingRequest[] {
  // The same seed each time: every demo has the same bookings around its own today.
  const random = new SeededRandom(4)
  const stays = demoWeek()
  const guests = demoGuests()
  return units
    .filter(({ status }) => status === 'active')
    .flatMap((unit) => {
      const week = stays.filter((stay) => stay.unit === unit.slug)
      const [begin, end] = [week[0]?.arrival ?? 0, week.at(-1)?.departure ?? 0]
      const { turnoverNights } = unit.rules
      return [
        ...staysBetween(unit, { from: -DAYS_BACK + random.below(12), to: begin - turnoverNights }, today, {
          random,
          guests,
        }),
        ...week.map((stay) => weekRequest(unit, stay, today, { random, guests })),
        ...staysBetween(unit, { from: end + turnoverNights + random.below(6), to: DAYS_AHEAD }, today, {
          random,
          guests,
        }),
      ]
    })
}

/** Bookings that arrive later are made after the webhook endpoint: their events are sent to it. */
const BEFORE_ENDPOINT_DAYS = 30

export function isBeforeEndpoint({ stay }: Pick<BookingRequest, 'stay'>, today: Night): boolean {
  return stay.arrival < today + BEFORE_ENDPOINT_DAYS
}

const CANCEL_REASONS = [
  'Flight cancelled',
  'Found a place nearer to the conference',
  'Ill; offered other dates',
  'Booked twice by mistake',
] as const

/** Of the confirmed stays of the website, one in so many is cancelled. */
const CANCELLED_OF = 4

/** Which of the bookings that have been made are cancelled, and why. */
export function demoCancellations<B extends { source: string; status: BookingStatus; arrival: Night }>(
  made: readonly B[],
  today: Night,
): { booking: B; reason: string }[] {
  const ofWebsite = made.filter(
    ({ source, status, arrival }) => source === 'website' && status === 'confirmed' && arrival > today,
  )
  return CANCEL_REASONS.flatMap((reason, i) => {
    const booking = ofWebsite[(i + 1) * CANCELLED_OF - 1]
    return booking === undefined ? [] : [{ booking, reason }]
  })
}

/** @param window days from today; the last stay before today departs by its end, later ones may go beyond it */
function staysBetween(
  unit: Unit,
  window: { from: number; to: number },
  today: Night,
  chance: Chance,
): BookingRequest[] {
  const { random } = chance
  const requests: BookingRequest[] = []
  let arrival = window.from
  while (arrival < window.to) {
    const nights = unit.rules.minStay + random.below(7)
    const departure = arrival + nights
    if (arrival < 0 && departure > window.to) break
    requests.push(requestOf(unit, addNights(today, arrival), addNights(today, departure), today, chance))
    arrival = departure + unit.rules.turnoverNights + random.below(gapMax(arrival))
  }
  return requests
}

/** The further ahead, the less is booked. */
function gapMax(arrival: number): number {
  if (arrival < 21) return 5
  return arrival < 60 ? 14 : 30
}

function weekRequest(unit: Unit, stay: WeekStay, today: Night, { random, guests }: Chance): BookingRequest {
  const { type, status, source, holdHours, notes } = stay
  const index = guests.findIndex(({ email }) => email === stay.guest)
  const night = (offset: number): Night => asNight(today + offset)
  return {
    unit,
    type,
    status,
    source,
    holdHours,
    notes,
    stay: { arrival: night(stay.arrival), departure: night(stay.departure) },
    sourceRef: sourceRefOf(source, random),
    adults: index === -1 ? 1 : Math.min(unit.maxGuests, 2 + (index % 2)),
    children: 0,
    extraBed: false,
    expectedUntil: stay.expectedUntil === null ? null : night(stay.expectedUntil),
    guest: guests[index] ?? null,
    enforcement: 'agency',
  }
}

function requestOf(
  unit: Unit,
  arrival: Night,
  departure: Night,
  today: Night,
  { random, guests }: Chance,
): BookingRequest {
  const type = random.pick<BookingType>([...Array<BookingType>(20).fill('guest'), 'owner_stay', 'maintenance', 'block'])
  const isGuest = type === 'guest'
  const source = isGuest ? random.pick(SOURCES) : 'portal'
  const children = isGuest && unit.rules.extraBedFee > 0 ? random.pick([0, 0, 0, 1, 2]) : 0
  const guest = random.pick(guests)
  return {
    unit,
    stay: { arrival, departure },
    type,
    status: statusOf(isGuest, departure, today, random),
    source,
    sourceRef: sourceRefOf(source, random),
    adults: isGuest ? 1 + random.below(Math.max(1, Math.min(4, unit.maxGuests))) : 1,
    children,
    extraBed: children > 0,
    notes: type === 'maintenance' ? 'Repaint the hall, service the boiler' : null,
    // Long enough that a demo has holds to look at for a while.
    holdHours: 240 + random.below(1_000),
    guest: isGuest ? guest : null,
    enforcement: 'agency',
  }
}

function sourceRefOf(source: string, random: SeededRandom): string | null {
  return source === 'portal' ? null : `${source.slice(0, 3).toUpperCase()}-${100_000 + random.below(900_000)}`
}

function statusOf(isGuest: boolean, departure: Night, today: Night, random: SeededRandom): BookingStatus {
  if (random.below(12) === 0) return 'cancelled'
  if (!isGuest) return 'confirmed'
  if (departure <= today) return 'checked_out'
  return random.pick<BookingStatus>([...Array<BookingStatus>(12).fill('confirmed'), 'option', 'draft'])
}
