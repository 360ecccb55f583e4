import type { Inventory } from '../../core/catalogue/inventory.ts'
import type { Unit } from '../../core/domain/unit.ts'

/** Units that one request may name (docs/partner-additions.md#2-get-calendar-all-units-at-once). */
export const UNITS_NAMED_MAX = 200

export type SelectedUnits =
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
