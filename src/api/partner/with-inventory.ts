import type { Catalogue } from '../../core/catalogue/catalogue.ts'
import type { Shelf } from '../../core/catalogue/inventory.ts'

/** Uses the agency's shelf: at once when it is in memory, which is nearly always. */
export function onShelf<T>(
  catalogue: Catalogue,
  agencyId: string,
  use: (shelf: Shelf) => T | Promise<T>,
): T | Promise<T> {
  const shelf = catalogue.peekShelf(agencyId)
  return shelf === null ? catalogue.shelf(agencyId).then(use) : use(shelf)
}
