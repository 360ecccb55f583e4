import type { Tariff } from './decide.ts'
import { stayConflictCodes } from './night-guard.ts'
import { effectiveMinStay, priceStay, type Quote } from './pricing.ts'
import type { BelowMinStay, StayConflict } from './rejection.ts'
import { nightsOf, type Stay } from './stay.ts'
import type { UnitState } from './unit-state.ts'

export interface QuoteRequest {
  readonly stay: Stay
  readonly children: number
  readonly extraBed: boolean
  readonly tariff: Tariff
}

export type QuoteAnswer =
  | { readonly kind: 'quoted'; readonly quote: Quote; readonly reasons: readonly StayConflict['code'][] }
  | { readonly kind: 'rejected'; readonly rejection: BelowMinStay }

/**
 * Prices a stay and lists the 409 codes that a booking of it would get now; an empty list means available
 * (docs/design.md#quote).
 */
export function quoteStay(state: UnitState, request: QuoteRequest): QuoteAnswer {
  const { stay, children, extraBed, tariff } = request
  const minStay = effectiveMinStay(state.rules, stay.arrival)
  if (nightsOf(stay) < minStay) return { kind: 'rejected', rejection: { code: 'MIN_STAY', minStay } }
  const quote = priceStay({ rules: state.rules, stay, children, extraBed, ...tariff })
  return { kind: 'quoted', quote, reasons: stayConflictCodes(state, stay) }
}
