import { Type } from '@sinclair/typebox'
import { formatNight, type Night } from '../../core/domain/night.ts'
import type { Quote, QuoteLine } from '../../core/domain/pricing.ts'
import type { StayConflict } from '../../core/domain/rejection.ts'
import type { Unit } from '../../core/domain/unit.ts'
import { dateText } from '../schema/text-schema.ts'

const LINE_KINDS = ['accommodation', 'discount', 'cleaning', 'extra_bed', 'fee'] as const
const REASONS = ['BOOKING_CONFLICT', 'TURNOVER_BLOCK_CONFLICT', 'EXPECTED_EXTENSION_CONFLICT'] as const

const nullable = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S, description: string) =>
  Type.Union([schema, Type.Null()], { description })

export const QuoteLineJson = Type.Object(
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

/** See docs/contract.md#post-quote, with the design's `reasons`. */
export const QuoteAnswerJson = Type.Object(
  {
    available: Type.Boolean({ description: 'Whether a booking of this stay would be accepted now.' }),
    instantBook: Type.Boolean(),
    currency: Type.String(),
    reasons: Type.Array(Type.Unsafe<StayConflict['code']>({ type: 'string', enum: [...REASONS] }), {
      description: 'Every 409 code that booking this stay now would return; empty when available.',
    }),
    quote: Type.Object({
      nights: Type.Integer({ minimum: 1 }),
      currency: Type.String(),
      total: Type.Integer({ description: 'Minor units; the sum of the lines.' }),
      lines: Type.Array(QuoteLineJson),
    }),
  },
  { $id: 'QuoteAnswer' },
)

/**
 * The answer to a quote as JSON text, in `QuoteAnswerJson`'s shape and order. Written out, because the shape is fixed: measured, a
 * third of the time of building it as an object for `JSON.stringify`.
 */
export function quoteAnswerText(unit: Unit, quote: Quote, reasons: readonly StayConflict['code'][]): string {
  const currency = JSON.stringify(quote.currency)
  // Joined at once: a text concatenated piece by piece would be flattened again when it is sent.
  const lines = quote.lines.map(lineText).join()
  const isAvailable = reasons.length === 0
  // The codes are our own words: nothing in them needs escaping.
  const codes = isAvailable ? '' : `"${reasons.join('","')}"`
  return (
    `{"available":${isAvailable},"instantBook":${unit.instantBook},"currency":${currency},"reasons":[${codes}],` +
    `"quote":{"nights":${quote.nights},"currency":${currency},"total":${quote.total},"lines":[${lines}]}}`
  )
}

function lineText(line: QuoteLine): string {
  const { kind, from, to, quantity, unitAmount, pct, amount, feeTypeId } = line
  return (
    `{"kind":"${kind}","label":${JSON.stringify(line.label)},"from":${dateOrNull(from)},"to":${dateOrNull(to)},` +
    `"quantity":${quantity},"unitAmount":${unitAmount},"pct":${pct},"amount":${amount},` +
    `"feeTypeId":${feeTypeId === null ? 'null' : JSON.stringify(feeTypeId)}}`
  )
}

function dateOrNull(night: Night | null): string {
  return night === null ? 'null' : `"${formatNight(night)}"`
}
