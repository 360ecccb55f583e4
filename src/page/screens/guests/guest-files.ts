/** What is held about a guest, as files to hand over: the same as those of `nightledger guests export`. */
import type { Schema } from '../../api/schema.ts'

type Booking = Schema<'Booking'>
type Guest = Schema<'Guest'>

interface Held {
  readonly guest: Guest
  readonly bookings: readonly Booking[]
  readonly agency: Pick<Schema<'Agency'>, 'slug' | 'name'>
}

/** `guest.json`. */
export function guestFile({ guest, bookings, agency }: Held, now: Date): string {
  const { id, firstName, lastName, email, phone, nationality, createdAt } = guest
  const held = {
    exportedAt: now.toISOString(),
    agency: { slug: agency.slug, name: agency.name },
    guest: { id, firstName, lastName, email, phone, nationality, createdAt },
    bookings: bookings.map(withoutGuest),
  }
  return `${JSON.stringify(held, null, 2)}\n`
}

/** `stays.csv`: a line of names, then a line each. */
export function staysFile(bookings: readonly Booking[]): string {
  const rows = bookings.map(withoutGuest)
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const lines = rows.map((row) => columns.map((column) => cell(row[column])))
  return [columns, ...lines].map((line) => `${line.join(',')}\n`).join('')
}

function withoutGuest({ guest: _, ...booking }: Booking): Readonly<Record<string, unknown>> {
  return booking
}

/** A spreadsheet would take such text for a formula. */
const FORMULA = /^'*[=+\-@\t\r]/

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' && FORMULA.test(value) ? `'${value}` : String(value)
  return /[",\n\r]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
