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
