/** Fees in plain words, and what they come to. Pure. */
import type { Schema } from '../../api/schema.ts'
import { type Currency, money } from '../../format/numbers.ts'

export type FeeType = Schema<'FeeType'>
type Application = FeeType['application']

export const APPLICATIONS: readonly {
  readonly value: Application
  readonly label: string
  readonly short: string
  readonly hint: string
}[] = [
  {
    value: 'every_stay',
    label: 'Every stay',
    short: 'Every stay',
    hint: 'Included in every quote and in the total of every new booking.',
  },
  {
    value: 'on_request',
    label: 'Only on request',
    short: 'On request',
    hint: 'Partners can show it to guests. It is not in quotes: you charge it when a guest asks for it.',
  },
]

/** `€8.00 per stay`, `3.5% of the nights`. */
export function feeAmount({ kind, amount, pct }: Pick<FeeType, 'kind' | 'amount' | 'pct'>, currency: Currency): string {
  return kind === 'fixed' ? `${money(amount ?? 0, currency)} per stay` : `${pct ?? 0}% of the nights`
}

/**
 * What a stay pays of the fee, rounded as the service does.
 * @param accommodation minor units: its nights after discounts
 */
export function feeOf({ kind, amount, pct }: Pick<FeeType, 'kind' | 'amount' | 'pct'>, accommodation: number): number {
  if (kind === 'fixed') return amount ?? 0
  // In integers: half a cent is rounded up.
  return Math.floor((accommodation * Math.round((pct ?? 0) * 100) + 5_000) / 10_000)
}
