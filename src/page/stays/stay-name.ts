/** What people call a stay: by its guest, or by what it is. */
import type { Schema } from '../api/schema.ts'
import { TYPE_LOOKS } from '../design/status-looks.ts'
import { dayOf, dayRange } from '../format/days.ts'
import { nameText } from '../format/texts.ts'

export type Booking = Schema<'Booking'>

export function guestName({ firstName, lastName }: Pick<Schema<'Guest'>, 'firstName' | 'lastName'>): string {
  return nameText(`${firstName} ${lastName}`).trim()
}

/** `Emma Lindqvist`, `Maintenance`, `Guest without a name`. */
export function stayName({ guest, type }: Pick<Booking, 'guest' | 'type'>): string {
  if (guest !== null) return guestName(guest)
  return type === 'guest' ? 'Guest without a name' : TYPE_LOOKS[type].label
}

/** `1 – 5 Mar 2027`. */
export function stayDates({ arrival, departure }: Pick<Booking, 'arrival' | 'departure'>): string {
  return dayRange(dayOf(arrival), dayOf(departure))
}

/** `Baixa Studio, 1 – 5 Mar 2027`. A unit's name that is written from right to left does not take the dates along. */
export function stayPlace(stay: Pick<Booking, 'unitName' | 'arrival' | 'departure'>): string {
  return `${nameText(stay.unitName)}, ${stayDates(stay)}`
}

/** `2 adults, 1 child`; empty when nobody stays. */
export function partyText({ adults, children }: Pick<Booking, 'adults' | 'children'>): string {
  const parts = [
    adults === 0 ? '' : `${adults} ${adults === 1 ? 'adult' : 'adults'}`,
    children === 0 ? '' : `${children} ${children === 1 ? 'child' : 'children'}`,
  ]
  return parts.filter(Boolean).join(', ')
}

const SOURCES: Readonly<Record<string, string>> = {
  portal: 'Agency',
  partner: 'Partner API',
  website: 'Website',
  airbnb: 'Airbnb',
  'booking.com': 'Booking.com',
}

/** Where a booking came from, in words. Sources are the agency's own texts: an unknown one is shown as it is. */
export function sourceText(source: string): string {
  return SOURCES[source] ?? source
}
