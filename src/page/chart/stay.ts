import type { Day } from '../format/days.ts'

/** The days in `[from, to)` that restrictions close: a digit per day from `from` on, the sum of the three below. Missing digits are 0. */
interface ClosedDays {
  readonly from: Day
  readonly to: Day
  readonly digits: string
}

export const CLOSED_TO_ARRIVAL = 1
export const CLOSED_TO_DEPARTURE = 2
export const NOT_FOR_SALE = 4

/** A row of the chart. */
export interface ChartUnit {
  readonly slug: string
  readonly name: string
  readonly city: string | null
  readonly area: string | null
  readonly bedrooms: number
  readonly maxGuests: number
  readonly minStay: number
  readonly turnoverNights: number
  readonly isArchived: boolean
  /** For each day, the first element that covers it counts. */
  readonly closed: readonly ClosedDays[]
}

/** How a day is closed: the sum of the three values above. */
export function closedOn({ closed }: ChartUnit, day: Day): number {
  const days = closed.find(({ from, to }) => day >= from && day < to)
  return days === undefined ? 0 : Number(days.digits[day - days.from] ?? 0)
}

type StayType = 'guest' | 'owner_stay' | 'maintenance' | 'block'
type StayStatus = 'draft' | 'option' | 'confirmed' | 'checked_in' | 'checked_out' | 'cancelled'

/** What the chart knows of a booking. Half-open: the guest does not sleep there on the night of the departure. */
export interface Stay {
  readonly id: string
  /** Slug of the unit. */
  readonly unit: string
  readonly arrival: Day
  readonly departure: Day
  readonly type: StayType
  readonly status: StayStatus
  readonly guest: string | null
  readonly source: string
  readonly sourceRef: string | null
  /** Minor units; null where the server gives no price. */
  readonly total: number | null
  /** Epoch seconds; null unless the stay is a hold. */
  readonly holdExpiresAt: number | null
  readonly expectedUntil: Day | null
  readonly version: number
  readonly adults: number
  readonly children: number
  /** Equal for stays that were booked together; null for a stay that was booked alone. */
  readonly groupId: string | null
}

/** How a stay is drawn: each kind has an outline, a pattern or a mark of its own, beside its colour. */
export type StayKind = 'draft' | 'hold' | 'confirmed' | 'checked-in' | 'checked-out' | 'owner' | 'maintenance' | 'block'

export function kindOf({ type, status }: Pick<Stay, 'type' | 'status'>): StayKind {
  if (isHold(status)) return status === 'draft' ? 'draft' : 'hold'
  switch (type) {
    case 'owner_stay':
      return 'owner'
    case 'maintenance':
    case 'block':
      return type
    case 'guest':
      return status === 'checked_in' ? 'checked-in' : status === 'checked_out' ? 'checked-out' : 'confirmed'
  }
}

export function isHold(status: StayStatus): boolean {
  return status === 'draft' || status === 'option'
}

/** Whether cleaning nights follow the departure. */
export function isCleanedAfter(type: StayType): boolean {
  return type === 'guest' || type === 'owner_stay'
}

export function nightsOf({ arrival, departure }: Pick<Stay, 'arrival' | 'departure'>): number {
  return departure - arrival
}

/** What has to be done with a stay by the end of today, if anything. */
type DueToday = 'arrival' | 'departure' | null

export function dueOn({ type, status, arrival, departure }: Stay, today: Day): DueToday {
  if (type !== 'guest' && type !== 'owner_stay') return null
  if (status === 'confirmed' && arrival <= today && departure > today) return 'arrival'
  if (status === 'checked_in' && departure <= today) return 'departure'
  return null
}
