import './price-lines.css'
import { plural } from '../../format/count.ts'
import { money } from '../../format/money.ts'
import { useSession } from '../../session/use-session.ts'
import type { Quote } from './calendar-writes.ts'

/** A price, line by line. `isFaded`: another one is being worked out. */
export function PriceLines({ quote, isFaded = false }: { quote: Quote; isFaded?: boolean }) {
  const { currency } = useSession()
  return (
    <table class={isFaded ? 'price-lines is-faded' : 'price-lines'} aria-busy={isFaded}>
      <caption class="visually-hidden">Price by line</caption>
      <tbody>
        {quote.lines.map((line, i) => (
          <tr key={`${line.kind}-${line.label}-${i}`}>
            <th scope="row">
              {line.label}
              {line.pct !== null && <span class="muted"> {line.pct}%</span>}
              {line.quantity !== null && line.unitAmount !== null && (isNightly(line) || line.quantity > 1) && (
                <span class="muted">
                  {' '}
                  {isNightly(line) ? plural(line.quantity, 'night') : line.quantity} ×{' '}
                  {money(line.unitAmount, currency)}
                </span>
              )}
            </th>
            <td class="numeric">{money(line.amount, currency)}</td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">Total, {plural(quote.nights, 'night')}</th>
          <td class="numeric">{money(quote.total, currency)}</td>
        </tr>
      </tfoot>
    </table>
  )
}

/** A fee that is charged once needs no “1 ×”. */
function isNightly({ kind }: Quote['lines'][number]): boolean {
  return kind === 'accommodation' || kind === 'extra_bed'
}
