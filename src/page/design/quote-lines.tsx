import './quote-lines.css'
import type { Schema } from '../api/schema.ts'
import { dayOf, dayRange } from '../format/days.ts'
import { type Currency, money, plural } from '../format/numbers.ts'

type Line = Schema<'QuoteLine'>

/** The price of a stay, line by line. */
export function QuoteLines({
  lines,
  total,
  currency,
  totalHead = 'Total',
  isFaded = false,
  isMarked,
}: {
  lines: readonly Line[]
  total: number
  currency: Currency
  totalHead?: string
  /** Another price is being worked out. */
  isFaded?: boolean
  /** Lines to be looked at. */
  isMarked?: (line: Line) => boolean
}) {
  return (
    <div class={isFaded ? 'quote is-faded' : 'quote'} aria-busy={isFaded}>
      <table class="quote-lines">
        <caption class="visually-hidden">Price by line</caption>
        <tbody>
          {lines.map((line, index) => (
            // Lines have no identity of their own: their order is what tells them apart.
            <tr key={index} class={isMarked?.(line) === true ? 'quote-line-marked' : undefined}>
              <th scope="row">
                <span class="quote-line-label">{line.label}</span>
                {detailsOf(line, currency).map((detail) => (
                  <span key={detail} class="quote-line-detail">
                    {detail}
                  </span>
                ))}
              </th>
              <td class="numeric">{money(line.amount, currency)}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{totalHead}</th>
            <td class="numeric">{money(total, currency)}</td>
          </tr>
        </tfoot>
      </table>
    </div>
  )
}

function detailsOf({ kind, from, to, quantity, unitAmount, pct }: Line, currency: Currency): string[] {
  if (pct !== null) return [kind === 'discount' ? `${pct}% off the nights` : `${pct}% of the nights`]
  if (quantity === null || unitAmount === null) return []
  const nights = `${plural(quantity, 'night')} × ${money(unitAmount, currency)}`
  if (kind === 'accommodation' && from !== null && to !== null) return [dayRange(dayOf(from), dayOf(to)), nights]
  return [kind === 'extra_bed' ? nights : 'per stay']
}
