/**
 * The way of every request into a node: to the node that owns the request's shard, which may be this one.
 *
 * - C5 While a shard has no owner, its requests wait here, bounded in number and time, and then go on to the new one.
 * - C6 A shard is served here only while `Owners` says 'self', and only if it was owned without a break until the answer was made.
 * - C8 A forwarded request makes one hop. A forwarded write has an idempotency key, its client's or one of this request's own, so it can
 *   be sent again, to the next owner too, when its outcome is not known. A node that does not own the shard answers 421, never a client.
 */
import type { NodeAddress, Owners } from '../../cluster/owners.ts'
import type { ShardHost } from '../../cluster/shard-host.ts'
import type { Clock } from '../../lib/clock.ts'
import type { IdSource } from '../../lib/ids.ts'
import { requestIdOf } from '../http/request-id.ts'
import type { Answering } from '../server/served-routes.ts'
import { type Home, OPERATOR_SHARD } from './agency-directory.ts'
import { notOwner, unanswered } from './entry-answers.ts'
import { HOLD_MS_MAX, Holding } from './holding.ts'
import { HOP_HEADER, type Hop, type Hops, type ListenerName, NOT_OWNER_STATUS, SERVED_BY_HEADER } from './hop.ts'
import { KeptBody } from './kept-body.ts'
import { type CallOutcome, callNode, forwardedHeaders } from './node-call.ts'
import { ownerBound } from './owner-bound.ts'
import type { RequestHome, RequestHomes } from './request-home.ts'
import { ShardWatch } from './shard-watch.ts'

/** A listener as the entry uses it. */
export interface EntryListener {
  readonly name: ListenerName
  readonly homes: RequestHomes
  peerOf(request: Request): string | null
  /** Settles as `answer` does; until then the connection of `request` is not closed for being idle. */
  withoutIdleTimeout<T>(request: Request, answer: () => Promise<T>): Promise<T>
}

export interface EntryOptions {
  readonly owners: Owners
  readonly termOf: ShardHost['termOf']
  readonly hops: Hops
  readonly clock: Clock
  readonly newId: IdSource
  /** Reads the operator's session in the request's cookie as it is stored: another node writes it. */
  refreshSession(request: Request): Promise<void>
}

/** Since the start. */
export interface EntryStats {
  /** Answered by another node. */
  readonly forwarded: number
  /** Sent once more, because the owner had changed or had not answered. */
  readonly sentAgain: number
  /** Came from another node, and were answered 421. */
  readonly misdirected: number
  /** Had to wait for an owner. */
  readonly held: number
  /** Answered 500, because no owner could be asked in time. */
  readonly unanswered: number
  /** Wait now. */
  readonly holding: number
}

interface Asked {
  readonly listener: EntryListener
  readonly request: Request
  readonly answer: Answering
  readonly home: Home
  readonly body: KeptBody
  /** A refusal made here is not taken for the owner's if the shard was lost meanwhile: the request can be sent on. */
  readonly isRepeatable: boolean
}

/** Before a node that has not answered is asked again. */
const AGAIN_MS = 50
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD'])
/** Of the keys that forwarded writes without one get. */
const OPERATION_PREFIX = 'nightledger-op-'

export class RequestEntry {
  readonly #options: EntryOptions
  readonly #holding: Holding
  readonly #watch: ShardWatch
  readonly #peers = new WeakMap<Request, string | null>()
  readonly #shards = new WeakMap<Request, number>()
  readonly #counted = { forwarded: 0, sentAgain: 0, misdirected: 0, unanswered: 0 }
  #adminAnswer: Answering | null = null

  constructor(options: EntryOptions) {
    this.#options = options
    this.#holding = new Holding(options.owners, options.clock)
    this.#watch = new ShardWatch(options.owners)
  }

  get stats(): EntryStats {
    return { ...this.#counted, held: this.#holding.heldEver, holding: this.#holding.held }
  }

  /** Whatever a listener answers with goes through this. */
  wrap(listener: EntryListener): (answer: Answering) => Answering {
    return (answer) => (request) => this.#enter(listener, request, answer)
  }

  /** What answers requests that another node's admin listener has forwarded: they come in by PORT. */
  setAdminAnswer(answer: Answering): void {
    this.#adminAnswer = answer
  }

  /** The client's end of the connection of a request that another node has forwarded; undefined for any other. */
  forwardedPeerOf(request: Request): string | null | undefined {
    return this.#peers.get(request)
  }

  /** The shard that the agency which the request creates must have; undefined: any. */
  shardOfNewAgency(request: Request): number | undefined {
    return this.#shards.get(request)
  }

  #enter(listener: EntryListener, request: Request, answer: Answering): Response | Promise<Response> {
    const hopText = request.headers.get(HOP_HEADER)
    if (hopText !== null) {
      request.headers.delete(HOP_HEADER)
      const hop = this.#options.hops.read(hopText)
      if (hop !== null) return this.#fromNode(listener, request, answer, hop)
    }
    const body = new KeptBody(request)
    const home = listener.homes.of(request, body)
    if (home instanceof Promise) return this.#lookedUp(listener, request, answer, body, home)
    return this.#at(listener, request, answer, body, home)
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
      // Whoever owns it needs the database too.
      const waited = await this.#holding.wait(OPERATOR_SHARD, patience, AGAIN_MS)
      if (waited !== 'waited') return this.#unanswered('database', request)
    }
  }

  #at(
    listener: EntryListener,
    request: Request,
    answer: Answering,
    body: KeptBody,
    home: RequestHome,
  ): Response | Promise<Response> {
    if (home === 'here') {
      if (body.isRead) body.lendDeclared()
      const response = answer(request)
      return response instanceof Promise ? response.then((settled) => this.#signed(settled)) : this.#signed(response)
    }
    const isSafe = SAFE_METHODS.has(request.method)
    const { shard, isOperatorSession } = home
    const asked = {
      listener,
      request,
      answer,
      home,
      body,
      isRepeatable: isSafe || request.headers.has('idempotency-key'),
    }
    // The fast path: nothing to wait for.
    if (isSafe && !isOperatorSession && this.#options.owners.ownerOf(shard) === 'self') {
      const term = this.#options.termOf(shard)
      const response = answer(request)
      if (!(response instanceof Promise) && this.#isDecided(asked, response, term)) return this.#signed(response)
      return this.#route(
        asked,
        Promise.resolve(response).then((made) => (this.#isDecided(asked, made, term) ? made : null)),
      )
    }
    return this.#route(asked)
  }

  /** @param first what is answered here already: null if that is not the owner's answer */
  async #route(asked: Asked, first: Promise<Response | null> | null = null): Promise<Response> {
    const { listener, request, home } = asked
    const { owners } = this.#options
    const patience = this.#holding.patience()
    const call = this.#caller(asked)
    let isDoubtful = false
    let made = first
    let told: NodeAddress | null = null
    let isTold = false
    for (let sent = 0; ; ) {
      const owner: ReturnType<Owners['ownerOf']> = told ?? (made === null ? owners.ownerOf(home.shard) : 'self')
      told = null
      if (owner === 'self') {
        const response = await (made ?? this.#here(asked))
        made = null
        if (response !== null) return this.#signed(response)
      } else if (owner !== null) {
        if (sent++ > 0) this.#counted.sentAgain += 1
        const outcome: CallOutcome = await listener.withoutIdleTimeout(request, () => call(owner))
        if (outcome.kind === 'answered') {
          this.#counted.forwarded += 1
          return outcome.response
        }
        if (outcome.kind === 'unknown') isDoubtful = true
        else if (!isTold && outcome.owner !== null && outcome.owner.id !== owners.self.id) {
          // This node may see less of the cluster than the other. Once: two that name each other would do so for ever.
          told = outcome.owner
          isTold = true
          continue
        }
      }
      if (request.signal.aborted) return this.#unanswered('no_owner', request)
      const waited = await this.#holding.wait(home.shard, patience, owner === null ? HOLD_MS_MAX : AGAIN_MS)
      if (waited !== 'waited')
        return this.#unanswered(isDoubtful && !SAFE_METHODS.has(request.method) ? 'unknown' : waited, request)
    }
  }

  /** Sends the request to a node: the same every time, so that a write is made once. */
  #caller({ listener, request, home, body }: Asked): (node: NodeAddress) => Promise<CallOutcome> {
    let headers: Headers | null = null
    const isSafe = SAFE_METHODS.has(request.method)
    const isOurKey = !isSafe && !request.headers.has('idempotency-key')
    return async (node) => {
      const { hops, newId, owners, clock } = this.#options
      if (headers === null) {
        const hop = hops.text({ shard: home.shard, listener: listener.name, peer: listener.peerOf(request) })
        headers = forwardedHeaders(request, hop, requestIdOf(request.headers.get('x-request-id'), newId))
        if (isOurKey) headers.set('Idempotency-Key', `${OPERATION_PREFIX}${crypto.randomUUID()}`)
      }
      const bytes = isSafe ? null : await body.bytes().catch(() => undefined)
      // The client has gone.
      if (bytes === undefined) return { kind: 'unknown' }
      const sent = { method: request.method, url: request.url, headers, body: bytes }
      const bound = {
        owners,
        clock,
        watch: this.#watch,
        node,
        shard: home.shard,
        client: isSafe ? request.signal : null,
      }
      const outcome = await ownerBound(bound, (signal) => callNode(node, { ...sent, signal }))
      if (isOurKey && outcome.kind === 'answered') outcome.response.headers.delete('Idempotency-Replayed')
      return outcome
    }
  }

  /** Null: the shard was lost before the request was decided, or is not here. Nothing was done then. */
  async #here(asked: Asked): Promise<Response | null> {
    const { request, home, body, answer } = asked
    const { owners, termOf, refreshSession } = this.#options
    const term = termOf(home.shard)
    try {
      if (home.isOperatorSession && owners.ownerOf(OPERATOR_SHARD) !== 'self') await refreshSession(request)
      if (!SAFE_METHODS.has(request.method)) await body.lend()
    } catch {
      // The database is away, or the client: it is tried again while there is time.
      return null
    }
    this.#shards.set(request, home.shard)
    const response = await answer(request)
    return this.#isDecided(asked, response, term) ? response : null
  }

  #isDecided({ home, request, isRepeatable }: Asked, { status }: Response, term: number | null): boolean {
    if (status === NOT_OWNER_STATUS) return false
    if (this.#options.termOf(home.shard) === term) return true
    if (SAFE_METHODS.has(request.method)) return false
    // What is acknowledged is durable. A refusal may be due to what had been forgotten already; a failure may be due to the loss.
    return status < 400 || (status >= 500 && !isRepeatable)
  }

  async #fromNode(listener: EntryListener, request: Request, answer: Answering, hop: Hop): Promise<Response> {
    const { owners } = this.#options
    const { shard } = hop
    this.#peers.set(request, hop.peer)
    const body = new KeptBody(request)
    const isOperatorSession = await this.#isOperatorSession(listener, request)
    const chosen = hop.listener === 'admin' ? (this.#adminAnswer ?? answer) : answer
    const asked = { listener, request, answer: chosen, home: { shard, isOperatorSession }, body, isRepeatable: true }
    const patience = this.#holding.patience()
    let owner = owners.ownerOf(shard)
    while (owner === null && (await this.#holding.wait(shard, patience, HOLD_MS_MAX)) === 'waited')
      owner = owners.ownerOf(shard)
    const response = owner === 'self' ? await this.#here(asked) : null
    if (response !== null) return this.#signed(response)
    this.#counted.misdirected += 1
    const now = owners.ownerOf(shard)
    return notOwner(owners.self, now === 'self' ? null : now)
  }

  async #isOperatorSession({ homes }: EntryListener, request: Request): Promise<boolean> {
    if (request.headers.has('authorization') || !request.headers.has('cookie')) return false
    const home = await Promise.resolve(homes.ofSession(request)).catch((): RequestHome => 'here')
    return home !== 'here' && home.isOperatorSession
  }

  #unanswered(why: Parameters<typeof unanswered>[0], request: Request): Response {
    this.#counted.unanswered += 1
    return this.#signed(unanswered(why, requestIdOf(request.headers.get('x-request-id'), this.#options.newId)))
  }

  #signed(response: Response): Response {
    response.headers.set(SERVED_BY_HEADER, this.#options.owners.self.id)
    return response
  }
}
