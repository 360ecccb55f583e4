import { holdsTag } from '../http/entity-tag.ts'
import type { Problem } from '../problems/problems.ts'

/**
 * What a handler returns: the JSON text of the operation's answer, with or without an entity tag, a whole answer, or a refusal. A refused
 * write is put into the audit trail before it is answered, unless it is there already (`recorded`).
 */
export type Outcome = string | Tagged | Response | Problem | RecordedRefusal | Replayed | Tried

/** An answer with its entity tag. */
export interface Tagged {
  readonly kind: 'tagged'
  readonly tag: string
  /** Null: the caller has it already, and gets 304. */
  readonly body: string | null
}

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

/** The answer of a dry run. */
export interface Tried {
  readonly kind: 'tried'
  readonly answer: { readonly status: 200; readonly body: string }
}

export function recorded(problem: Problem): RecordedRefusal {
  return { kind: 'refused', problem }
}

export function tagged(tag: string, body: string | null): Tagged {
  return { kind: 'tagged', tag, body }
}

/**
 * The answer to a conditional read (docs/partner-additions.md#1-conditional-reads).
 * @param write makes the body; not called when the caller has it already
 */
export function taggedUnlessHeld(request: Request, tag: string, write: () => string): Tagged {
  return tagged(tag, isHeld(request, tag) ? null : write())
}

/** Whether the caller has the answer with this tag already. */
export function isHeld(request: Request, tag: string): boolean {
  return holdsTag(request.headers.get('if-none-match'), tag)
}

export function isProblem(outcome: Outcome): outcome is Problem {
  return typeof outcome !== 'string' && 'code' in outcome
}
