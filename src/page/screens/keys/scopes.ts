import type { Schema } from '../../api/schema.ts'

export type Scope = Schema<'Key'>['scopes'][number]

/** What each scope lets a partner do, in the contract's order. */
export const SCOPES: readonly {
  readonly scope: Scope
  readonly label: string
  readonly short: string
  readonly hint: string
}[] = [
  {
    scope: 'read:units',
    label: 'Read units',
    short: 'Units',
    hint: 'Names, locations, sizes and base prices',
  },
  { scope: 'read:availability', label: 'Read availability', short: 'Availability', hint: 'Which nights are free' },
  { scope: 'read:rates', label: 'Read prices', short: 'Prices', hint: 'Rates, fees and quotes' },
  { scope: 'read:bookings', label: 'Read bookings', short: 'Bookings', hint: 'All bookings, without guest details' },
  {
    scope: 'read:guests',
    label: 'Read guests',
    short: 'Guests',
    hint: 'Personal data: names, e-mail addresses and phone numbers',
  },
  { scope: 'write:bookings', label: 'Make bookings', short: 'Make bookings', hint: 'Make bookings and cancel them' },
]

/** As the service pre-selects them: everything read-only except guests. */
export const DEFAULT_SCOPES: readonly Scope[] = ['read:units', 'read:availability', 'read:rates', 'read:bookings']
