import { type Static, Type } from '@sinclair/typebox'
import { formatNight, type Night } from '../../core/domain/night.ts'
import type { StayConflict } from '../../core/domain/night-guard.ts'
import type { Quote, QuoteLine } from '../../core/domain/pricing.ts'
import type { Unit } from '../../core/domain/unit.ts'
import { QuoteJson } from '../quote-schema.ts'

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

/** The answer to a quote as JSON text, in `QuoteAnswerJson`'s shape and order. */
export function quoteAnswerText(unit: Unit, quote: Quote, reasons: readonly StayConflict['code'][]): string {
  return answerWith(textOf(quote), unit, quote, reasons)
}

/** The same, with its entity tag. The text of the quote, the last member, is made once for both. */
export function taggedQuoteAnswer(
  unit: Unit,
  quote: Quote,
  reasons: readonly StayConflict['code'][],
): { readonly tag: string; readonly body: string } {
  const text = textOf(quote)
  return { tag: tagOfText(unit, quote, text), body: answerWith(text, unit, quote, reasons) }
}

/**
 * The entity tag of a quote: over what the guest would pay for the unit, line by line, and nothing else, so that it outlasts a restart
 * (docs/partner-additions.md#5-book-at-the-price-that-was-shown). No two totals have the same tag, whatever the hash.
 */
export function quoteTag(unit: Pick<Unit, 'id'>, quote: Quote): string {
  return tagOfText(unit, quote, textOf(quote))
}

/** The unit is the seed and not part of the text, which is copied otherwise. */
function tagOfText({ id }: Pick<Unit, 'id'>, { total }: Quote, text: string): string {
  return `"${total.toString(36)}-${Bun.hash.wyhash(text, Bun.hash.wyhash(id)).toString(36)}"`
}

/**
 * Around the text of the quote, which is most of it. That one is made as an object for `JSON.stringify`: measured, half the time of
 * concatenating it, because the server has to flatten what is made of many pieces (docs/decisions.md#speed).
 */
function answerWith(
  quoteText: string,
  { instantBook }: Unit,
  { currency }: Quote,
  reasons: readonly StayConflict['code'][],
): string {
  const listed = reasons.length === 0 ? '[]' : JSON.stringify(reasons)
  return `{"available":${reasons.length === 0},"instantBook":${instantBook},"currency":${JSON.stringify(currency)},"reasons":${listed},"quote":${quoteText}}`
}

function textOf(quote: Quote): string {
  return JSON.stringify(quoteJson(quote))
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
