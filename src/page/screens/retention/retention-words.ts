import type { Schema } from '../../api/schema.ts'

type Settings = Omit<Schema<'Retention'>, 'idempotencyHours'>
export type Setting = keyof Settings
export type Draft = Readonly<Record<Setting, number | null>>

/** What is kept, with what the service accepts, and why the default is what it is. */
export const SETTINGS: readonly {
  readonly name: Setting
  readonly title: string
  readonly label: string
  readonly unit: 'years' | 'months' | 'days'
  readonly min: number
  readonly max: number
  readonly what: string
  readonly why: string
}[] = [
  {
    name: 'bookingYears',
    title: 'Bookings',
    label: 'Keep bookings for',
    unit: 'years',
    min: 1,
    max: 100,
    what: 'After departure. Then the booking with its figures is deleted.',
    why: 'Bookkeeping: 10 years in France (Code de commerce, L. 123-22) and Portugal (CIRC, art. 123); in Germany 10 years for books and 8 for vouchers (AO, § 147).',
  },
  {
    name: 'guestMonths',
    title: 'Guests',
    label: 'Keep contact details for',
    unit: 'months',
    min: 1,
    max: 1_200,
    what: 'After the guest’s last departure. Then name, e-mail, phone, nationality and the texts of their bookings are erased. Guests that you have marked as kept stay.',
    why: 'GDPR, art. 5 (1) (e): personal data no longer than necessary. In Germany claims lapse after three years (BGB, § 195), counted from the end of the year.',
  },
  {
    name: 'logYears',
    title: 'History and audit trail',
    label: 'Keep the history for',
    unit: 'years',
    min: 1,
    max: 100,
    what: 'In whole months, which all agencies of the service share: kept at least as long. Then the operator moves the month into an archive.',
    why: 'It proves the figures of the bookings, and contains no personal data.',
  },
  {
    name: 'deliveryDays',
    title: 'Webhook deliveries',
    label: 'Keep deliveries for',
    unit: 'days',
    min: 7,
    max: 3_650,
    what: 'In whole months, which all agencies of the service share: kept at least as long.',
    why: 'To find out what a receiver got, and to send it again. No law asks for them.',
  },
]

/** Why an entry cannot be saved; undefined when it can. */
export function errorOf({ min, max, unit }: (typeof SETTINGS)[number], value: number | null): string | undefined {
  if (value !== null && Number.isInteger(value) && value >= min && value <= max) return undefined
  return `Enter a whole number from ${min} to ${max.toLocaleString('en')} ${unit}.`
}

/** What is to be stored: a setting that is as the operator's default follows it. */
export function ownOf(draft: Settings, defaults: Settings): Partial<Settings> {
  return Object.fromEntries(
    SETTINGS.flatMap(({ name }) => (draft[name] === defaults[name] ? [] : [[name, draft[name]]])),
  )
}

/** The settings that would be shorter than they are. */
export function shortenedIn(draft: Settings, now: Settings): readonly (typeof SETTINGS)[number][] {
  return SETTINGS.filter(({ name }) => draft[name] < now[name])
}
