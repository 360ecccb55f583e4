import { type Static, Type } from '@sinclair/typebox'
import { pctOfBasisPoints } from '../../core/domain/money.ts'
import type { FeeType } from '../../core/domain/unit.ts'

/** See docs/contract.md#feetype. */
export const FeeTypeJson = Type.Object(
  {
    id: Type.String(),
    label: Type.String({ description: 'Shown to the guest verbatim.' }),
    kind: Type.Unsafe<FeeType['kind']>({ type: 'string', enum: ['fixed', 'percent'] }),
    amount: Type.Union([Type.Integer(), Type.Null()], { description: 'Minor units per stay; null for percentages.' }),
    pct: Type.Union([Type.Number(), Type.Null()], {
      description: 'Percentage of the accommodation; null for fixed fees.',
    }),
    includesWeeklyCleaning: Type.Boolean(),
  },
  { $id: 'FeeType' },
)

export function feeTypeJson(feeType: FeeType): Static<typeof FeeTypeJson> {
  const { id, label, kind, amount, basisPoints, includesWeeklyCleaning } = feeType
  return {
    id,
    label,
    kind,
    amount: kind === 'fixed' ? amount : null,
    pct: kind === 'percent' && basisPoints !== null ? pctOfBasisPoints(basisPoints) : null,
    includesWeeklyCleaning,
  }
}
