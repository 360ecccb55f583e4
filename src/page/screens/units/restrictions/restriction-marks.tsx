/** How the rules of a day are drawn: each has its own shape or text, not only a colour. */
import type { DateRule } from '../../../stays/restrictions.ts'

/** An arrow to a cross, an arrow from a cross, and a cross alone. */
const PATHS = {
  closedToArrival: 'M1 6h6.500M5 3.500 7.500 6 5 8.500M10.500 3.800l4.400 4.400M14.900 3.800l-4.400 4.400',
  closedToDeparture: 'M1.100 3.800l4.400 4.400M5.500 3.800l-4.400 4.400M8.500 6H15M12.500 3.500 15 6l-2.500 2.500',
  stopSell: 'M4 2l8 8M12 2l-8 8',
} as const

/** @param value nights, or true */
export function RuleMark({ rule, value }: { rule: DateRule; value: number | true }) {
  switch (rule) {
    case 'closedToArrival':
    case 'closedToDeparture':
    case 'stopSell':
      return (
        <svg class={`rule-mark rule-mark-${rule}`} viewBox="0 0 16 12" aria-hidden="true">
          <path d={PATHS[rule]} />
        </svg>
      )
    case 'minStayArrival':
      return <span class="rule-nights">≥{value}</span>
    case 'minStayThrough':
      return <span class="rule-nights rule-nights-through">≥{value}</span>
    case 'maxStay':
      return <span class="rule-nights">≤{value}</span>
  }
}
