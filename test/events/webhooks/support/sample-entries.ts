import type { Booking } from '../../../../src/core/domain/booking.ts'
import { type EncodedEntry, encodeEntry } from '../../../../src/core/journal/entry-codec.ts'
import type { Entry } from '../../../../src/core/journal/record.ts'
import { shardOf } from '../../../../src/core/journal/shard.ts'
import { CALLER, sampleBooking, sampleId } from '../../../support/samples.ts'
import { MEMORY_MONTH } from './memory-sender-store.ts'

/** A booking's entry as the journal stores it, and its booking's row after it. */
export interface SampleEntry extends EncodedEntry {
  readonly after: Booking
}

/** An entry of a new booking; or, not announced, of a new lifetime of its hold. */
export function sampleEntry(
  agencyId: string,
  seq: number,
  { at, isAnnounced = true, change = {} }: { at: number; isAnnounced?: boolean; change?: Partial<Booking> },
): SampleEntry {
  const id = sampleId('bkg', `${agencyId.slice(4, 8)} ${seq}`)
  const after = sampleBooking({ id, createdAt: at, updatedAt: at, sourceRef: `REF-${seq}`, ...change })
  const event: Entry['event'] = isAnnounced
    ? { kind: 'booking_created', after }
    : { kind: 'booking_changed', before: after, after: { ...after, version: 2, holdExpiresAt: at + 1 } }
  const entry: Entry = {
    id: sampleId('evt', `${agencyId.slice(4, 8)} ${seq}`),
    event,
    at,
    caller: CALLER,
    envelope: { unitSlug: 'sea-view', unitName: 'Sea View', currency: 'EUR' },
  }
  const place = { shard: shardOf(agencyId), seq, month: MEMORY_MONTH }
  const encoded = encodeEntry(agencyId, entry, {
    ...place,
    previousLink: new Uint8Array(0),
    chainKey: new Uint8Array(32),
  })
  return { ...encoded, after: event.after }
}
