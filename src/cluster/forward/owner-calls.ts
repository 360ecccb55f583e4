/** How a request reaches the process that owns its shard: the port, of which `NodeCalls` and `WorkerCalls` are the two ways. */
import type { Answering } from '../../http/server/served-routes.ts'
import type { Clock } from '../../lib/clock.ts'
import type { NodeAddress, Owners } from '../shard-owners.ts'
import type { Hop, ListenerName } from './hop.ts'
import type { Body, KeptBody } from './kept-body.ts'
import type { RequestHomes } from './request-home.ts'

/** A listener as requests come in by it. */
export interface EntryListener {
  readonly name: ListenerName
  readonly homes: RequestHomes
  peerOf(request: Request): string | null
  /** The client's connection, for comparison; null: it is closed, or another process's. */
  connectionOf(request: Request): string | null
  /** Settles as `answer` does; until then the connection of `request` is not closed for being idle. */
  withoutIdleTimeout<T>(request: Request, answer: () => Promise<T>): Promise<T>
}

/** A request on its way. */
export interface OwnedRequest {
  readonly listener: EntryListener
  readonly request: Request
  /** Answers it in this process. */
  readonly answer: Answering
  /** Method and path of the route that `answer` serves; null: it serves any path. */
  readonly route: string | null
  readonly shard: number
  readonly isOperatorSession: boolean
  readonly body: KeptBody
}

/** The owner does not decide the shard any more: nothing was done, unless `isDoubtful`. `owner`: who does, if it is known. */
export interface NotOwner {
  readonly kind: 'not_owner'
  readonly owner: NodeAddress | null
  readonly isDoubtful: boolean
}

/**
 * - `answered`: the owner's answer. `isStream`: its body is still coming.
 * - `refused`: the process does not know our secret: nothing was done.
 * - `full`: too much waits to be sent already: nothing was done.
 * - `unknown`: no connection, no answer, or half of one, or the call was ended: something may have been done.
 */
export type CallOutcome =
  | { readonly kind: 'answered'; readonly response: Response; readonly isStream: boolean }
  | NotOwner
  | { readonly kind: 'refused' }
  | { readonly kind: 'full' }
  | { readonly kind: 'unknown' }

export const UNKNOWN: CallOutcome = { kind: 'unknown' }

/**
 * Sends a request to a process: the same every time, so that a write is made once. Never rejects. Gives up when it is no use to wait any
 * longer: the shard has another owner, or has had none for as long as a request may wait, or the client of a read has gone.
 * @param body null: the method has none
 * @param onEnd called once, when nothing of the call is open any more: of a stream, when it has ended
 */
export type SendToOwner = (to: NodeAddress, body: Body | null, onEnd: () => void) => Promise<CallOutcome>

export interface OwnerCalls {
  /**
   * @param params with its idempotency key already, if it is a write
   * @param hasNewKey that key was made for this request: nobody has used it before
   */
  sender(params: OwnedRequest, hasNewKey: boolean): SendToOwner
  /** What another process says of the request that it has sent by HTTP; null: a client has sent it. */
  hopOf(request: Request): Hop | 'forged' | null
  /** The answer as it leaves this process. */
  signed(response: Response): Response
}

/** What calls look at while they are open. */
export interface CallContext {
  readonly owners: Owners
  readonly clock: Clock
  /** Aborted when this process stops: what waits elsewhere for something to happen is answered with what there is. */
  readonly leaving: AbortSignal
}

/** How long a process may take to answer: longer than any request waits, for changes or for the database. */
export const ANSWER_MS_MAX = 45_000
/** A shard is given up only when its requests are answered: their answers may still be on their way. */
export const GRACE_MS = 100
/** Of a request for changes (docs/partner-additions.md#4-get-changes-nothing-missed). */
const WAIT = /([?&])wait=\d+/
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

export function isSafe({ method }: Pick<Request, 'method'>): boolean {
  return SAFE_METHODS.has(method)
}

/** A read that waits until there are changes. */
export function isWait(request: Request): boolean {
  return isSafe(request) && request.url.includes('wait=') && WAIT.test(request.url)
}

/** It waits for changes, or asks for a stream of them. */
export function isFeed(request: Request): boolean {
  return isWait(request) || (isSafe(request) && request.headers.get('accept')?.includes('text/event-stream') === true)
}

/** Whether a route is one of the partner API, which never looks at the address of its client. */
export function isPartnerRoute(route: string | null): boolean {
  return route?.includes(' /partner/v1/') === true
}

export function withoutWait(url: string): string {
  return url.replace(WAIT, '$1wait=0')
}
