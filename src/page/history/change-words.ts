/** What a change of a booking changed, told from the booking before and after. */
import type { Schema } from '../api/schema.ts'
import { STATUS_LOOKS, TYPE_LOOKS } from '../design/status-looks.ts'
import { dayOf, dayText } from '../format/days.ts'
import { instantText } from '../format/instants.ts'
import { type Currency, money } from '../format/numbers.ts'
import { stayDates } from '../stays/stay-name.ts'

export type AuditChange = Schema<'AuditChange'>
type Stay = Schema<'AuditedStay'>

export interface ChangedMember {
  readonly label: string
  /** Null for what was not there before. */
  readonly before: string | null
  readonly after: string
}

export interface WordsContext {
  readonly currency: Currency
  readonly timezone: string
}

/** What was done to the booking, after a name: `confirmed it`. */
export function changeDeed({ kind, before, after }: AuditChange): string {
  if (kind === 'unit_set' || after === null) return 'changed the unit'
  if (before === null) return createdDeed(after)
  if (kind === 'booking_cancelled')
    return before.status === 'option' || before.status === 'draft' ? 'released the hold' : 'cancelled it'
  if (before.status !== after.status) return STATUS_DEEDS[after.status]
  if (before.unitSlug !== after.unitSlug) return 'moved it to another unit'
  if (before.arrival !== after.arrival || before.departure !== after.departure) return 'changed its dates'
  if (before.holdExpiresAt !== after.holdExpiresAt) return 'changed when the hold expires'
  if (before.expectedUntil !== after.expectedUntil)
    return after.expectedUntil === null ? 'no longer expects an extension' : 'noted an expected extension'
  return 'changed it'
}

const STATUS_DEEDS: Readonly<Record<Stay['status'], string>> = {
  draft: 'made it a draft',
  option: 'put it on hold',
  confirmed: 'confirmed it',
  checked_in: 'checked the guest in',
  checked_out: 'checked the guest out',
  cancelled: 'cancelled it',
}

function createdDeed({ type, status }: Stay): string {
  if (type !== 'guest') return `added it: ${TYPE_LOOKS[type].label.toLowerCase()}`
  if (status === 'option' || status === 'draft') return 'put the nights on hold'
  return status === 'confirmed' ? 'booked it' : `added it: ${STATUS_LOOKS[status].label.toLowerCase()}`
}

/** Every member that differs; of a new booking, what it was made with. */
export function changedMembers(
  { before, after }: Pick<AuditChange, 'before' | 'after'>,
  context: WordsContext,
): ChangedMember[] {
  if (after === null) return []
  const now = membersOf(after, context)
  if (before === null) {
    const shown = ['Unit', 'Stay', 'Price']
    return now.filter(({ label, text }) => shown.includes(label) && text !== null).map(added)
  }
  const then = membersOf(before, context)
  const isOtherStatus = before.status !== after.status
  return now.flatMap(({ label, text }, index) => {
    const was = then[index]?.text ?? null
    // What ends with the status needs no line of its own.
    if (was === text || (text === null && isOtherStatus)) return []
    return [{ label, before: was, after: text ?? 'no longer' }]
  })
}

const added = ({ label, text }: Member): ChangedMember => ({ label, before: null, after: text ?? '' })

interface Member {
  readonly label: string
  readonly text: string | null
}

/** In the order in which they are told. */
function membersOf(stay: Stay, { currency, timezone }: WordsContext): Member[] {
  const { type, status, holdExpiresAt, expectedUntil } = stay
  return [
    { label: 'Status', text: STATUS_LOOKS[status].label },
    { label: 'Unit', text: stay.unitName },
    { label: 'Stay', text: stayDates(stay) },
    { label: 'Price', text: type === 'guest' ? money(stay.totalAmount, currency) : null },
    { label: 'Held until', text: holdExpiresAt === null ? null : instantText(holdExpiresAt, timezone) },
    { label: 'Expected until', text: expectedUntil === null ? null : dayText(dayOf(expectedUntil)) },
  ]
}
