import { type Static, Type } from '@sinclair/typebox'
import { formatNight, type Night } from '../domain/night.ts'
import type { Quote, QuoteLine } from '../domain/pricing.ts'
import type { StayConflict } from '../domain/rejection.ts'
import type { Unit } from '../domain/unit.ts'
import { dateText } from './text-schema.ts'

const LINE_KINDS = ['accommodation', 'discount', 'cleaning', 'extra_bed', 'fee'] as const
const REASONS = ['BOOKING_CONFLICT', 'TURNOVER_BLOCK_CONFLICT', 'EXPECTED_EXTENSION_CONFLICT'] as const

const nullable = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S, description: string) =>
  Type.Union([schema, Type.Null()], { description })

export const QuoteLineJson = Type.Object(
  {
    kind: Type.Unsafe<QuoteLine['kind']>({ type: 'string', enum: [...LINE_KINDS] }),
    label: Type.String(),
    from: nullable(dateText('First night.'), 'First night; only on accommodation.'),
    to: nullable(dateText('The day after the last night.'), 'The day after the last night; only on accommodation.'),
    quantity: nullable(Type.Integer(), 'Null on percentages.'),
    unitAmount: nullable(Type.Integer(), 'Minor units; `quantity` times it is `amount`. Null on percentages.'),
    pct: nullable(Type.Number(), 'Only on percentages.'),
    amount: Type.Integer({ description: 'Minor units; negative on discounts.' }),
    feeTypeId: nullable(Type.String(), 'Only on fees.'),
  },
  { $id: 'QuoteLine' },
)

/** Contract, POST /quote, with the design's `reasons`. */
export const QuoteAnswerJson = Type.Object(
  {
    available: Type.Boolean({ description: 'Whether a booking of this stay would be accepted now.' }),
    instantBook: Type.Boolean(),
    currency: Type.String(),
    reasons: Type.Array(Type.Unsafe<StayConflict['code']>({ type: 'string', enum: [...REASONS] }), {
      description: 'Every code that a booking of this stay would meet now; empty when available.',
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

export function quoteAnswerJson(
  unit: Unit,
  quote: Quote,
  reasons: readonly StayConflict['code'][],
): Static<typeof QuoteAnswerJson> {
  const { nights, currency, total, lines } = quote
  return {
    available: reasons.length === 0,
    instantBook: unit.instantBook,
    currency,
    reasons: [...reasons],
    quote: {
      nights,
      currency,
      total,
      lines: lines.map((line) => ({ ...line, from: formatOrNull(line.from), to: formatOrNull(line.to) })),
    },
  }
}

function formatOrNull(night: Night | null): string | null {
  return night === null ? null : formatNight(night)
}
