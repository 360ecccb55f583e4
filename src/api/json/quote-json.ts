import { type Static, Type } from '@sinclair/typebox'
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
 * The answer to a quote as JSON text, in `QuoteAnswerJson`'s shape and order. Built as an object for `JSON.stringify`: measured, half
 * the time of concatenating the text, which the server has to flatten afterwards (docs/decisions.md).
 */
export function quoteAnswerText(unit: Unit, quote: Quote, reasons: readonly StayConflict['code'][]): string {
  const { nights, currency, total, lines } = quote
  const answer: Static<typeof QuoteAnswerJson> = {
    available: reasons.length === 0,
    instantBook: unit.instantBook,
    currency,
    reasons: reasons as StayConflict['code'][],
    quote: { nights, currency, total, lines: lines.map(lineJson) },
  }
  return JSON.stringify(answer)
}

function lineJson(line: QuoteLine): Static<typeof QuoteLineJson> {
  const { kind, label, from, to, quantity, unitAmount, pct, amount, feeTypeId } = line
  return { kind, label, from: dateOrNull(from), to: dateOrNull(to), quantity, unitAmount, pct, amount, feeTypeId }
}

function dateOrNull(night: Night | null): string | null {
  return night === null ? null : formatNight(night)
}
