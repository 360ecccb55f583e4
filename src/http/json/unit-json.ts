import { type Static, Type } from '@sinclair/typebox'
import type { Inventory } from '../../core/catalogue/agency.ts'
import { UNIT_STATUSES, type Unit } from '../../core/domain/unit.ts'

const nullableText = () => Type.Union([Type.String(), Type.Null()])
const minorUnits = (description: string) => Type.Integer({ minimum: 0, description })

/** See docs/contract.md#unit and docs/partner-additions.md#7-registration-number: all fields are always present. */
export const UnitJson = Type.Object(
  {
    id: Type.String(),
    slug: Type.String({ description: 'Stable identifier of the unit in URLs.' }),
    name: Type.String(),
    status: Type.Unsafe<Unit['status']>({
      type: 'string',
      enum: [...UNIT_STATUSES],
      description: 'Draft units are listed, archived ones are not.',
    }),
    city: nullableText(),
    area: nullableText(),
    building: nullableText(),
    bedrooms: Type.Number(),
    beds: Type.Number(),
    bathrooms: Type.Number(),
    maxGuests: Type.Number(),
    sizeSqm: Type.Union([Type.Number(), Type.Null()]),
    basePrice: minorUnits('Nightly base price, in minor units.'),
    cleaningFee: minorUnits('Per stay, in minor units.'),
    minStay: Type.Integer({ minimum: 1, description: 'Nights.' }),
    checkinTime: Type.String({ description: "Local time in the agency's time zone.", examples: ['15:00'] }),
    checkoutTime: Type.String({ description: "Local time in the agency's time zone.", examples: ['10:00'] }),
    instantBook: Type.Boolean(),
    registrationNumber: Type.Union([Type.String(), Type.Null()], {
      description: 'The number that Regulation (EU) 2024/1028 requires listings to show.',
    }),
  },
  { $id: 'Unit' },
)

export function unitJson(unit: Unit): Static<typeof UnitJson> {
  const { rules } = unit
  return {
    id: unit.id,
    slug: unit.slug,
    name: unit.name,
    status: unit.status,
    city: unit.city,
    area: unit.area,
    building: unit.building,
    bedrooms: unit.bedrooms,
    beds: unit.beds,
    bathrooms: unit.bathrooms,
    maxGuests: unit.maxGuests,
    sizeSqm: unit.sizeSqm,
    basePrice: rules.basePrice,
    cleaningFee: rules.cleaningFee,
    minStay: rules.minStay,
    checkinTime: unit.checkinTime,
    checkoutTime: unit.checkoutTime,
    instantBook: unit.instantBook,
    registrationNumber: unit.registrationNumber,
  }
}

/** Units that one request may name (docs/partner-additions.md#2-get-calendar-all-units-at-once). */
export const UNITS_NAMED_MAX = 200

type SelectedUnits =
  | { readonly kind: 'selected'; readonly units: readonly Unit[] }
  | { readonly kind: 'unknown'; readonly slug: string }

/** The units with these slugs, in their order, or the first slug that the agency does not sell. */
export function selectUnits(inventory: Inventory, slugs: readonly string[]): SelectedUnits {
  const units: Unit[] = []
  for (const slug of slugs) {
    const unit = inventory.sellableUnit(slug)
    if (unit === null) return { kind: 'unknown', slug }
    units.push(unit)
  }
  return { kind: 'selected', units }
}

/** Slugs separated by commas, each once, in order; null when there is none, an empty one, or too many. */
export function slugsOf(list: string): readonly string[] | null {
  const slugs = [...new Set(list.split(','))]
  return slugs.length > UNITS_NAMED_MAX || slugs.includes('') ? null : slugs
}
