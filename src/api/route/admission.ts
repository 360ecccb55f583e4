import type { OpenRequest } from '../../observability/request-stats.ts'
import type { Failure } from '../problems/problem-of-failure.ts'
import type { Problem } from '../problems/problems.ts'
import type { Tagged } from './outcome.ts'
import type { PathValues } from './read-target.ts'

/** An admitted request that is not answered yet. `A`: what the surface's admission found out about it. */
export interface Open<A> extends OpenRequest {
  readonly request: Request
  readonly admission: A & OpenRequest['admission']
}

/** How one route admits requests, and what it records. Each surface has one implementation. */
export interface RouteAdmission<A> {
  /** 401: the answer to a request whose credentials are no longer valid when its body has arrived. */
  readonly unauthorized: Problem

  /** Checks the headers, before anything else of the request is read. Null: no valid credentials. */
  admit(request: Request, requestId: string): A | null

  /** The answer to a request that `admit` has just not admitted: 401, or 429 after too many of them. */
  refused(request: Request): Problem

  /** Checks again when a body has arrived, which may be long after the headers. Counts against no limit. Null: 401. */
  readmit(open: Open<A>): A | null

  /** Why an admitted request is not served; null if it is. */
  refusalOf(admission: A, request: Request): Problem | null

  /** Counts the text of an answer. Null: send it now; otherwise when this resolves. Left out: every answer is small. */
  takeAnswer?(open: Open<A>, chars: number): Promise<void> | null

  /** The 2xx answer with this JSON text. */
  answer(open: Open<A>, body: string, status: number): Response

  /** The same with an entity tag; 304 without a body. `isConditional`: the caller may keep it, and ask again with its tag. */
  taggedAnswer?(open: Open<A>, answer: Tagged, options: { status: number; isConditional: boolean }): Response

  /** The headers of an answer that refuses an admitted request. The caller may change them. */
  headersOf(open: Open<A>): Headers

  /** Records a refused write. If it returns a promise, the refusal is answered when that settles. */
  recordRefusal(open: Open<A>, refusal: Problem, path: PathValues): Promise<void> | null

  /** Counts a write that failed: its own audit line may be missing (docs/design.md#audit). */
  recordFailure(open: Open<A>, outcome: Failure['outcome']): void
}
