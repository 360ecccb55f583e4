/**
 * The way of every request into a node.
 *
 * - C8 A request makes one hop at most: one that comes from another node is answered here or, if this node does not own the shard, with
 *   421. No client sees a 421. One that claims to come from another node, and cannot prove it, is refused at once: passed on, it would come
 *   back from a node with another CLUSTER_SECRET.
 */

import { isNoAnswer, noAnswerNotice } from '../../http/answer.ts'
import { markNewKey } from '../../http/idempotent-writes.ts'
import { requestIdOf, targetOf } from '../../http/request.ts'
import type { Answering } from '../../http/server/served-routes.ts'
import type { EntryStats } from '../cluster-status.ts'
import { hopRefused, notOwner, type Unanswered, unanswered } from './entry-answers.ts'
import { HOLD_MS_MAX, Holding } from './holding.ts'
import type { Hop, ListenerName } from './hop.ts'
import { KeptBody } from './kept-body.ts'
import { type EntryListener, isSafe, type NotOwner, type OwnedRequest } from './owner-calls.ts'
import { OwnerRoute, type OwnerRouteOptions, type Undecided, withoutOurKey } from './owner-route.ts'
import { type RequestHome, SESSION_PATH } from './request-home.ts'

interface WrappedListener {
  readonly listener: EntryListener
  readonly any: Answering
  /** By method and path. */
  readonly routes: Map<string, Answering>
}

/** What the process that has sent a request says about it. */
export interface Forwarded extends Hop {
  /** Method and path of its route, which that process has found; null: it is answered by what answers any path. */
  readonly route: string | null
  /** Its idempotency key was made by that process, and is used for the first time. */
  readonly hasNewKey: boolean
}

/** Before the database is asked again for the agency of a request. */
const LOOK_UP_AGAIN_MS = 100

/** A request that came in, before its shard is known. */
type Entered = Omit<OwnedRequest, 'shard' | 'isOperatorSession'>

export class RequestEntry {
  readonly #options: OwnerRouteOptions
  readonly #holding: Holding
  readonly #route: OwnerRoute
  readonly #peers = new WeakMap<Request, string | null>()
  readonly #shards = new WeakMap<Request, number>()
  readonly #counted = { misdirected: 0, unanswered: 0 }
  readonly #listeners = new Map<ListenerName, WrappedListener>()

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
   * @param any answers a request to any path in this process: also one that came in by the same listener of another one
   * @returns `route`: method and path of what `answer` is for, the same in every process; null: it is for any path
   */
  wrap(listener: EntryListener, any: Answering): (answer: Answering, route?: string | null) => Answering {
    const routes = new Map<string, Answering>()
    this.#listeners.set(listener.name, { listener, any, routes })
    return (answer, route = null) => {
      if (route !== null) routes.set(route, answer)
      return (request) => this.#enter(listener, request, answer, route)
    }
  }

  /** The other end of the client's connection, of a request that another node has forwarded; undefined for any other. */
  forwardedPeerOf(request: Request): string | null | undefined {
    return this.#peers.get(request)
  }

  /** The shard of the agency that the request belongs to, or is to create; undefined: none. */
  shardOf(request: Request): number | undefined {
    return this.#shards.get(request)
  }

  #enter(
    listener: EntryListener,
    request: Request,
    answer: Answering,
    route: string | null,
  ): Response | Promise<Response> {
    const hop = this.#options.calls.hopOf(request)
    if (hop === 'forged') return this.#signed(hopRefused(this.#requestIdOf(request)))
    if (hop !== null) return this.#fromNode(listener, request, answer, hop)
    const body = new KeptBody(request)
    const home = listener.homes.of(request, body)
    const entered = { listener, request, answer, route, body }
    if (!(home instanceof Promise)) return this.#at(entered, home)
    const response = this.#lookedUp(entered, home)
    return isSignIn(request) ? response.then((made) => this.#endFormerSession(listener, request, made)) : response
  }

  async #lookedUp(entered: Entered, looking: Promise<RequestHome>): Promise<Response> {
    const { listener, request, body } = entered
    const patience = this.#holding.patience()
    for (let home = looking; ; home = Promise.resolve(listener.homes.of(request, body))) {
      const found = await home.catch(() => null)
      if (found !== null) return this.#at(entered, found)
      const waited = await this.#holding.wait({ shard: null, client: request.signal }, patience, LOOK_UP_AGAIN_MS)
      if (waited !== 'waited') return this.#unanswered('database', request)
    }
  }

  #at(entered: Entered, { shard, isOperatorSession }: RequestHome): Response | Promise<Response> {
    const { request, answer, body } = entered
    if (shard === null) {
      if (isOperatorSession || body.isRead) return this.#anywhere(request, answer, body, isOperatorSession)
      const response = answer(request)
      return response instanceof Promise ? response.then((made) => this.#signed(made)) : this.#signed(response)
    }
    const params = { ...entered, shard, isOperatorSession }
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
    const came = this.#listeners.get(hop.listener)
    const to = hop.listener === listener.name ? { listener, answer } : { listener, answer: came?.any ?? answer }
    const answered = await this.#forwarded({ ...to, request, body: new KeptBody(request), route: null }, hop)
    return answered instanceof Response ? this.#signed(answered) : notOwner(this.#options.owners.self, answered)
  }

  /**
   * Answers what another process has sent here in another way than by HTTP (C8). At once, if the route does.
   * @param request with its body, and the headers that the client has sent
   */
  receive(
    request: Request,
    { route, hasNewKey, ...hop }: Forwarded,
  ): Response | NotOwner | Promise<Response | NotOwner> {
    const wrapped = this.#listeners.get(hop.listener)
    if (wrapped === undefined) return { kind: 'not_owner', owner: null, isDoubtful: false }
    const { listener, any, routes } = wrapped
    if (hasNewKey) markNewKey(request)
    const answer = (route === null ? undefined : routes.get(route)) ?? any
    return this.#forwarded({ listener, answer, request, body: new KeptBody(request), route: null }, hop)
  }

  #forwarded(entered: Entered, { shard, peer }: Hop): Response | NotOwner | Promise<Response | NotOwner> {
    const { request, answer } = entered
    this.#peers.set(request, peer)
    if (!isSafe(request)) this.#shards.set(request, shard)
    const { owners, termOf } = this.#options
    if (!isSafe(request) || mayHaveSession(request) || owners.ownerOf(shard) !== 'self')
      return this.#forwardedSlowly({ ...entered, shard })
    // The fast path, as of a request that came in here.
    const params = { ...entered, shard, isOperatorSession: false }
    const term = termOf(shard)
    const response = answer(request)
    if (response instanceof Promise)
      return response.then((made) => this.#orNotOwner(shard, this.#route.ifDecided(params, made, term)))
    return this.#orNotOwner(shard, this.#route.ifDecided(params, response, term))
  }

  async #forwardedSlowly(entered: Entered & { readonly shard: number }): Promise<Response | NotOwner> {
    const { listener, request, shard } = entered
    const { owners } = this.#options
    const params = { ...entered, isOperatorSession: await this.#isOperatorSession(listener, request) }
    const patience = this.#holding.patience()
    let owner = owners.ownerOf(shard)
    const waiting = { shard, client: request.signal }
    while (owner === null && (await this.#holding.wait(waiting, patience, HOLD_MS_MAX)) === 'waited')
      owner = owners.ownerOf(shard)
    return this.#orNotOwner(shard, owner === 'self' ? await this.#route.here(params) : 'not_done')
  }

  #orNotOwner(shard: number, decided: Response | Undecided): Response | NotOwner {
    if (decided instanceof Response) return isNoAnswer(decided) ? noAnswerNotice() : decided
    this.#counted.misdirected += 1
    const next = this.#options.owners.ownerOf(shard)
    return { kind: 'not_owner', owner: next === 'self' ? null : next, isDoubtful: decided === 'unknown' }
  }

  async #isOperatorSession({ homes }: EntryListener, request: Request): Promise<boolean> {
    if (!mayHaveSession(request)) return false
    const home = await Promise.resolve(homes.ofSession(request)).catch(() => null)
    return home?.isOperatorSession ?? false
  }

  /** A session of the same browser ends with the sign-in (src/api/portal/session.ts), but may belong to another node. */
  #endFormerSession(listener: EntryListener, request: Request, signedIn: Response): Response {
    const any = this.#listeners.get(listener.name)?.any
    if (!signedIn.ok || !request.headers.has('cookie') || any === undefined) return signedIn
    const headers = new Headers(request.headers)
    headers.delete('content-length')
    const detached = {
      ...listener,
      peerOf: () => null,
      connectionOf: () => null,
      withoutIdleTimeout: <T>(_: Request, run: () => Promise<T>) => run(),
    }
    const signOut = new Request(`http://localhost${SESSION_PATH}`, { method: 'DELETE', headers })
    // If it fails, that session ends when it is not used.
    void Promise.resolve(this.#enter(detached, signOut, any, null)).catch(() => {})
    return signedIn
  }

  #unanswered(why: Unanswered, request: Request): Response {
    // A client that has gone gets no answer because of that, and an operator need not know.
    if (why !== 'refused' && !request.signal.aborted) this.#counted.unanswered += 1
    return this.#signed(unanswered(why, this.#requestIdOf(request), request))
  }

  #requestIdOf({ headers }: Request): string {
    return requestIdOf(headers.get('x-request-id'), this.#options.newId)
  }

  #signed(response: Response): Response {
    return this.#options.calls.signed(response)
  }
}

function mayHaveSession({ headers }: Request): boolean {
  return !headers.has('authorization') && headers.has('cookie')
}

function isSignIn(request: Request): boolean {
  return request.method === 'POST' && targetOf(request.url).path === SESSION_PATH
}
