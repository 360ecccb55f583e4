import { Type } from '@sinclair/typebox'
import type { Inventory } from '../../core/catalogue/agency.ts'
import { type Outcome, taggedUnlessHeld } from '../../http/answer.ts'
import { UnitJson, unitJson } from '../../http/json/unit-json.ts'
import type { Operation } from '../../http/operation.ts'
import { notFound } from '../../http/problems.ts'
import { partnerRoute, withInventory } from './partner-route.ts'

const LIST_UNITS = {
  id: 'listUnits',
  method: 'GET',
  path: '/partner/v1/units',
  isLarge: true,
  tag: 'Units',
  summary: 'List units',
  description: 'All units of the agency except archived ones, ordered by name; draft units included.',
  scope: 'read:units',
  isConditional: true,
  answer: { status: 200, description: 'The units.', schema: Type.Object({ units: Type.Array(UnitJson) }) },
} as const satisfies Operation

const GET_UNIT = {
  id: 'getUnit',
  method: 'GET',
  path: '/partner/v1/units/{slug}',
  tag: 'Units',
  summary: 'Get a unit',
  scope: 'read:units',
  isConditional: true,
  pathParameters: { slug: { description: 'Slug of the unit.', example: 'sea-view' } },
  answer: { status: 200, description: 'The unit.', schema: Type.Object({ unit: UnitJson }) },
  problems: ['VALIDATION', 'NOT_FOUND'],
} as const satisfies Operation

/** An inventory never changes, and partners read it often: its text is written once and dropped with the inventory. */
const listTexts = new WeakMap<Inventory, string>()

function unitListJson(inventory: Inventory): string {
  const known = listTexts.get(inventory)
  if (known !== undefined) return known
  const text = JSON.stringify({ units: inventory.listed.map(unitJson) })
  listTexts.set(inventory, text)
  return text
}

export const UNITS = [
  partnerRoute(LIST_UNITS, ({ ledger, open, request }) =>
    withInventory(ledger.catalogue, open.admission.holder, (inventory) =>
      taggedUnlessHeld(request, ledger.tags.of(`units ${inventory.version}`), () => unitListJson(inventory)),
    ),
  ),
  partnerRoute(GET_UNIT, ({ ledger, open, request, path }) =>
    withInventory<Outcome>(ledger.catalogue, open.admission.holder, (inventory) => {
      const unit = inventory.sellableUnit(path.slug)
      if (unit === null) return notFound('unit')
      const tag = ledger.tags.of(`unit ${inventory.version} ${unit.id}`)
      return taggedUnlessHeld(request, tag, () => JSON.stringify({ unit: unitJson(unit) }))
    }),
  ),
]
