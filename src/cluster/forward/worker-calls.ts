/** Requests to other workers of this machine: one connection to each, made when it is needed. */
import { SOCKET_URL_PREFIX } from '../cluster-keys.ts'
import { SERVED_BY_HEADER } from './hop.ts'
import { MisplacedConnections } from './misplaced-connections.ts'
import { type CallContext, type OwnedRequest, type OwnerCalls, type SendToOwner, UNKNOWN } from './owner-calls.ts'
import { WorkerLink } from './worker-link.ts'

interface WorkerCallsOptions extends CallContext {
  /** Whether answers say which worker has made them, for a proxy that learns it. */
  readonly namesOwner: boolean
}

export class WorkerCalls implements OwnerCalls {
  readonly #options: WorkerCallsOptions
  /** By the path of the socket. */
  readonly #links = new Map<string, WorkerLink>()
  readonly #misplaced = new MisplacedConnections()
  #isClosed = false

  constructor(options: WorkerCallsOptions) {
    this.#options = options
    options.leaving.addEventListener('abort', () => {
      for (const link of this.#links.values()) link.leave()
    })
  }

  sender(params: OwnedRequest, hasNewKey: boolean): SendToOwner {
    const { listener, request, shard } = params
    let isUsed = !hasNewKey
    return async (to, body, onEnd) => {
      const link = this.#linkTo(to.url)
      if (link === null) {
        onEnd()
        return UNKNOWN
      }
      // Only the first owner that is asked need not look for an answer (I3). Its copy of the request cannot be executed after a later one: before
      // that is sent, it is cancelled, or its connection closed.
      const isFirstUse = !isUsed
      isUsed = true
      const outcome = await link.call(params, { to: to.id, body, hasNewKey: isFirstUse, onEnd })
      if (outcome.kind !== 'answered') return outcome
      this.#name(to.id, outcome.response)
      if (this.#misplaced.forwarded(() => listener.connectionOf(request), shard))
        outcome.response.headers.set('Connection', 'close')
      return outcome
    }
  }

  /** Workers use no header for this, and what a client says in it means nothing. */
  hopOf(): null {
    return null
  }

  /** Made here, unless another worker is named already. */
  signed(response: Response): Response {
    if (!response.headers.has(SERVED_BY_HEADER)) this.#name(this.#options.owners.self.id, response)
    return response
  }

  /** What is still open is not waited for. */
  close(): void {
    this.#isClosed = true
    for (const link of [...this.#links.values()]) link.close()
  }

  #name(worker: string, { headers }: Response): void {
    if (this.#options.namesOwner) headers.set(SERVED_BY_HEADER, worker)
  }

  #linkTo(url: string): WorkerLink | null {
    if (this.#isClosed || !url.startsWith(SOCKET_URL_PREFIX)) return null
    const path = url.slice(SOCKET_URL_PREFIX.length)
    const open = this.#links.get(path)
    if (open !== undefined) return open
    const link: WorkerLink = new WorkerLink(path, {
      ...this.#options,
      onClosed: () => {
        if (this.#links.get(path) === link) this.#links.delete(path)
      },
    })
    this.#links.set(path, link)
    return link
  }
}
