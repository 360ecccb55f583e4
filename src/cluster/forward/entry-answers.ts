/** What a node answers itself when no owner could be asked. */

import { plainHeaders, problemAnswer } from '../../http/answer.ts'
import { NOT_OWNER_STATUS } from '../../http/problem-of.ts'
import { invalidField, type Problem, problem } from '../../http/problems.ts'
import type { NodeAddress } from '../shard-owners.ts'
import { DOUBT_HEADER, HOP_HEADER, HOP_REFUSED_HEADER, OWNER_HEADER, SERVED_BY_HEADER } from './hop.ts'
import type { NotOwner } from './owner-calls.ts'

const RETRY_AFTER_S = 2

/** `unknown`: a node that may have carried out the write did not answer. `refused`: the owner does not know this node's CLUSTER_SECRET. */
export type Unanswered = 'no_owner' | 'full' | 'unknown' | 'database' | 'refused'

const NOT_HANDLED = 'This request was not handled'
const TITLES = {
  no_owner: `${NOT_HANDLED}: no node is serving this agency at the moment. Try again`,
  full: `${NOT_HANDLED}: too many requests are already waiting for other nodes. Try again`,
  unknown:
    'The change may or may not have been made: check with GET /bookings, or repeat the request with the same Idempotency-Key',
  database: `${NOT_HANDLED}: the database did not answer. Try again`,
  refused: `${NOT_HANDLED}: the nodes of this service do not accept each other's requests`,
} as const satisfies Record<Unanswered, string>

const PROBLEMS_OF: Record<Unanswered, Problem> = {
  no_owner: internal('no_owner'),
  full: internal('full'),
  unknown: internal('unknown'),
  database: internal('database'),
  refused: internal('refused'),
}

/** 500 INTERNAL with Retry-After: the contract has no 503, and its clients retry a 500. */
export function unanswered(why: Unanswered, requestId: string, request: Pick<Request, 'headers'>): Response {
  return problemAnswer(PROBLEMS_OF[why], requestId, plainHeaders(requestId), request)
}

/**
 * A write was made, but the answer with its secret was lost between nodes, and no secret is kept to be shown again.
 * @param made the answer without the secret, which shows what was made
 */
export function secretLost(made: object, requestId: string): Response {
  const id = Object.values(made).find((value) => typeof value?.id === 'string')?.id
  const what = id === undefined ? 'The change was made' : `The change of ${id} was made`
  const lost = problem(
    'INTERNAL',
    `${what}, but the secret was lost between two nodes and cannot be shown again: revoke what was created, or rotate its secret, and try again`,
    {},
  )
  return problemAnswer(lost, requestId, plainHeaders(requestId))
}

/** Whoever sent the request is no node that this one knows. The answer to its client, or to a node with another secret. */
export function hopRefused(requestId: string): Response {
  const headers = plainHeaders(requestId)
  headers.set(HOP_REFUSED_HEADER, 'proof')
  return problemAnswer(
    invalidField(HOP_HEADER, 'must come from a node with the same CLUSTER_SECRET'),
    requestId,
    headers,
  )
}

/** Between nodes: 421, with the owner as this node knows it. */
export function notOwner(self: NodeAddress, { owner, isDoubtful }: NotOwner): Response {
  const headers = new Headers({ [SERVED_BY_HEADER]: self.id })
  if (owner !== null) headers.set(OWNER_HEADER, `${owner.id} ${owner.url}`)
  if (isDoubtful) headers.set(DOUBT_HEADER, 'unknown')
  return new Response(null, { status: NOT_OWNER_STATUS, headers })
}

function internal(why: Unanswered): Problem {
  return problem('INTERNAL', TITLES[why], {}, { retryAfterS: RETRY_AFTER_S })
}
