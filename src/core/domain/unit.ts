import type { UnitRules } from './rules.ts'

export const UNIT_STATUSES = ['active', 'draft', 'archived'] as const
export type UnitStatus = (typeof UNIT_STATUSES)[number]

/** A rental unit: its master data and the rules by which it is sold (docs/contract.md#unit). */
export interface Unit {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly status: UnitStatus
  readonly city: string | null
  readonly area: string | null
  readonly building: string | null
  readonly bedrooms: number
  readonly beds: number
  readonly bathrooms: number
  readonly maxGuests: number
  readonly sizeSqm: number | null
  /** Local time of day in the agency's time zone, `HH:MM`. */
  readonly checkinTime: string
  readonly checkoutTime: string
  readonly instantBook: boolean
  readonly rules: UnitRules
}
