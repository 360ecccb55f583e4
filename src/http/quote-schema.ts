import { Type } from '@sinclair/typebox'
import type { QuoteLine } from '../core/domain/pricing.ts'
import { dateText } from './text-schema.ts'

const LINE_KINDS = ['accommodation', 'discount', 'cleaning', 'extra_bed', 'fee'] as const

const nullable = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S, description: string) =>
  Type.Union([schema, Type.Null()], { description })

const QuoteLineJson = Type.Object(
  {
    kind: Type.Unsafe<QuoteLine['kind']>({ type: 'string', enum: [...LINE_KINDS] }),
    label: Type.String(),
    from: nullable(dateText('First night.'), 'First night; accommodation lines only.'),
    to: nullable(dateText('The day after the last night.'), 'The day after the last night; accommodation lines only.'),
    quantity: nullable(Type.Integer(), 'Null for percentages.'),
    unitAmount: nullable(Type.Integer(), 'Minor units; `amount` is `quantity` × `unitAmount`. Null for percentages.'),
    pct: nullable(Type.Number(), 'Percentages only.'),
    amount: Type.Integer({ description: 'Minor units; negative for discounts.' }),
    feeTypeId: nullable(Type.String(), 'Fee lines only.'),
  },
  { $id: 'QuoteLine' },
)

/** The price of a stay (docs/contract.md#post-quote). */
export const QuoteJson = Type.Object({
  nights: Type.Integer({ minimum: 1 }),
  currency: Type.String(),
  total: Type.Integer({ description: 'Minor units; the sum of the lines.' }),
  lines: Type.Array(QuoteLineJson),
})
