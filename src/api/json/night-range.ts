import { formatNight, type Night } from '../../core/domain/night.ts'
import { invalidField, type Problem } from '../problems/problems.ts'
import { nightOf } from './stay-fields.ts'

/** See docs/contract.md#limits. */
export const RANGE_DAYS_MAX = 366

/** `[from, to)`; empty when both are the same day. */
export interface NightRange {
  readonly from: Night
  readonly to: Night
}

/** The range, or why the two dates make none (docs/contract.md#get-availability). Both have passed the schema. */
export function rangeOf(asked: { from: string; to: string }): NightRange | Problem {
  const range = { from: nightOf(asked.from), to: nightOf(asked.to) }
  const days = range.to - range.from
  if (days < 0) return invalidField('to', `must not be before from (${asked.from})`)
  if (days <= RANGE_DAYS_MAX) return range
  const last = formatNight((range.from + RANGE_DAYS_MAX) as Night)
  return invalidField('to', `must be at most ${RANGE_DAYS_MAX} days after from (${last})`)
}
