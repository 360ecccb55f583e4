/** Changes of an agency as they are answered: with the guests and texts of bookings, which are in no entry. */
import { type Static, type TProperties, Type } from '@sinclair/typebox'
import type { AgencyBooking, AgencyBookings } from '../../core/bookings/booking-lists.ts'
import { CorruptLedgerError } from '../../core/journal/journal-error.ts'
import type { Change } from '../../events/changes/change-page.ts'
import { CURSOR } from '../../http/change-requests.ts'
import { timestampOf } from '../../http/json/booking-json.ts'
import { ratesJson } from '../../http/json/rates-json.ts'
import { choice } from '../../http/text-schema.ts'
import type { FairShares } from '../../lib/queues.ts'
import { Slices } from '../../lib/slices.ts'
import { type AgencyChange, BOOKING_EVENTS, type ChangedThing } from './agency-change.ts'
import { AgencyBookingJson, bookingWithoutGuestIn, withGuest } from './booking-json.ts'
import { RatesJson } from './rates.ts'
import { PortalUnitJson, portalUnitJson } from './units.ts'

const eventOf = <P extends TProperties>(event: P, $id: string) =>
  Type.Object(
    {
      cursor: CURSOR,
      id: Type.String({ description: 'Unique per change.' }),
      seq: Type.Integer({ description: 'Increases from change to change: sort by it.' }),
      occurredAt: Type.String({ format: 'date-time' }),
      ...event,
    },
    { $id },
  )

export const AgencyChangeJson = Type.Union([
  eventOf({ event: choice(Object.values(BOOKING_EVENTS)), data: AgencyBookingJson }, 'BookingChange'),
  eventOf({ event: Type.Literal('unit.updated'), data: PortalUnitJson }, 'UnitChange'),
  eventOf(
    {
      event: Type.Literal('rates.updated'),
      data: Type.Object({ unitId: Type.String(), unitSlug: Type.String(), unitName: Type.String(), rates: RatesJson }),
    },
    'RatesChange',
  ),
  eventOf({ event: Type.Literal('guest.erased'), data: Type.Object({ guestId: Type.String() }) }, 'GuestChange'),
])

/** Changes that are written without a pause, about half a millisecond of CPU. */
const SLICE_CHANGES = 10

/**
 * Puts guests and notes into changes. Readers that are woken by the same change read them once: while a booking is being read,
 * whoever needs it too waits for that. Nothing is kept, so that nobody sees a guest who was changed or erased meanwhile.
 */
export class AgencyChangeTexts {
  readonly #bookings: Pick<AgencyBookings, 'findAll'>
  readonly #renderings: Pick<FairShares, 'run'>
  readonly #reading = new WeakMap<AgencyChange, Promise<ReadonlyMap<string, AgencyBooking>>>()

  constructor({
    bookings,
    renderings,
  }: { bookings: Pick<AgencyBookings, 'findAll'>; renderings: Pick<FairShares, 'run'> }) {
    this.#bookings = bookings
    this.#renderings = renderings
  }

  /**
   * @throws what the database rejects with; NoPlaceError when the agency's share of large answers is in use
   */
  render(agencyId: string, changes: readonly AgencyChange[]): Promise<readonly Change[]> {
    // Few changes wait for nobody: those who are woken by the same change share its read.
    if (changes.length <= SLICE_CHANGES) return this.#render(agencyId, changes)
    return this.#renderings.run(agencyId, () => this.#render(agencyId, changes))
  }

  async #render(agencyId: string, changes: readonly AgencyChange[]): Promise<readonly Change[]> {
    const unread = changes.filter((change) => 'booking' in change.thing && !this.#reading.has(change))
    if (unread.length > 0) {
      const ids = new Set(unread.flatMap(({ thing }) => ('booking' in thing ? [thing.booking.id] : [])))
      const reading = this.#bookings.findAll(agencyId, [...ids])
      for (const change of unread) this.#reading.set(change, reading)
      const done = () => {
        for (const change of unread) this.#reading.delete(change)
      }
      reading.then(done, done)
    }
    // All of them are looked up now: they may be gone after the first one has been waited for.
    const reads = changes.map((change) => this.#reading.get(change))
    const found = await Promise.all(reads)
    const slices = new Slices(SLICE_CHANGES)
    const texts: Change[] = []
    for (const [i, change] of changes.entries()) {
      const pause = slices.spend(1)
      if (pause !== null) await pause
      texts.push(changeText(change, found[i]))
    }
    return texts
  }
}

function changeText(change: AgencyChange, found: ReadonlyMap<string, AgencyBooking> | undefined): Change {
  const { cursor, id, seq, at, thing } = change
  const json: Static<typeof AgencyChangeJson> = {
    cursor,
    id,
    seq,
    event: thing.event,
    occurredAt: timestampOf(at),
    data: dataOf(thing, found),
  } as Static<typeof AgencyChangeJson>
  return { cursor, event: thing.event, json: JSON.stringify(json) }
}

function dataOf(thing: ChangedThing, found: ReadonlyMap<string, AgencyBooking> | undefined): object {
  if ('booking' in thing) {
    const { booking: facts, envelope } = thing
    const read = found?.get(facts.id)
    if (read === undefined) throw new CorruptLedgerError('Cannot show a change of a booking: the booking is not stored')
    const { sourceRef, cancelReason } = read.booking
    const booking = { ...facts, sourceRef, cancelReason: facts.status === 'cancelled' ? cancelReason : null }
    return withGuest(bookingWithoutGuestIn(booking, { slug: envelope.unitSlug, name: envelope.unitName }), read)
  }
  if (thing.event === 'guest.erased') return { guestId: thing.guestId }
  const { event, unit } = thing
  if (event === 'unit.updated') return portalUnitJson(unit)
  return { unitId: unit.id, unitSlug: unit.slug, unitName: unit.name, rates: ratesJson(unit.rules.rates) }
}
