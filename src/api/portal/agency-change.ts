/**
 * The changes of an agency as its own people see them: every entry of its log. Beyond what partners see, these are new lifetimes of
 * holds, expected extensions, and every change of a unit or its rates.
 */

import { type BookingEvent, type BookingFacts, isUnitSet, type LedgerEvent } from '../../core/domain/booking.ts'
import type { Unit } from '../../core/domain/unit.ts'
import { decodeAnyEntry, envelopeIn } from '../../core/journal/entry-codec.ts'
import type { Envelope } from '../../core/journal/record.ts'
import type { ChangeEntry, ChangeInLog, FeedView } from '../../events/changes/change-page.ts'

/** The route of an entry that sets rates. Only this tells it from other changes of a unit, restrictions included: each has the whole unit. */
export const SET_RATES_ROUTE = 'PUT /portal/v1/agencies/{agencySlug}/units/{unitSlug}/rates'

export const BOOKING_EVENTS = {
  booking_created: 'booking.created',
  booking_changed: 'booking.updated',
  booking_cancelled: 'booking.cancelled',
} as const satisfies Record<BookingEvent['kind'], string>

export type ChangedThing =
  | {
      readonly event: (typeof BOOKING_EVENTS)[keyof typeof BOOKING_EVENTS]
      /** After the change. */
      readonly booking: BookingFacts
      readonly envelope: Envelope
    }
  | { readonly event: 'unit.updated' | 'rates.updated'; readonly unit: Unit }
  | { readonly event: 'guest.erased'; readonly guestId: string }

/** A change, without what is in no entry: a booking's guest and texts. */
export interface AgencyChange extends ChangeInLog {
  /** `evt_…` */
  readonly id: string
  readonly seq: number
  readonly at: number
  readonly thing: ChangedThing
}

export const AGENCY_VIEW: FeedView<AgencyChange> = {
  cursorKind: 'portal',
  shown: 'all',
  changeOf: (entry, cursors) => {
    const { id, seq, at } = entry
    const event = decodeAnyEntry(entry)
    return { cursor: cursors.write(entry), id, seq, at, thing: thingOf(event, entry) }
  },
}

function thingOf(event: LedgerEvent<BookingFacts>, entry: ChangeEntry): ChangedThing {
  if (event.kind === 'guest_erased') return { event: 'guest.erased', guestId: event.guestId }
  if (isUnitSet(event))
    return { event: entry.route === SET_RATES_ROUTE ? 'rates.updated' : 'unit.updated', unit: event.unit }
  return { event: BOOKING_EVENTS[event.kind], booking: event.after, envelope: envelopeIn(entry) }
}
