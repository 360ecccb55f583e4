import { Type } from '@sinclair/typebox'
import { formatNight, type Night } from '../../core/domain/night.ts'
import type { Quote, QuoteLine } from '../../core/domain/pricing.ts'
import type { StayConflict } from '../../core/domain/rejection.ts'
import type { Unit } from '../../core/domain/unit.ts'
import { QuoteJson } from '../schema/quote-schema.ts'

const REASONS = ['BOOKING_CONFLICT', 'TURNOVER_BLOCK_CONFLICT', 'EXPECTED_EXTENSION_CONFLICT'] as const

/** See docs/contract.md#post-quote, with the design's `reasons`. */
export const QuoteAnswerJson = Type.Object(
  {
    available: Type.Boolean({ description: 'Whether a booking of this stay would be accepted now.' }),
    instantBook: Type.Boolean(),
    currency: Type.String(),
    reasons: Type.Array(Type.Unsafe<StayConflict['code']>({ type: 'string', enum: [...REASONS] }), {
      description: 'Every 409 code that booking this stay now would return; empty when available.',
    }),
    quote: QuoteJson,
  },
  { $id: 'QuoteAnswer' },
)

/**
 * The answer to a quote as JSON text, in `QuoteAnswerJson`'s shape and order. Written out, because the shape is fixed: measured, a
 * third of the time of building it as an object for `JSON.stringify`.
 */
export function quoteAnswerText(unit: Unit, quote: Quote, reasons: readonly StayConflict['code'][]): string {
  return quoteAnswerAround(unit, quote.currency, quoteText(quote), reasons)
}

/** The same, with its entity tag. The text of the quote is made once for both. */
export function taggedQuoteAnswer(
  unit: Unit,
  quote: Quote,
  reasons: readonly StayConflict['code'][],
): { readonly tag: string; readonly body: string } {
  const text = quoteText(quote)
  return { tag: tagOfText(unit, quote, text), body: quoteAnswerAround(unit, quote.currency, text, reasons) }
}

/**
 * The entity tag of a quote: over what the guest would pay for the unit, line by line, and nothing else, so that it outlasts a restart
 * (docs/partner-additions.md#5-book-at-the-price-that-was-shown). No two totals have the same tag, whatever the hash.
 */
export function quoteTag(unit: Pick<Unit, 'id'>, quote: Quote): string {
  return tagOfText(unit, quote, quoteText(quote))
}

function tagOfText({ id }: Pick<Unit, 'id'>, { total }: Quote, text: string): string {
  return `"${total.toString(36)}-${Bun.hash.wyhash(id + text).toString(36)}"`
}

function quoteAnswerAround(
  unit: Unit,
  quoteCurrency: string,
  quote: string,
  reasons: readonly StayConflict['code'][],
): string {
  const currency = JSON.stringify(quoteCurrency)
  const isAvailable = reasons.length === 0
  // The codes are our own words: nothing in them needs escaping.
  const codes = isAvailable ? '' : `"${reasons.join('","')}"`
  return `{"available":${isAvailable},"instantBook":${unit.instantBook},"currency":${currency},"reasons":[${codes}],"quote":${quote}}`
}

function quoteText({ nights, currency, total, lines }: Quote): string {
  // Joined at once: a text concatenated piece by piece would be flattened again when it is sent.
  return `{"nights":${nights},"currency":${JSON.stringify(currency)},"total":${total},"lines":[${lines.map(lineText).join()}]}`
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
