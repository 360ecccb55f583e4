import { Type } from '@sinclair/typebox'
import { taggedUnlessHeld } from '../../http/answer.ts'
import { FeeTypeJson, feeTypeJson } from '../../http/json/rates-json.ts'
import type { Operation } from '../../http/operation.ts'
import { partnerRoute, withInventory } from './partner-route.ts'

const LIST_FEE_TYPES = {
  id: 'listFeeTypes',
  method: 'GET',
  path: '/partner/v1/fee-types',
  isLarge: true,
  tag: 'Availability and prices',
  summary: 'List active fee types',
  scope: 'read:rates',
  isConditional: true,
  answer: {
    status: 200,
    description: "The active fee types, in the agency's order.",
    schema: Type.Object({ feeTypes: Type.Array(FeeTypeJson) }),
  },
} as const satisfies Operation

export const FEE_TYPES = [
  partnerRoute(LIST_FEE_TYPES, ({ ledger, open, request }) =>
    withInventory(ledger.catalogue, open.admission.holder, ({ version, feeTypes }) =>
      taggedUnlessHeld(request, ledger.tags.of(`fee-types ${version}`), () =>
        JSON.stringify({ feeTypes: feeTypes.filter(({ active }) => active).map(feeTypeJson) }),
      ),
    ),
  ),
]
