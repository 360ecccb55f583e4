import type { Schema } from '../../api/schema.ts'
import type { BadgeTone } from '../../design/status-looks.ts'
import { plural } from '../../format/numbers.ts'

export type Unit = Schema<'Unit'>
export type UnitStatus = Unit['status']

export const UNIT_STATUSES: Readonly<
  Record<UnitStatus, { readonly label: string; readonly tone: BadgeTone; readonly hint: string }>
> = {
  active: { label: 'Active', tone: 'good', hint: 'Partners can see and book it.' },
  draft: { label: 'Draft', tone: 'warn', hint: 'Partners can see and book it, but it is marked as a draft.' },
  archived: { label: 'Archived', tone: 'neutral', hint: 'Partners cannot see it, and it cannot be booked.' },
}

/** Where it is: `Rua Augusta 118, Baixa, Lisbon`. Empty if nothing is known. */
export function placeOf({ building, area, city }: Pick<Unit, 'building' | 'area' | 'city'>): string {
  return [building, area, city].filter((part) => part !== null && part !== '').join(', ')
}

/** `2 guests · 1 bedroom`. */
export function sizeOf({ maxGuests, bedrooms }: Pick<Unit, 'maxGuests' | 'bedrooms'>): string {
  return `${plural(maxGuests, 'guest')} · ${bedrooms === 0 ? 'studio' : plural(bedrooms, 'bedroom')}`
}

/** A slug for a name: `Belém Garden House` → `belem-garden-house`. */
export function slugOf(name: string): string {
  return name
    .normalize('NFD')
    .toLowerCase()
    .replaceAll(/\p{M}/gu, '')
    .replaceAll('ß', 'ss')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 60)
    .replace(/-$/, '')
}

/** Master data while it is edited. */
export interface UnitDraft {
  readonly name: string
  readonly slug: string
  readonly city: string
  readonly area: string
  readonly building: string
  readonly bedrooms: number | null
  readonly beds: number | null
  readonly bathrooms: number | null
  readonly maxGuests: number | null
  readonly sizeSqm: number | null
  readonly checkinTime: string
  readonly checkoutTime: string
  readonly instantBook: boolean
  readonly registrationNumber: string
}

/** As the service fills in what a new unit leaves out. */
export const NEW_UNIT: UnitDraft = {
  name: '',
  slug: '',
  city: '',
  area: '',
  building: '',
  bedrooms: 1,
  beds: 1,
  bathrooms: 1,
  maxGuests: 2,
  sizeSqm: null,
  checkinTime: '15:00',
  checkoutTime: '10:00',
  instantBook: true,
  registrationNumber: '',
}

export function draftOf(unit: Unit): UnitDraft {
  const { name, slug, bedrooms, beds, bathrooms, maxGuests, sizeSqm, checkinTime, checkoutTime, instantBook } = unit
  return {
    name,
    slug,
    bedrooms,
    beds,
    bathrooms,
    maxGuests,
    sizeSqm,
    checkinTime,
    checkoutTime,
    instantBook,
    city: unit.city ?? '',
    area: unit.area ?? '',
    building: unit.building ?? '',
    registrationNumber: unit.registrationNumber ?? '',
  }
}

type Errors = Readonly<Partial<Record<keyof UnitDraft, string>>>

/** What is missing; the service checks the rest. */
export function missingOf(draft: UnitDraft): Errors {
  const errors: Partial<Record<keyof UnitDraft, string>> = {}
  for (const field of ['name', 'slug', 'checkinTime', 'checkoutTime'] as const)
    if (draft[field].trim() === '') errors[field] = field === 'name' ? 'Enter a name.' : 'Required.'
  for (const field of ['bedrooms', 'beds', 'bathrooms', 'maxGuests'] as const)
    if (draft[field] === null) errors[field] = 'Enter a number.'
  return errors
}

/** The members of a request body. `missingOf` has found nothing. */
export function bodyOf(draft: UnitDraft) {
  const { name, slug, bedrooms, beds, bathrooms, maxGuests, sizeSqm, checkinTime, checkoutTime, instantBook } = draft
  const orNull = (text: string) => (text.trim() === '' ? null : text.trim())
  return {
    name: name.trim(),
    slug: slug.trim(),
    sizeSqm,
    checkinTime,
    checkoutTime,
    instantBook,
    bedrooms: bedrooms ?? 0,
    beds: beds ?? 0,
    bathrooms: bathrooms ?? 0,
    maxGuests: maxGuests ?? 1,
    city: orNull(draft.city),
    area: orNull(draft.area),
    building: orNull(draft.building),
    registrationNumber: orNull(draft.registrationNumber),
  }
}

/** Only what differs, so that a colleague's change of another field stays. */
export function changeOf(before: UnitDraft, after: UnitDraft): Partial<ReturnType<typeof bodyOf>> {
  const [from, to] = [bodyOf(before), bodyOf(after)]
  return Object.fromEntries(Object.entries(to).filter(([name, value]) => from[name as keyof typeof from] !== value))
}
