/**
 * The stays of the demo around its today, chosen so that every screen has something to do: arrivals and departures of the day,
 * guests in house, holds that lapse within hours and days, an owner, maintenance, blocks, an expected extension.
 */
import type { BookingStatus, BookingType } from '../core/domain/booking.ts'

export interface WeekStay {
  /** Days from today. */
  readonly arrival: number
  readonly departure: number
  readonly type: BookingType
  readonly status: BookingStatus
  /** In `DEMO_GUESTS`; null: nobody. */
  readonly guest: number | null
  readonly source: string
  readonly holdHours: number | null
  /** Days from today. */
  readonly expectedUntil: number | null
  readonly notes: string | null
}

type Nights = readonly [arrival: number, departure: number]
type Details = Partial<Pick<WeekStay, 'source' | 'expectedUntil' | 'notes'>>

function guest(nights: Nights, status: BookingStatus, index: number, details: Details = {}): WeekStay {
  return stay(nights, { type: 'guest', status, guest: index, ...details })
}

function hold(nights: Nights, hours: number, index: number, details: Details = {}): WeekStay {
  return stay(nights, { type: 'guest', status: 'option', guest: index, holdHours: hours, ...details })
}

function own(nights: Nights, type: BookingType, notes: string): WeekStay {
  return stay(nights, { type, status: 'confirmed', notes })
}

function stay([arrival, departure]: Nights, what: Pick<WeekStay, 'type' | 'status'> & Partial<WeekStay>): WeekStay {
  const none = { guest: null, source: 'portal', holdHours: null, expectedUntil: null, notes: null }
  return { arrival, departure, ...none, ...what }
}

/** By slug, in order. Between two stays of a unit are its turnover nights at least. */
export const DEMO_WEEK: Readonly<Record<string, readonly WeekStay[]>> = {
  'alfama-loft': [
    guest([-4, 0], 'checked_in', 4, { source: 'airbnb', notes: 'Late check-out at 13:00 agreed' }),
    guest([0, 3], 'confirmed', 0, { source: 'website', notes: 'Arrives about 20:30, keys in the lock box' }),
    hold([5, 8], 3, 11),
  ],
  'baixa-studio': [
    guest([-2, 2], 'checked_in', 16, { expectedUntil: 4, notes: 'May stay two nights longer, decides tomorrow' }),
    hold([6, 9], 26, 7, { source: 'website' }),
  ],
  'belem-garden': [
    guest([-5, 0], 'checked_out', 19, { source: 'booking.com' }),
    guest([1, 6], 'confirmed', 24, { source: 'partner', notes: 'Needs a cot' }),
  ],
  'cascais-villa': [
    own([-3, 4], 'owner_stay', 'Senhora Pinto and family'),
    hold([6, 13], 120, 15, { source: 'partner', notes: 'Asked for two parking spaces' }),
  ],
  'chiado-suite': [
    guest([-3, 0], 'checked_in', 10, { source: 'booking.com' }),
    guest([0, 2], 'checked_in', 21, { source: 'website', notes: 'Left their bags at 9:00' }),
    guest([2, 5], 'confirmed', 31, { source: 'airbnb' }),
  ],
  'ericeira-surf': [
    own([-1, 2], 'maintenance', 'New boiler; the plumber has the keys'),
    guest([3, 10], 'confirmed', 12, { source: 'website' }),
  ],
  'estrela-family': [
    guest([-6, 1], 'checked_in', 8, { source: 'booking.com' }),
    guest([4, 9], 'draft', 26, { notes: 'Waiting for the number of children' }),
  ],
  'graca-view': [
    own([-4, -1], 'block', 'Photographs for the website'),
    guest([0, 7], 'confirmed', 28, { source: 'partner' }),
  ],
  'oriente-flat': [
    guest([-1, 3], 'checked_in', 23, { source: 'website' }),
    hold([3, 6], 9, 3, { notes: 'Their company confirms by tonight' }),
    own([8, 12], 'block', 'Kept for the congress'),
  ],
  'sesimbra-beach': [
    own([-2, 5], 'block', 'Terrace closed by the building'),
    hold([7, 11], 52, 13, { source: 'website' }),
  ],
  'sintra-cottage': [
    guest([-2, 5], 'checked_in', 5, { source: 'partner', notes: 'Allergic to cats' }),
    own([7, 8], 'maintenance', 'Chimney sweep'),
  ],
}
