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
              {line.quantity !== null && line.unitAmount !== null && (
                <span class="muted">
                  {' '}
                  {line.kind === 'accommodation' ? plural(line.quantity, 'night') : line.quantity} ×{' '}
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
