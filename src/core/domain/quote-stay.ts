import type { Tariff } from './decide.ts'
import { stayConflictCodes } from './night-guard.ts'
import { effectiveMinStay, priceStay, type Quote } from './pricing.ts'
import type { BelowMinStay, StayConflict } from './rejection.ts'
import type { UnitRules } from './rules.ts'
import { nightsOf, type Stay } from './stay.ts'
import type { UnitState } from './unit-state.ts'

export interface QuoteRequest {
  readonly stay: Stay
  readonly children: number
  readonly extraBed: boolean
  readonly tariff: Tariff
}

export type PriceAnswer =
  | { readonly kind: 'priced'; readonly quote: Quote }
  | { readonly kind: 'rejected'; readonly rejection: BelowMinStay }

export type QuoteAnswer =
  | { readonly kind: 'quoted'; readonly quote: Quote; readonly reasons: readonly StayConflict['code'][] }
  | { readonly kind: 'rejected'; readonly rejection: BelowMinStay }

/**
 * Prices a stay and lists the 409 codes that a booking of it would get now; an empty list means available
 * (docs/design.md#quote).
 */
export function quoteStay(state: UnitState, request: QuoteRequest): QuoteAnswer {
  const priced = priceByRules(state.rules, request)
  if (priced.kind === 'rejected') return priced
  return { kind: 'quoted', quote: priced.quote, reasons: stayConflictCodes(state, request.stay) }
}

/** The price of a stay by rules that need not be those of a unit, or that it is shorter than they allow. */
export function priceByRules(rules: UnitRules, { stay, children, extraBed, tariff }: QuoteRequest): PriceAnswer {
  const minStay = effectiveMinStay(rules, stay.arrival)
  if (nightsOf(stay) < minStay) return { kind: 'rejected', rejection: { code: 'MIN_STAY', minStay } }
  return { kind: 'priced', quote: priceStay({ rules, stay, children, extraBed, ...tariff }) }
}
