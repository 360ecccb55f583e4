import { Type } from '@sinclair/typebox'
import { pageMembers, pageSchema } from '../../json/page.ts'
import { UnitJson, unitJson } from '../../json/unit-json.ts'
import { PAGE_ARGUMENTS, toolPageOf } from './page-arguments.ts'
import { toolOf } from './tool.ts'

const OUTPUT = Type.Object({
  ...pageSchema('units', UnitJson).properties,
  currency: Type.String({ description: 'Currency of all amounts, which are in its minor unit.' }),
  timezone: Type.String({ description: 'IANA time zone of all dates and of check-in and check-out times.' }),
})

/** The tool for GET /units: the same units in the same order, a page at a time. */
export const LIST_UNITS = toolOf({
  name: 'list_units',
  title: 'List units',
  scope: 'read:units',
  description:
    "Lists the agency's rental units by name: slug (needed by the other tools), size, base price, cleaning fee, " +
    'minimum stay in nights, check-in and check-out times. Amounts are integers in the minor unit of `currency` ' +
    '(12345 means 123.45 in EUR). It returns 25 units per page by default and at most 200; draft units are included, ' +
    'archived ones are not. It gives neither free nights nor the price of a stay: `basePrice` excludes seasons, ' +
    'discounts and fees, so use get_availability and quote_stay for those.',
  input: Type.Object(PAGE_ARGUMENTS, { additionalProperties: false }),
  output: OUTPUT,
  run: async ({ catalogue }, { id, currency, timezone }, args) => {
    const page = toolPageOf(args)
    const { listed } = catalogue.peekInventory(id) ?? (await catalogue.inventory(id))
    const units = listed.slice(page.offset, page.offset + page.pageSize).map(unitJson)
    return JSON.stringify({ units, ...pageMembers(page, listed.length), currency, timezone })
  },
})
