/**
 * The way of one request to the owner of its shard, which may be this node or change on the way.
 *
 * - C5 While a shard has no owner, its requests wait here, bounded in number and time, and are then forwarded to the new one.
 * - C6 A shard is served here only while `Owners` says 'self', and only if it was owned without a break until the answer was made.
 * - C8 A forwarded write has an idempotency key, its client's or one of its own, and the same wherever it is sent. So it can be sent again,
 *   to the next owner too, when its outcome is not known.
 */

import { isNoAnswer, noAnswer } from '../../http/answer.ts'
import { NOT_OWNER_STATUS } from '../../http/problem-of.ts'
import type { Clock } from '../../lib/clock.ts'
import { Counts } from '../../lib/counts.ts'
import type { IdSource } from '../../lib/ids.ts'
import { traceparentIn } from '../../lib/traceparent.ts'
import type { Tracer } from '../../lib/tracer.ts'
import type { ShardHost } from '../node-watch.ts'
import type { NodeAddress, Owners } from '../shard-owners.ts'
import { secretLost, type Unanswered } from './entry-answers.ts'
import { HOLD_MS_MAX, type Holding } from './holding.ts'
import { type CallOutcome, isFeed, isSafe, type OwnedRequest, type OwnerCalls } from './owner-calls.ts'

export interface OwnerRouteOptions {
  readonly owners: Owners
  readonly termOf: ShardHost['termOf']
  readonly calls: OwnerCalls
  readonly clock: Clock
  readonly newId: IdSource
  readonly tracer?: Tracer | null
  /** Reads the operator's session in the request's cookie as it is stored: any node may have opened or ended it. */
  refreshSession(request: Request): Promise<void>
  /** Aborted when this process stops: what waits elsewhere for something to happen is answered with what there is. */
  readonly leaving: AbortSignal
  /** A node refuses what this one forwards: they have no CLUSTER_SECRET in common. Called once, until that node accepts something. */
  onRefused(node: NodeAddress): void
  /** Instead of FORWARDED_MAX, FORWARDED_OF_SHARD_MAX and FORWARDED_FEEDS_MAX. */
  readonly forwardedMax?: number | undefined
  readonly forwardedOfShardMax?: number | undefined
  readonly forwardedFeedsMax?: number | undefined
}

/** A request that can be sent on, because this node does not decide it: nothing was done, or the write that it asks for may have been made. */
export type Undecided = 'not_done' | 'unknown'

/** Requests that other nodes are answering, streams until they end; below what `fetch` has open at once (src/app/self-command.ts). */
const FORWARDED_MAX = 10_000
/** Of these, those for one shard: its agencies leave room for those of the others (A1). */
export const FORWARDED_OF_SHARD_MAX = 5_000
/** Of these, those that wait for changes, or get a stream of them: they last, and the others need room beside them. */
const FORWARDED_FEEDS_MAX = 8_000
/** Before a node that has not answered is asked again. */
const AGAIN_MS = 50
/** Of the keys that forwarded writes without one get. No client can guess one. */
const OPERATION_PREFIX = 'nightledger-op-'
const REPLAYED_HEADER = 'Idempotency-Replayed'
/** Of a credential that is no longer valid or has not the right, and of a limit, which an earlier attempt counts towards. */
const NOT_ADMITTED: ReadonlySet<number> = new Set([401, 403, 429])

/** Whether the answer to a write tells what has become of all attempts: not if it failed, or was refused before its key was looked at. */
function isOfAllAttempts({ status }: Response): boolean {
  return status < 500 && !NOT_ADMITTED.has(status)
}

export class OwnerRoute {
  readonly #options: OwnerRouteOptions
  readonly #holding: Holding
  /** By shard: sent to other nodes, and not answered yet, or still being answered. */
  readonly #open = new Counts<number>()
  #openFeeds = 0
  /** Since the start. */
  readonly counted = { forwarded: 0, sentAgain: 0, refused: 0 }
  /** Ids of nodes that refused the last request that they got from this one. */
  readonly #refusing = new Set<string>()

  constructor(options: OwnerRouteOptions, holding: Holding) {
    this.#options = options
    this.#holding = holding
  }

  /**
   * Never rejects unless `params.answer` does.
   * @param made the answer that is being made here already, if it is the owner's (`ifDecided`)
   * @returns the owner's answer, or why there is none
   */
  async answer(
    params: OwnedRequest,
    made: Promise<Response | Undecided> | null = null,
  ): Promise<Response | Unanswered> {
    const { request, shard } = params
    const { owners, clock, leaving } = this.#options
    const patience = this.#holding.patience()
    let send: ((node: NodeAddress) => Promise<CallOutcome>) | null = null
    let isDoubtful = false
    // An earlier attempt may be under way still, or done: that this one has failed, or was not let in, does not tell that nothing was (I4).
    const believed = (response: Response) =>
      isDoubtful && !isSafe(request) && !isOfAllAttempts(response) ? ('unknown' as const) : response
    let redirect: NodeAddress | null = null
    let isRedirected = false
    for (let here = made; ; here = null) {
      const owner: ReturnType<Owners['ownerOf']> = here !== null ? 'self' : (redirect ?? owners.ownerOf(shard))
      redirect = null
      if (owner === 'self') {
        const response = await (here ?? this.here(params))
        if (response instanceof Response) return believed(response)
        if (response === 'unknown') isDoubtful = true
      } else if (owner !== null) {
        if (this.#isFull(params)) return isDoubtful && !isSafe(request) ? 'unknown' : 'full'
        if (send !== null) this.counted.sentAgain += 1
        send ??= this.#sender(params)
        const sinceMs = clock.monotonicMs()
        const outcome = await send(owner)
        if (outcome.kind === 'answered') {
          this.counted.forwarded += 1
          this.#refusing.delete(owner.id)
          return isNoAnswer(outcome.response) ? noAnswer() : believed(outcome.response)
        }
        if (outcome.kind === 'refused') {
          this.#refused(owner)
          return isDoubtful && !isSafe(request) ? 'unknown' : 'refused'
        }
        if (outcome.kind === 'full') return isDoubtful && !isSafe(request) ? 'unknown' : 'full'
        if (outcome.kind === 'unknown' || outcome.isDoubtful) isDoubtful = true
        // An owner that this node alone does not reach keeps its shards: each attempt may last 45 s, and there must not be 200 of them.
        if (outcome.kind === 'unknown' && !leaving.aborted && this.#pauseMs(owner, shard) === AGAIN_MS)
          patience.leftMs -= clock.monotonicMs() - sinceMs
        if (
          outcome.kind === 'not_owner' &&
          !isRedirected &&
          outcome.owner !== null &&
          outcome.owner.id !== owners.self.id
        ) {
          // This node may see less of the cluster than the other. Once: two that name each other would do so for ever.
          redirect = outcome.owner
          isRedirected = true
          continue
        }
      }
      const waiting = { shard, client: request.signal }
      const waited = await this.#holding.wait(waiting, patience, this.#pauseMs(owner, shard))
      if (waited !== 'waited') return isDoubtful && !isSafe(request) ? 'unknown' : waited
    }
  }

  #isFull({ request, shard }: OwnedRequest): boolean {
    const { forwardedMax = FORWARDED_MAX, forwardedFeedsMax = FORWARDED_FEEDS_MAX } = this.#options
    const { forwardedOfShardMax = FORWARDED_OF_SHARD_MAX } = this.#options
    if (this.#open.total >= forwardedMax || this.#open.of(shard) >= forwardedOfShardMax) return true
    return this.#openFeeds >= forwardedFeedsMax && isFeed(request)
  }

  #refused(node: NodeAddress): void {
    this.counted.refused += 1
    if (!this.#refusing.has(node.id)) this.#options.onRefused(node)
    this.#refusing.add(node.id)
  }

  /** How long to wait, at most, after this owner has not answered. */
  #pauseMs(tried: ReturnType<Owners['ownerOf']>, shard: number): number {
    const owner = this.#options.owners.ownerOf(shard)
    if (owner === null) return HOLD_MS_MAX
    const isSame = owner === tried || (owner !== 'self' && tried !== 'self' && owner.id === tried?.id)
    return isSame ? AGAIN_MS : 0
  }

  /** The answer made here, if the shard is owned from before the request is decided until it is answered. */
  async here(params: OwnedRequest): Promise<Response | Undecided> {
    const { request, isOperatorSession, body, answer } = params
    const term = this.#options.termOf(params.shard)
    try {
      if (isOperatorSession) await this.#options.refreshSession(request)
      if (!isSafe(request)) await body.lend()
    } catch {
      // The database is away: it is tried again while there is time.
      return 'not_done'
    }
    return this.ifDecided(params, await answer(request), term)
  }

  /**
   * The answer, unless it is not the owner's because the shard was lost while it was made.
   * @param term before it was made (ShardHost.termOf)
   */
  ifDecided({ shard, request }: OwnedRequest, response: Response, term: number | null): Response | Undecided {
    const { status } = response
    if (status === NOT_OWNER_STATUS) return 'not_done'
    if (this.#options.termOf(shard) === term) return response
    if (isSafe(request)) return 'not_done'
    // What is acknowledged is durable. A refusal may be due to what had been forgotten already. A failure may hide a write, which only a
    // request with a key can repeat.
    if (status < 400) return response
    if (status < 500) return 'not_done'
    return request.headers.has('idempotency-key') ? 'unknown' : response
  }

  /** Sends the request to its owner, and counts it while it is open. */
  #sender(params: OwnedRequest): (node: NodeAddress) => Promise<CallOutcome> {
    const { request, shard, body } = params
    const hasNewKey = !isSafe(request) && !request.headers.has('idempotency-key')
    // Kept by the request: it may be answered here later.
    if (hasNewKey) request.headers.set('Idempotency-Key', `${OPERATION_PREFIX}${crypto.randomUUID()}`)
    const send = this.#options.calls.sender(params, hasNewKey)
    const feeds = isFeed(request) ? 1 : 0
    const count = (change: 1 | -1) => {
      this.#open.add(shard, change)
      this.#openFeeds += feeds * change
    }
    const onEnd = () => count(-1)
    const { tracer } = this.#options
    let parent = traceparentIn(request)
    return async (node) => {
      // While it arrives, the connection may be closed for being idle.
      const bytes = isSafe(request) ? null : await body.bytes()
      count(1)
      if (tracer === null || tracer === undefined) return send(node, bytes, onEnd)
      const span = tracer.start('hop', parent)
      // Further attempts belong to the same trace.
      parent ??= span.traceparent
      request.headers.set('traceparent', span.traceparent)
      const outcome = await send(node, bytes, onEnd)
      const attributes = { 'nightledger.owner': node.id, 'nightledger.outcome': outcome.kind }
      span.end({ attributes, isError: outcome.kind !== 'answered' })
      return outcome
    }
  }
}

/**
 * A client that has sent no key of its own learns nothing of ours. For it, a repetition is the first answer: it must not be one without the
 * secret that is shown only once.
 */
export async function withoutOurKey({ headers }: Request, response: Response, requestId: string): Promise<Response> {
  const isOurs = headers.get('idempotency-key')?.startsWith(OPERATION_PREFIX) === true
  if (!isOurs || !response.headers.has(REPLAYED_HEADER)) return response
  const made: unknown = await response
    .clone()
    .json()
    .catch(() => null)
  const { secret, invitation } = (made ?? {}) as { secret?: unknown; invitation?: { link?: unknown } }
  if (typeof made === 'object' && made !== null && (secret === null || invitation?.link === null))
    return secretLost(made, requestId)
  response.headers.delete(REPLAYED_HEADER)
  return response
}
