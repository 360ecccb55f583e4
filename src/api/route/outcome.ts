import type { Problem } from '../problems/problems.ts'

/**
 * What a handler returns: the JSON text of the operation's answer, a whole answer, or a refusal. A refused write is put into the audit trail
 * before it is answered, unless it is there already (`recorded`).
 */
export type Outcome = string | Response | Problem | RecordedRefusal | Replayed

/** A refusal that is in the audit trail. */
export interface RecordedRefusal {
  readonly kind: 'refused'
  readonly problem: Problem
}

/** The first answer to a write, replayed to a request with the same `Idempotency-Key`. */
export interface Replayed {
  readonly kind: 'replayed'
  readonly answer: { readonly status: number; readonly body: string }
}

export function recorded(problem: Problem): RecordedRefusal {
  return { kind: 'refused', problem }
}

export function isProblem(outcome: Outcome): outcome is Problem {
  return typeof outcome !== 'string' && 'code' in outcome
}
