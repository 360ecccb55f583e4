import type { BookingRequest } from '../core/bookings/booking-request.ts'
import type { BookingStatus, BookingType } from '../core/domain/booking.ts'
import { addNights, type Night } from '../core/domain/night.ts'
import type { Unit } from '../core/domain/unit.ts'
import { SeededRandom } from '../lib/seeded-random.ts'

const GUESTS = [
  ['Marta', 'Silva', 'PT'],
  ['João', 'Ferreira', 'PT'],
  ['Emma', 'Lindqvist', 'SE'],
  ['Lukas', 'Brandt', 'DE'],
  ['Chloé', 'Moreau', 'FR'],
  ['Oliver', 'Hughes', 'GB'],
  ['Giulia', 'Conti', 'IT'],
  ['Sofía', 'Navarro', 'ES'],
  ['Noah', 'de Vries', 'NL'],
  ['Aoife', 'Byrne', 'IE'],
  ['Hana', 'Kobayashi', 'JP'],
  ['Ethan', 'Walker', 'US'],
  ['Zuzanna', 'Nowak', 'PL'],
  ['Mateo', 'Rojas', 'CL'],
  ['Ingrid', 'Solberg', 'NO'],
] as const

const SOURCES = ['portal', 'website', 'partner', 'airbnb', 'booking.com'] as const
const DAYS_BACK = 100
const DAYS_AHEAD = 165

/** About 200 bookings of every type and status, past and to come, that do not overlap. */
export function demoBookings(units: readonly Unit[], today: Night): BookingRequest[] {
  // The same seed each time: every demo has the same bookings around its own today.
  const random = new SeededRandom(5)
  return units.flatMap((unit) => {
    const requests: BookingRequest[] = []
    let arrival = addNights(today, -DAYS_BACK + random.below(12))
    while (arrival < today + DAYS_AHEAD) {
      const nights = unit.rules.minStay + random.below(7)
      requests.push(requestOf(unit, arrival, addNights(arrival, nights), today, random))
      arrival = addNights(arrival, nights + unit.rules.turnoverNights + random.below(arrival < today + 45 ? 16 : 34))
    }
    return requests
  })
}

function requestOf(unit: Unit, arrival: Night, departure: Night, today: Night, random: SeededRandom): BookingRequest {
  const type = random.pick<BookingType>([...Array<BookingType>(16).fill('guest'), 'owner_stay', 'maintenance', 'block'])
  const isGuest = type === 'guest'
  const source = isGuest ? random.pick(SOURCES) : 'portal'
  const [firstName, lastName, nationality] = random.pick(GUESTS)
  const children = isGuest && unit.rules.extraBedFee > 0 ? random.pick([0, 0, 0, 1, 2]) : 0
  return {
    unit,
    stay: { arrival, departure },
    type,
    status: statusOf(isGuest, arrival, departure, today, random),
    source,
    sourceRef: source === 'portal' ? null : `${source.slice(0, 3).toUpperCase()}-${100_000 + random.below(900_000)}`,
    adults: isGuest ? 1 + random.below(Math.max(1, Math.min(4, unit.maxGuests))) : 1,
    children,
    extraBed: children > 0,
    notes: type === 'maintenance' ? 'Repaint the hall, service the boiler' : null,
    // Long enough that a demo has holds to look at for a while.
    holdHours: 240 + random.below(1_000),
    guest: isGuest ? { firstName, lastName, email: emailOf(firstName, lastName), phone: null, nationality } : null,
    enforcement: 'agency',
  }
}

function statusOf(
  isGuest: boolean,
  arrival: Night,
  departure: Night,
  today: Night,
  random: SeededRandom,
): BookingStatus {
  if (random.below(12) === 0) return 'cancelled'
  if (!isGuest) return 'confirmed'
  if (departure <= today) return 'checked_out'
  if (arrival <= today) return 'checked_in'
  return random.pick<BookingStatus>(['confirmed', 'confirmed', 'confirmed', 'confirmed', 'option', 'draft'])
}

function emailOf(firstName: string, lastName: string): string {
  const plain = `${firstName}.${lastName}`.normalize('NFD').replaceAll(/[^A-Za-z.]/g, '')
  return `${plain.toLowerCase()}@example.com`
}
