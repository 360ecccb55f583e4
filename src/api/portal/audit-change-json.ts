import { type Static, Type } from '@sinclair/typebox'
import type { Inventory } from '../../core/catalogue/agency.ts'
import {
  BOOKING_STATUSES,
  BOOKING_TYPES,
  type BookingFacts,
  isUnitSet,
  type LedgerEvent,
} from '../../core/domain/booking.ts'
import { formatNight } from '../../core/domain/night.ts'
import { timestampOrNull } from '../../http/json/booking-json.ts'
import { choice, dateText, nullable } from '../../http/text-schema.ts'

const StayJson = Type.Object(
  {
    unitSlug: Type.String(),
    unitName: Type.String({ description: 'Its name now.' }),
    type: choice(BOOKING_TYPES),
    status: choice(BOOKING_STATUSES),
    arrival: dateText('The first night.'),
    departure: dateText('The departure day.'),
    totalAmount: Type.Integer({ description: "In minor units of the agency's currency." }),
    holdExpiresAt: nullable(Type.String({ format: 'date-time' })),
    expectedUntil: nullable(dateText('The day until which the current guest is expected to stay.')),
  },
  { $id: 'AuditedStay' },
)

/** What an entry of the journal says about a booking or a unit: no personal data, as in the journal itself. */
export const AuditChangeJson = Type.Object(
  {
    kind: choice(['booking_created', 'booking_changed', 'booking_cancelled', 'unit_set']),
    unitSlug: Type.String(),
    unitName: Type.String({ description: 'Its name now.' }),
    before: nullable(StayJson),
    after: nullable(StayJson),
  },
  { $id: 'AuditChange', description: 'What was changed, when it was a booking or a unit.' },
)

export const ErasedGuestJson = Type.Object(
  {
    kind: Type.Literal('guest_erased'),
    guestId: Type.String({ description: 'This id no longer refers to anyone.' }),
  },
  { $id: 'ErasedGuest', description: 'A guest was erased.' },
)

type AuditedChange = Static<typeof AuditChangeJson> | Static<typeof ErasedGuestJson>

/**
 * @param inventory of the agency: it knows the units, archived ones too
 * @returns null if it does not know a unit of the change: the entry is stored already, but the process has not been told so yet, or
 *   it is that of another writer, which has fenced out this one
 */
export function auditChangeJson(event: LedgerEvent<BookingFacts>, inventory: Inventory): AuditedChange | null {
  if (event.kind === 'guest_erased') return { kind: event.kind, guestId: event.guestId }
  if (isUnitSet(event)) {
    const names = unitNames(event.unit.id, inventory)
    return names === null ? null : { kind: 'unit_set', ...names, before: null, after: null }
  }
  const after = stayJson(event.after, inventory)
  const before = 'before' in event ? stayJson(event.before, inventory) : null
  if (after === null || ('before' in event && before === null)) return null
  const { unitSlug, unitName } = after
  return { kind: event.kind, unitSlug, unitName, before, after }
}

function stayJson(booking: BookingFacts, inventory: Inventory): Static<typeof StayJson> | null {
  const { unitId, type, status, arrival, departure, totalAmount, holdExpiresAt, expectedUntil } = booking
  const names = unitNames(unitId, inventory)
  if (names === null) return null
  return {
    ...names,
    type,
    status,
    totalAmount,
    arrival: formatNight(arrival),
    departure: formatNight(departure),
    holdExpiresAt: timestampOrNull(holdExpiresAt),
    expectedUntil: expectedUntil === null ? null : formatNight(expectedUntil),
  }
}

function unitNames(unitId: string, inventory: Inventory) {
  const unit = inventory.unitById(unitId)
  return unit === null ? null : { unitSlug: unit.slug, unitName: unit.name }
}
