/**
 * The way of every request into a node.
 *
 * - C8 A request makes one hop at most: one that comes from another node is answered here or, if this node does not own the shard, with
 *   421. No client sees a 421. One that claims to come from another node, and cannot prove it, is refused at once: passed on, it would come
 *   back from a node with another CLUSTER_SECRET.
 */

import { requestIdOf, targetOf } from '../../http/request.ts'
import type { Answering } from '../../http/server/served-routes.ts'
import type { EntryStats } from '../cluster-status.ts'
import { hopRefused, notOwner, type Unanswered, unanswered } from './entry-answers.ts'
import { HOLD_MS_MAX, Holding } from './holding.ts'
import { HOP_HEADER, type Hop, type ListenerName, SERVED_BY_HEADER } from './hop.ts'
import { KeptBody } from './kept-body.ts'
import {
  type EntryListener,
  isSafe,
  type OwnedRequest,
  OwnerRoute,
  type OwnerRouteOptions,
  type Undecided,
  withoutOurKey,
} from './owner-route.ts'
import { type RequestHome, SESSION_PATH } from './request-home.ts'

/** Before the database is asked again for the agency of a request. */
const LOOK_UP_AGAIN_MS = 100

export class RequestEntry {
  readonly #options: OwnerRouteOptions
  readonly #holding: Holding
  readonly #route: OwnerRoute
  readonly #peers = new WeakMap<Request, string | null>()
  readonly #shards = new WeakMap<Request, number>()
  readonly #counted = { misdirected: 0, unanswered: 0 }
  readonly #answers = new Map<ListenerName, Answering>()

  constructor(options: OwnerRouteOptions) {
    this.#options = options
    this.#holding = new Holding(options.owners, options.clock)
    this.#route = new OwnerRoute(options, this.#holding)
  }

  get stats(): EntryStats {
    const { heldEver, held } = this.#holding
    return { ...this.#counted, ...this.#route.counted, held: heldEver, holding: held }
  }

  /**
   * Whatever a listener answers with goes through what this returns.
   * @param any answers a request to any path in this node: also one that came in by the same listener of another node
   */
  wrap(listener: EntryListener, any: Answering): (answer: Answering) => Answering {
    this.#answers.set(listener.name, any)
    return (answer) => (request) => this.#enter(listener, request, answer)
  }

  /** The other end of the client's connection, of a request that another node has forwarded; undefined for any other. */
  forwardedPeerOf(request: Request): string | null | undefined {
    return this.#peers.get(request)
  }

  /** The shard of the agency that the request belongs to, or is to create; undefined: none. */
  shardOf(request: Request): number | undefined {
    return this.#shards.get(request)
  }

  #enter(listener: EntryListener, request: Request, answer: Answering): Response | Promise<Response> {
    const hopText = request.headers.get(HOP_HEADER)
    if (hopText !== null) {
      request.headers.delete(HOP_HEADER)
      const hop = this.#options.hops.read(hopText, request)
      return hop === null
        ? this.#signed(hopRefused(this.#requestIdOf(request)))
        : this.#fromNode(listener, request, answer, hop)
    }
    const body = new KeptBody(request)
    const home = listener.homes.of(request, body)
    if (!(home instanceof Promise)) return this.#at(listener, request, answer, body, home)
    const response = this.#lookedUp(listener, request, answer, body, home)
    return isSignIn(request) ? response.then((made) => this.#endFormerSession(listener, request, made)) : response
  }

  async #lookedUp(
    listener: EntryListener,
    request: Request,
    answer: Answering,
    body: KeptBody,
    looking: Promise<RequestHome>,
  ): Promise<Response> {
    const patience = this.#holding.patience()
    for (let home = looking; ; home = Promise.resolve(listener.homes.of(request, body))) {
      const found = await home.catch(() => null)
      if (found !== null) return this.#at(listener, request, answer, body, found)
      const waited = await this.#holding.wait({ shard: null, client: request.signal }, patience, LOOK_UP_AGAIN_MS)
      if (waited !== 'waited') return this.#unanswered('database', request)
    }
  }

  #at(
    listener: EntryListener,
    request: Request,
    answer: Answering,
    body: KeptBody,
    { shard, isOperatorSession }: RequestHome,
  ): Response | Promise<Response> {
    if (shard === null) {
      if (isOperatorSession || body.isRead) return this.#anywhere(request, answer, body, isOperatorSession)
      const response = answer(request)
      return response instanceof Promise ? response.then((made) => this.#signed(made)) : this.#signed(response)
    }
    const params = { listener, request, answer, shard, isOperatorSession, body }
    const { owners, termOf } = this.#options
    if (!isSafe(request) || isOperatorSession || owners.ownerOf(shard) !== 'self') return this.#toOwner(params)
    // The fast path: a read with nothing to wait for.
    const term = termOf(shard)
    const response = answer(request)
    if (response instanceof Promise)
      return this.#toOwner(
        params,
        response.then((made) => this.#route.ifDecided(params, made, term)),
      )
    const decided = this.#route.ifDecided(params, response, term)
    return decided instanceof Response ? this.#signed(decided) : this.#toOwner(params)
  }

  async #toOwner(params: OwnedRequest, made: Promise<Response | Undecided> | null = null): Promise<Response> {
    const { request, shard } = params
    if (!isSafe(request)) this.#shards.set(request, shard)
    const answer = await this.#route.answer(params, made)
    if (!(answer instanceof Response)) return this.#unanswered(answer, request)
    return this.#signed(isSafe(request) ? answer : await withoutOurKey(request, answer, this.#requestIdOf(request)))
  }

  /** What any node answers, with something to be read first. */
  async #anywhere(request: Request, answer: Answering, body: KeptBody, hasSession: boolean): Promise<Response> {
    try {
      if (hasSession) await this.#options.refreshSession(request)
      if (body.isRead) await body.lend()
    } catch {
      return this.#unanswered('database', request)
    }
    return this.#signed(await answer(request))
  }

  async #fromNode(listener: EntryListener, request: Request, answer: Answering, hop: Hop): Promise<Response> {
    const { owners } = this.#options
    const { shard } = hop
    this.#peers.set(request, hop.peer)
    this.#shards.set(request, shard)
    const params = {
      listener,
      request,
      shard,
      body: new KeptBody(request),
      answer: hop.listener === listener.name ? answer : (this.#answers.get(hop.listener) ?? answer),
      isOperatorSession: await this.#isOperatorSession(listener, request),
    }
    const patience = this.#holding.patience()
    let owner = owners.ownerOf(shard)
    const waiting = { shard, client: request.signal }
    while (owner === null && (await this.#holding.wait(waiting, patience, HOLD_MS_MAX)) === 'waited')
      owner = owners.ownerOf(shard)
    const response = owner === 'self' ? await this.#route.here(params) : 'not_done'
    if (response instanceof Response) return this.#signed(response)
    this.#counted.misdirected += 1
    const next = owners.ownerOf(shard)
    return notOwner(owners.self, next === 'self' ? null : next, { isDoubtful: response === 'unknown' })
  }

  async #isOperatorSession({ homes }: EntryListener, request: Request): Promise<boolean> {
    if (request.headers.has('authorization') || !request.headers.has('cookie')) return false
    const home = await Promise.resolve(homes.ofSession(request)).catch(() => null)
    return home?.isOperatorSession ?? false
  }

  /** A session of the same browser ends with the sign-in (src/api/portal/session.ts), but may belong to another node. */
  #endFormerSession(listener: EntryListener, request: Request, signedIn: Response): Response {
    const any = this.#answers.get(listener.name)
    if (!signedIn.ok || !request.headers.has('cookie') || any === undefined) return signedIn
    const headers = new Headers(request.headers)
    headers.delete('content-length')
    const detached = {
      ...listener,
      peerOf: () => null,
      withoutIdleTimeout: <T>(_: Request, run: () => Promise<T>) => run(),
    }
    const signOut = new Request(`http://localhost${SESSION_PATH}`, { method: 'DELETE', headers })
    // If it fails, that session ends when it is not used.
    void Promise.resolve(this.#enter(detached, signOut, any)).catch(() => {})
    return signedIn
  }

  #unanswered(why: Unanswered, request: Request): Response {
    // A client that has gone gets no answer because of that, and an operator need not know.
    if (why !== 'refused' && !request.signal.aborted) this.#counted.unanswered += 1
    return this.#signed(unanswered(why, this.#requestIdOf(request)))
  }

  #requestIdOf({ headers }: Request): string {
    return requestIdOf(headers.get('x-request-id'), this.#options.newId)
  }

  /** An answer that another node has made is signed already. */
  #signed(response: Response): Response {
    if (!response.headers.has(SERVED_BY_HEADER)) response.headers.set(SERVED_BY_HEADER, this.#options.owners.self.id)
    return response
  }
}

function isSignIn(request: Request): boolean {
  return request.method === 'POST' && targetOf(request.url).path === SESSION_PATH
}
