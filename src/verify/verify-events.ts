import type { BookingEvent } from '../core/domain/event.ts'
import { formatNight } from '../core/domain/night.ts'
import { decodeEntry, type StoredEntry } from '../core/journal/entry-codec.ts'
import { NumberSet } from '../lib/number-set.ts'
import { eventKind } from '../webhooks/envelope.ts'
import type { Findings } from './findings.ts'
import type { EventAddress, StoredEvent, VerifyStore } from './verify-store.ts'

/**
 * Checks that every event belongs to a change that must be announced, with the booking as it was then.
 * @returns the numbers of the journal entries that have an event, one bit each
 */
export async function verifyEvents(
  store: VerifyStore,
  { lastSeq, limit, found }: { lastSeq: number; limit: number; found: Findings },
): Promise<NumberSet> {
  const announced = new NumberSet()
  let after: EventAddress = { agencyId: '', eventId: '' }
  for (;;) {
    const events = await store.events(after, lastSeq, limit)
    const entries = events.length === 0 ? [] : await store.entriesAt(events.map(({ seq }) => seq))
    const bySeq = new Map(entries.map((entry) => [entry.seq, entry]))
    for (const event of events) {
      const change = changeOf(event, bySeq.get(event.seq))
      if (change === null) continue
      if (typeof change === 'string') {
        found.events += 1
        found.add('event', null, event.eventId, change)
        continue
      }
      announced.add(event.seq)
      verifyEvent(event, change, found)
    }
    const last = events.at(-1)
    if (last === undefined || events.length < limit) return announced
    after = last
  }
}

/**
 * The change that the event is of, or why it is of none. Null for an entry that cannot be read: that is reported with its unit, as
 * damage to the journal.
 */
function changeOf(
  { seq, agencyId }: StoredEvent,
  entry: (StoredEntry & { readonly agencyId: string }) | undefined,
): BookingEvent | string | null {
  if (entry === undefined) return `it refers to journal entry ${seq}, which does not exist`
  if (entry.agencyId !== agencyId) return `it refers to journal entry ${seq}, which belongs to another agency`
  try {
    const event = decodeEntry(entry)
    return event.kind === 'unit_set' ? `it refers to journal entry ${seq}, which changes no booking` : event
  } catch {
    return null
  }
}

function verifyEvent(stored: StoredEvent, change: BookingEvent, found: Findings): void {
  found.events += 1
  const wanted = eventKind(change)
  const [unitId, at] = [change.after.unitId, String(stored.seq)]
  if (stored.kind !== wanted) found.add('event', unitId, at, `it is ${stored.kind} and should be ${wanted ?? 'none'}`)
  else if (!isOf(stored, change)) found.add('event', unitId, at, 'its body does not match this change')
}

function isOf({ seq, body }: StoredEvent, { after }: BookingEvent): boolean {
  return (
    body !== null &&
    body.seq === seq &&
    body.id === after.id &&
    body.version === after.version &&
    body.status === after.status &&
    body.arrival === formatNight(after.arrival) &&
    body.departure === formatNight(after.departure) &&
    body.totalAmount === after.totalAmount
  )
}
