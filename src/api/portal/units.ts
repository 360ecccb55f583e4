import { type Static, Type } from '@sinclair/typebox'
import { PRICE_MAX } from '../../core/domain/money.ts'
import { STAY_NIGHTS_MAX } from '../../core/domain/night.ts'
import { NO_RATES, UNIT_STATUSES, type Unit, type UnitRules } from '../../core/domain/unit.ts'
import { PAGE_QUERY, pageMembers, pageOf, pageSchema, sliceOf } from '../../http/json/page.ts'
import { UnitJson, unitJson } from '../../http/json/unit-json.ts'
import { notFound } from '../../http/problems.ts'
import { choice, nullable } from '../../http/text-schema.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, agencyRoute, settled } from './portal-route.ts'
import { label, slug, timeOfDay } from './portal-schema.ts'

const money = (description: string) =>
  Type.Integer({ minimum: 0, maximum: PRICE_MAX, description: `${description}, in minor units.` })
const place = (description: string) => nullable(label(120, description))
const rooms = (description: string) => Type.Number({ minimum: 0, maximum: 1_000, description })

/** Cleaning longer than two months is a block, not a turnover. */
const TURNOVER_NIGHTS_MAX = 60

/** All Unit fields but `id` (docs/contract.md#unit, docs/partner-additions.md#7-registration-number), and the agency's own. */
const FIELDS = {
  slug: slug('Stable identifier of the unit in URLs; unique in the agency, including archived units.'),
  name: label(120, 'Shown to partners.'),
  status: choice(UNIT_STATUSES, { default: 'active', description: 'Partners do not see archived units.' }),
  city: place('Shown to partners.'),
  area: place('Part of the city.'),
  building: place('Name of the building.'),
  bedrooms: rooms('Number of bedrooms; 0 for a studio.'),
  beds: rooms('Number of beds.'),
  bathrooms: rooms('Number of bathrooms; halves are allowed.'),
  maxGuests: Type.Integer({ minimum: 1, maximum: 1_000, description: 'How many guests it sleeps.' }),
  sizeSqm: nullable(Type.Number({ minimum: 0, maximum: 1_000_000, description: 'Square metres.' })),
  basePrice: money('Per night outside seasons'),
  cleaningFee: money('Per stay'),
  extraBedFee: money('Per night, if an extra bed is requested for children'),
  minStay: Type.Integer({
    minimum: 1,
    maximum: STAY_NIGHTS_MAX,
    description: 'Nights. Seasons can override it.',
  }),
  turnoverNights: Type.Integer({
    minimum: 0,
    maximum: TURNOVER_NIGHTS_MAX,
    description: 'Nights blocked for cleaning after each guest or owner stay.',
  }),
  checkinTime: timeOfDay("`HH:MM` in the agency's time zone."),
  checkoutTime: timeOfDay("`HH:MM` in the agency's time zone."),
  instantBook: Type.Boolean({ description: 'Shown to partners: whether a booking needs no approval.' }),
  registrationNumber: nullable(label(64, 'The number that Regulation (EU) 2024/1028 requires listings to show.')),
}

/** What prices depend on besides the rates. */
export const UNIT_PRICES = Type.Partial(
  Type.Pick(Type.Object(FIELDS), ['basePrice', 'cleaningFee', 'extraBedFee', 'minStay']),
)

const CHANGE = Type.Partial(Type.Object(FIELDS))

/** What a new unit has where its body says nothing. */
const DEFAULTS = {
  status: 'active',
  city: null,
  area: null,
  building: null,
  bedrooms: 1,
  beds: 1,
  bathrooms: 1,
  maxGuests: 2,
  sizeSqm: null,
  cleaningFee: 0,
  extraBedFee: 0,
  minStay: 1,
  turnoverNights: 0,
  checkinTime: '15:00',
  checkoutTime: '10:00',
  instantBook: true,
  registrationNumber: null,
} as const

export const PortalUnitJson = Type.Object(
  { ...UnitJson.properties, extraBedFee: FIELDS.extraBedFee, turnoverNights: FIELDS.turnoverNights },
  { $id: 'Unit' },
)

export function portalUnitJson(unit: Unit): Static<typeof PortalUnitJson> {
  const { extraBedFee, turnoverNights } = unit.rules
  return { ...unitJson(unit), extraBedFee, turnoverNights }
}

function defaultsText(): string {
  return Object.entries(DEFAULTS)
    .map(([name, value]) => `\`${name}\` ${value}`)
    .join(', ')
}

const unitAnswer = { description: 'The unit.', schema: Type.Object({ unit: PortalUnitJson }) }
export const UNIT_PATH = `${AGENCY_PATH}/units/{unitSlug}` as const

const CREATE_UNIT = {
  id: 'createUnit',
  role: 'manager',
  method: 'POST',
  path: `${AGENCY_PATH}/units`,
  tag: 'Units',
  summary: 'Create a unit',
  description: `Defaults for omitted fields: ${defaultsText()}.`,
  body: Type.Composite([
    Type.Object({ slug: FIELDS.slug, name: FIELDS.name, basePrice: FIELDS.basePrice }),
    Type.Omit(CHANGE, ['slug', 'name', 'basePrice']),
  ]),
  bodyExample: { slug: 'sea-view', name: 'Sea View', basePrice: 12_000, cleaningFee: 6_000, maxGuests: 4 },
  answer: { status: 201, ...unitAnswer },
  problems: ['SLUG_TAKEN'],
} as const satisfies PortalOperation

const LIST_UNITS = {
  id: 'listUnits',
  role: 'viewer',
  method: 'GET',
  path: `${AGENCY_PATH}/units`,
  tag: 'Units',
  summary: 'List units by name, including archived ones',
  query: Type.Object({ ...PAGE_QUERY, status: Type.Optional(choice(UNIT_STATUSES)) }),
  answer: { status: 200, description: 'A page of results.', schema: pageSchema('units', PortalUnitJson) },
} as const satisfies PortalOperation

const GET_UNIT = {
  id: 'getUnit',
  role: 'viewer',
  method: 'GET',
  path: UNIT_PATH,
  tag: 'Units',
  summary: 'Get a unit, archived or not',
  answer: { status: 200, ...unitAnswer },
} as const satisfies PortalOperation

const CHANGE_UNIT = {
  id: 'changeUnit',
  role: 'manager',
  method: 'PATCH',
  path: UNIT_PATH,
  tag: 'Units',
  summary: 'Change a unit',
  description: 'Prices and rules take effect with the next quote. Existing bookings keep their totals.',
  body: CHANGE,
  bodyExample: { basePrice: 13_500, turnoverNights: 1 },
  answer: { status: 200, ...unitAnswer },
  problems: ['SLUG_TAKEN'],
} as const satisfies PortalOperation

const shown = (unit: Unit) => ({ unit: portalUnitJson(unit) })

export const UNITS = [
  agencyRoute(CREATE_UNIT, async ({ ledger, caller, keep, agency, body }) => {
    const draft = unitOf(
      { ...DEFAULTS, ...named(body), slug: body.slug, name: body.name, basePrice: body.basePrice },
      { rates: NO_RATES },
    )
    return settled(await ledger.units.create(agency, draft, caller, keep.of(shown)), 'unit', shown)
  }),
  agencyRoute(LIST_UNITS, async ({ ledger, agency, query }) => {
    const page = pageOf(query)
    const inventory = await ledger.catalogue.inventory(agency.id)
    const all = inventory.units.filter(({ status }) => query.status === undefined || status === query.status)
    const units = sliceOf(all, page).map(portalUnitJson)
    return JSON.stringify({ units, ...pageMembers(page, all.length) })
  }),
  agencyRoute(GET_UNIT, async ({ ledger, agency, path }) => {
    const unit = (await ledger.catalogue.inventory(agency.id)).unitBySlug(path.unitSlug)
    return unit === null ? notFound('unit') : JSON.stringify({ unit: portalUnitJson(unit) })
  }),
  agencyRoute(CHANGE_UNIT, async ({ ledger, caller, keep, agency, path, body }) => {
    const fields = named(body)
    const change = (unit: Unit): Unit => ({
      ...unitOf({ ...fieldsOf(unit), ...fields }, unit.rules),
      id: unit.id,
    })
    const params = { change, newSlug: fields.slug }
    return settled(await ledger.units.change(agency, path.unitSlug, params, caller, keep.of(shown)), 'unit', shown)
  }),
]

type Fields = Required<Static<typeof CHANGE>>

/** What the body names of the fields, and nothing else. */
function named(body: Static<typeof CHANGE>): Partial<Fields> {
  const given = Object.entries(body).filter(([name, value]) => Object.hasOwn(FIELDS, name) && value !== undefined)
  return Object.fromEntries(given) as Partial<Fields>
}

function fieldsOf(unit: Unit): Fields {
  const { id: _id, rules, ...master } = unit
  const { rates: _rates, restrictions: _restrictions, ...prices } = rules
  return { ...master, ...prices }
}

/** @param rules kept as they are: the fields do not contain them */
function unitOf(fields: Fields, rules: Pick<UnitRules, 'rates' | 'restrictions'>): Omit<Unit, 'id'> {
  const { basePrice, cleaningFee, extraBedFee, minStay, turnoverNights, ...master } = fields
  return { ...master, rules: { ...rules, basePrice, cleaningFee, extraBedFee, minStay, turnoverNights } }
}
