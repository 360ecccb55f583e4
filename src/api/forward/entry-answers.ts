/** What a node answers itself when no owner could be asked. */

import type { NodeAddress } from '../../cluster/owners.ts'
import { plainHeaders, problemAnswer } from '../http/answer.ts'
import { NOT_OWNER_STATUS } from '../problems/problem-of-failure.ts'
import { type Problem, problem } from '../problems/problems.ts'
import { OWNER_HEADER, SERVED_BY_HEADER } from './hop.ts'

const RETRY_AFTER_S = 2

/** `unknown`: a node that may have carried out the write did not answer. */
export type Unanswered = 'no_owner' | 'full' | 'unknown' | 'database'

const NOT_HANDLED = 'This request was not handled'
const TITLES = {
  no_owner: `${NOT_HANDLED}: no node serves this agency at the moment. Try again`,
  full: `${NOT_HANDLED}: too many requests already wait for the node that serves this agency. Try again`,
  unknown:
    'The change may or may not have been made: check with GET /bookings, or repeat the request with the same Idempotency-Key',
  database: `${NOT_HANDLED}: the database did not answer. Try again`,
} as const satisfies Record<Unanswered, string>

const PROBLEMS_OF: Record<Unanswered, Problem> = {
  no_owner: internal('no_owner'),
  full: internal('full'),
  unknown: internal('unknown'),
  database: internal('database'),
}

/** 500 INTERNAL with Retry-After: the contract has no 503, and its clients retry a 500. */
export function unanswered(why: Unanswered, requestId: string): Response {
  return problemAnswer(PROBLEMS_OF[why], requestId, plainHeaders(requestId))
}

/** Between nodes: 421, with the owner as this node knows it. */
export function notOwner(self: NodeAddress, owner: NodeAddress | null): Response {
  const headers = new Headers({ [SERVED_BY_HEADER]: self.id })
  if (owner !== null) headers.set(OWNER_HEADER, `${owner.id} ${owner.url}`)
  return new Response(null, { status: NOT_OWNER_STATUS, headers })
}

function internal(why: Unanswered): Problem {
  return problem('INTERNAL', TITLES[why], {}, { retryAfterS: RETRY_AFTER_S })
}
