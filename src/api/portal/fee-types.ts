import { type Static, Type } from '@sinclair/typebox'
import { basisPointsOfPct, PRICE_MAX } from '../../core/domain/money.ts'
import { FEE_BASIS_POINTS_MAX, type FeeType } from '../../core/domain/unit.ts'
import { PAGE_QUERY, pageMembers, pageOf, pageSchema, sliceOf } from '../../http/json/page.ts'
import { FeeTypeJson, feeTypeJson } from '../../http/json/rates-json.ts'
import { choice, nullable } from '../../http/text-schema.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, agencyRoute, settled } from './portal-route.ts'
import { label, pct } from './portal-schema.ts'

const APPLICATIONS = ['every_stay', 'on_request'] as const
const FIELDS = {
  label: label(120, 'Shown to the guest verbatim.'),
  kind: choice(['fixed', 'percent'], { description: 'An amount per stay, or a percentage of the accommodation.' }),
  amount: nullable(
    Type.Integer({
      minimum: 0,
      maximum: PRICE_MAX,
      description: 'Minor units per stay. Required when `kind` is `fixed`.',
    }),
  ),
  pct: nullable(pct(0, FEE_BASIS_POINTS_MAX, 'Percentage of the accommodation. Required when `kind` is `percent`.')),
  includesWeeklyCleaning: Type.Boolean({ default: false, description: 'Shown to partners.' }),
  application: choice(APPLICATIONS, {
    default: 'every_stay',
    description: '`every_stay` fees are included in every quote.',
  }),
  active: Type.Boolean({ default: true, description: 'Partners see only active fee types.' }),
}
const CHANGE = Type.Partial(Type.Object(FIELDS))

const PortalFeeTypeJson = Type.Object(
  { ...FeeTypeJson.properties, application: choice(APPLICATIONS), active: Type.Boolean() },
  { $id: 'FeeType' },
)

function portalFeeTypeJson(feeType: FeeType): Static<typeof PortalFeeTypeJson> {
  const { application, active } = feeType
  return { ...feeTypeJson(feeType), application, active }
}

const feeTypeAnswer = { description: 'The fee type.', schema: Type.Object({ feeType: PortalFeeTypeJson }) }

const CREATE_FEE_TYPE = {
  id: 'createFeeType',
  role: 'manager',
  method: 'POST',
  path: `${AGENCY_PATH}/fee-types`,
  tag: 'Fee types',
  summary: 'Create a fee type',
  body: Type.Composite([Type.Object({ label: FIELDS.label, kind: FIELDS.kind }), Type.Omit(CHANGE, ['label', 'kind'])]),
  bodyExample: { label: 'City tax', kind: 'fixed', amount: 800 },
  answer: { status: 201, ...feeTypeAnswer },
} as const satisfies PortalOperation

const LIST_FEE_TYPES = {
  id: 'listFeeTypes',
  role: 'viewer',
  method: 'GET',
  path: `${AGENCY_PATH}/fee-types`,
  tag: 'Fee types',
  summary: 'List fee types, including inactive ones',
  query: Type.Object(PAGE_QUERY),
  answer: { status: 200, description: 'A page of results.', schema: pageSchema('feeTypes', PortalFeeTypeJson) },
} as const satisfies PortalOperation

const CHANGE_FEE_TYPE = {
  id: 'changeFeeType',
  role: 'manager',
  method: 'PATCH',
  path: `${AGENCY_PATH}/fee-types/{feeTypeId}`,
  tag: 'Fee types',
  summary: 'Change or deactivate a fee type',
  description: 'Takes effect with the next quote.',
  body: CHANGE,
  bodyExample: { active: false },
  answer: { status: 200, ...feeTypeAnswer },
} as const satisfies PortalOperation

const shown = (feeType: FeeType) => ({ feeType: portalFeeTypeJson(feeType) })

export const FEE_TYPES = [
  agencyRoute(CREATE_FEE_TYPE, async ({ ledger, caller, keep, agency, body }) => {
    const { includesWeeklyCleaning = false, application = 'every_stay', active = true } = body
    const blank: FeeType = {
      id: '',
      label: body.label,
      kind: body.kind,
      amount: null,
      basisPoints: null,
      includesWeeklyCleaning,
      application,
      active,
    }
    const { id: _id, ...draft } = withFields(blank, body)
    return settled(await ledger.fees.create(agency, draft, caller, keep.of(shown)), 'fee type', shown)
  }),
  agencyRoute(LIST_FEE_TYPES, async ({ ledger, agency, query }) => {
    const page = pageOf(query)
    const { feeTypes: all } = await ledger.catalogue.inventory(agency.id)
    const feeTypes = sliceOf(all, page).map(portalFeeTypeJson)
    return JSON.stringify({ feeTypes, ...pageMembers(page, all.length) })
  }),
  agencyRoute(CHANGE_FEE_TYPE, async ({ ledger, caller, keep, agency, path, body }) => {
    const change = (feeType: FeeType) => withFields(feeType, body)
    return settled(await ledger.fees.change(agency, path.feeTypeId, change, caller, keep.of(shown)), 'fee type', shown)
  }),
]

/** A fixed fee keeps no percentage and the other way round: what does not apply is null. */
function withFields(feeType: FeeType, body: Static<typeof CHANGE>): FeeType {
  const kind = body.kind ?? feeType.kind
  const basisPoints =
    body.pct === undefined ? feeType.basisPoints : body.pct === null ? null : basisPointsOfPct(body.pct)
  return {
    id: feeType.id,
    label: body.label ?? feeType.label,
    kind,
    amount: kind === 'fixed' ? (body.amount === undefined ? feeType.amount : body.amount) : null,
    basisPoints: kind === 'percent' ? basisPoints : null,
    includesWeeklyCleaning: body.includesWeeklyCleaning ?? feeType.includesWeeklyCleaning,
    application: body.application ?? feeType.application,
    active: body.active ?? feeType.active,
  }
}
