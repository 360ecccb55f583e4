/** The arrivals that a change of restrictions closes or opens, as text. Pure. */
import type { RestrictionsPreview } from '../../../api/schema.ts'
import { dayOf } from '../../../format/days.ts'
import { refusalText } from '../../../stays/restrictions.ts'

type Change = RestrictionsPreview['changes'][number]

/** Consecutive arrivals that differ for the same reasons. */
export interface Run {
  readonly from: string
  last: string
  count: number
  readonly isSold: boolean
  readonly reasons: string
}

export function runsOf(changes: readonly Change[]): Run[] {
  const runs: Run[] = []
  for (const { arrival, isSold, refusals } of changes) {
    const reasons = refusals.map(refusalText).join(', ')
    const run = runs.at(-1)
    const isNext = run !== undefined && dayOf(run.last) + 1 === dayOf(arrival)
    if (run !== undefined && isNext && run.isSold === isSold && run.reasons === reasons) {
      run.last = arrival
      run.count += 1
    } else runs.push({ from: arrival, last: arrival, count: 1, isSold, reasons })
  }
  return runs
}
