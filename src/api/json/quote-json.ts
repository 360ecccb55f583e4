import { type Static, Type } from '@sinclair/typebox'
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
 * The answer to a quote as JSON text, in `QuoteAnswerJson`'s shape and order. Built as an object for `JSON.stringify`: measured, half
 * the time of concatenating the text, which the server has to flatten afterwards (docs/decisions.md).
 */
export function quoteAnswerText(unit: Unit, quote: Quote, reasons: readonly StayConflict['code'][]): string {
  const answer: Static<typeof QuoteAnswerJson> = {
    available: reasons.length === 0,
    instantBook: unit.instantBook,
    currency: quote.currency,
    reasons: reasons as StayConflict['code'][],
    quote: quoteJson(quote),
  }
  return JSON.stringify(answer)
}

/** The same, with its entity tag. The text of the quote, the last member, is made once for both. */
export function taggedQuoteAnswer(
  unit: Unit,
  quote: Quote,
  reasons: readonly StayConflict['code'][],
): { readonly tag: string; readonly body: string } {
  const body = quoteAnswerText(unit, quote, reasons)
  return { tag: tagOfText(unit, quote, body.slice(body.indexOf(QUOTE_MEMBER) + QUOTE_MEMBER.length, -1)), body }
}

const QUOTE_MEMBER = '"quote":'

/**
 * The entity tag of a quote: over what the guest would pay for the unit, line by line, and nothing else, so that it outlasts a restart
 * (docs/partner-additions.md#5-book-at-the-price-that-was-shown). No two totals have the same tag, whatever the hash.
 */
export function quoteTag(unit: Pick<Unit, 'id'>, quote: Quote): string {
  return tagOfText(unit, quote, JSON.stringify(quoteJson(quote)))
}

function tagOfText({ id }: Pick<Unit, 'id'>, { total }: Quote, text: string): string {
  return `"${total.toString(36)}-${Bun.hash.wyhash(id + text).toString(36)}"`
}

export function quoteJson({ nights, currency, total, lines }: Quote): Static<typeof QuoteJson> {
  return { nights, currency, total, lines: lines.map(lineJson) }
}

function lineJson(line: QuoteLine): Static<typeof QuoteJson>['lines'][number] {
  const { kind, label, from, to, quantity, unitAmount, pct, amount, feeTypeId } = line
  return { kind, label, from: dateOrNull(from), to: dateOrNull(to), quantity, unitAmount, pct, amount, feeTypeId }
}

function dateOrNull(night: Night | null): string | null {
  return night === null ? null : formatNight(night)
}
