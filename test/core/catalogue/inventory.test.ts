import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { Inventory } from '../../../src/core/catalogue/agency.ts'
import { sampleUnit } from '../../support/samples.ts'

const unit = fc.record({
  id: fc.integer({ min: 0, max: 9 }).map((id) => `unt_${id}`),
  slug: fc.string({ minLength: 1, maxLength: 2 }),
  name: fc.constantFrom('Attic', 'Garden', 'Sea View', 'Ärger'),
  status: fc.constantFrom('active' as const, 'archived' as const),
})

test('an inventory that was changed unit by unit is the same as one made of the units as they are now', () => {
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 30 }), (changes) => {
      let inventory = new Inventory([], [])
      const byId = new Map<string, ReturnType<typeof sampleUnit>>()
      for (const { id, slug, name, status } of changes) {
        // No two units have the same slug.
        const changed = sampleUnit({ id, slug: `${id} ${slug}`, name, status })
        byId.set(id, changed)
        inventory = inventory.withUnit(changed)
      }
      const made = new Inventory(byId.values(), [])
      expect(inventory.units).toEqual(made.units)
      expect(inventory.listed).toEqual(made.listed)
      for (const { id, slug } of changes) {
        const current = `${id} ${slug}`
        expect(inventory.unitById(id)).toEqual(made.unitById(id))
        expect(inventory.unitBySlug(current)).toEqual(made.unitBySlug(current))
      }
    }),
  )
})
