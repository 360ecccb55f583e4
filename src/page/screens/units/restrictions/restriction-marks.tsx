/** How the rules of a day are drawn: each has a shape or a text of its own, beside its colour. */
import type { DateRule } from '../../../stays/restrictions.ts'

/** Through a door, struck out; a cross. */
const PATHS = {
  closedToArrival: ['M1 6h8M6 3l3 3-3 3M13 1v10', 'M2.500 10.500l8-9'],
  closedToDeparture: ['M3 1v10M7 6h8M12 3l3 3-3 3', 'M5.500 10.500l8-9'],
  stopSell: ['M4 2l8 8', 'M12 2l-8 8'],
} as const

/** @param value nights, or true */
export function RuleMark({ rule, value }: { rule: DateRule; value: number | true }) {
  switch (rule) {
    case 'closedToArrival':
    case 'closedToDeparture':
    case 'stopSell':
      return (
        <svg class={`rule-mark rule-mark-${rule}`} viewBox="0 0 16 12" aria-hidden="true">
          <path d={PATHS[rule][0]} />
          <path class="rule-mark-gap" d={PATHS[rule][1]} />
          <path d={PATHS[rule][1]} />
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
