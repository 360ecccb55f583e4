import type { Catalogue } from '../../core/catalogue/catalogue.ts'
import type { Inventory } from '../../core/catalogue/inventory.ts'

/** Uses the agency's inventory: at once when it is in memory, which is nearly always. */
export function withInventory<T>(
  catalogue: Catalogue,
  agencyId: string,
  use: (inventory: Inventory) => T | Promise<T>,
): T | Promise<T> {
  const inventory = catalogue.peekInventory(agencyId)
  return inventory === null ? catalogue.inventory(agencyId).then(use) : use(inventory)
}
