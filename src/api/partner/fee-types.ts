import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { FeeTypeJson, feeTypeJson } from '../json/fee-type-json.ts'
import { described } from '../openapi/described.ts'
import type { Operation } from '../operation.ts'
import type { PartnerSurface } from './partner-dependencies.ts'
import { partnerRoute } from './partner-route.ts'
import { withInventory } from './with-inventory.ts'

const LIST_FEE_TYPES = {
  id: 'listFeeTypes',
  method: 'GET',
  path: '/partner/v1/fee-types',
  tag: 'Availability and prices',
  summary: 'List active fee types',
  scope: 'read:rates',
  answer: {
    status: 200,
    description: "The active fee types, in the agency's order.",
    schema: Type.Object({ feeTypes: Type.Array(FeeTypeJson) }),
  },
  problems: [],
} as const satisfies Operation

export const feeTypes = (surface: PartnerSurface) =>
  new Elysia().get(
    LIST_FEE_TYPES.path,
    partnerRoute(surface, LIST_FEE_TYPES, ({ agency }) =>
      withInventory(surface.ledger.catalogue, agency.id, (inventory) =>
        JSON.stringify({ feeTypes: inventory.feeTypes.filter(({ active }) => active).map(feeTypeJson) }),
      ),
    ),
    described(LIST_FEE_TYPES),
  )
