import { type Static, type TSchema, Type } from '@sinclair/typebox'
import type { BookingEntry, BookingHistory } from '../../core/bookings/booking-lists.ts'
import { BOOKING_STATUSES, isUnitSet, webhookEventOf } from '../../core/domain/booking.ts'
import { formatNight } from '../../core/domain/night.ts'
import { decodeEntry, envelopeIn } from '../../core/journal/entry-codec.ts'
import { CorruptLedgerError } from '../../core/journal/journal-error.ts'
import type { Actor } from '../../core/journal/record.ts'
import { Slices } from '../../lib/slices.ts'
import { choice, dateText } from '../text-schema.ts'
import { timestampOf } from './booking-json.ts'

/** The history of a booking (docs/partner-additions.md#10-what-was-known-when). @param by the schema of who made a change, as the surface shows it */
export function historySchema<B extends TSchema>(by: B) {
  return Type.Object({
    history: Type.Array(
      Type.Object(
        {
          version: Type.Integer({ minimum: 1, description: 'Version of the booking after the change.' }),
          at: Type.String({ format: 'date-time', description: 'When the change was made.' }),
          event: choice(['booking.created', 'booking.updated', 'booking.cancelled'], {
            description: 'The webhook event of the change.',
          }),
          status: choice(BOOKING_STATUSES),
          unitSlug: Type.String({ description: 'The unit after the change, by the slug that it had then.' }),
          arrival: dateText('The first night.'),
          departure: dateText('The departure day.'),
          totalAmount: Type.Integer({ description: "In minor units of the agency's currency." }),
          by,
        },
        { $id: 'BookingHistoryEntry' },
      ),
      {
        maxItems: HISTORY_MAX,
        description:
          `The changes that fired an event, oldest first, as far as they are kept; at most the newest ${HISTORY_MAX}. Each shows the booking ` +
          "as it was after the change. A hold's new lifetime and an expected extension fire none, but may raise `version` in between.",
      },
    ),
  })
}

/** A booking can be changed any number of times: at most this many changes are shown. */
export const HISTORY_MAX = 10_000
/** Reading more rows at once would block the event loop for longer than a slice. */
const ENTRIES_PER_PAGE = 100
/** Decoding so many takes well under a millisecond. */
const ENTRIES_PER_SLICE = 50

type HistoryEntry = Static<ReturnType<typeof historySchema>>['history'][number]

/**
 * The body of a booking's history.
 * @param byOf who made a change, as the surface shows it
 * @throws NoPlaceError when the agency's share of lists is in use; CorruptLedgerError when an entry is damaged: a change is never left out
 */
export async function historyText(
  history: BookingHistory,
  { agencyId, bookingId }: { readonly agencyId: string; readonly bookingId: string },
  byOf: (actor: Actor) => string,
  slices = new Slices(ENTRIES_PER_SLICE),
): Promise<string> {
  /** Newest first. */
  const texts: string[] = []
  let before: BookingEntry | null = null
  while (texts.length < HISTORY_MAX) {
    const limit = Math.min(ENTRIES_PER_PAGE, HISTORY_MAX - texts.length)
    const page: readonly BookingEntry[] = await history.read(agencyId, bookingId, { before, limit })
    for (const entry of page) {
      texts.push(JSON.stringify(historyEntry(entry, byOf)))
      const pause = slices.spend(1)
      if (pause !== null) await pause
    }
    if (page.length < limit) break
    before = page.at(-1) ?? null
    if (before?.kind === 'booking_created') break
  }
  return `{"history":[${texts.reverse().join()}]}`
}

function historyEntry(entry: BookingEntry, byOf: (actor: Actor) => string): HistoryEntry {
  const logged = decodeEntry(entry)
  const event = webhookEventOf(logged)
  if (isUnitSet(logged) || event === null)
    throw new CorruptLedgerError(`Cannot show journal entry ${entry.seq} in a history: it announces nothing`)
  const { version, status, arrival, departure, totalAmount } = logged.after
  return {
    version,
    at: timestampOf(entry.at),
    event,
    status,
    unitSlug: envelopeIn(entry).unitSlug,
    arrival: formatNight(arrival),
    departure: formatNight(departure),
    totalAmount,
    by: byOf(entry.actor),
  }
}
