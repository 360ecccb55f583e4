/**
 * The listening socket. It is opened before anything else, so that a process that cannot listen fails while another process
 * still serves, and stays open until the end. The function that answers requests can be replaced; connections stay open.
 */

import { chmodSync, rmSync } from 'node:fs'
import type { AnyElysia } from 'elysia'
import type { Serving } from './drain.ts'
import { type Answering, servedRoutes, unlessRouted } from './served-routes.ts'

/** The service cannot listen on its address. The message says what to do. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
}

/** `isShared`: other processes of this service listen there too, and the kernel divides the connections among them (SO_REUSEPORT). */
export type Address =
  | { readonly host: string; readonly port: number; readonly isShared?: boolean }
  /** The path of a socket. Whoever connects says in PEER_HEADER whose request it is. */
  | { readonly unix: string }

/** The address at the other end of the client's connection, as the process says that has taken the request (src/app/admin-relay.ts). */
export const PEER_HEADER = 'X-Nightledger-Peer'

/** The variables that an address comes from. */
interface AddressVariables {
  readonly host: string
  readonly port: string
}

const REASONS: Record<string, (variables: AddressVariables) => string> = {
  EADDRINUSE: (set) =>
    `another program is listening there, perhaps another nightledger. Stop it, or set ${set.port} to a different port`,
  EACCES: (set) => `permission denied for this port. Set ${set.port} to a port above 1023`,
  EADDRNOTAVAIL: (set) =>
    `this machine does not have that address. Set ${set.host} to one of its addresses, or to 0.0.0.0`,
}

function listenError(address: Address, variables: AddressVariables, cause: unknown): ListenError {
  if ('unix' in address) return new ListenError(`Cannot listen on the socket ${address.unix}: ${cause}.`, { cause })
  const { host, port } = address
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const reason =
    REASONS[code]?.(variables) ??
    `${cause instanceof Error ? cause.message : cause}. Check ${variables.host} and ${variables.port}`
  return new ListenError(`Cannot listen on ${host}:${port}: ${reason}.`, { cause })
}

/**
 * Settles as `answer` does. Until then the connection of `request` is not closed, however long it is idle. Bun closes
 * others after `idleTimeout`, including those whose request has no answer yet.
 */
export async function withoutIdleTimeout<T>(
  server: Pick<Bun.Server<undefined>, 'timeout'>,
  request: Request,
  answer: () => Promise<T>,
): Promise<T> {
  server.timeout(request, 0)
  try {
    return await answer()
  } finally {
    // Otherwise the connection, kept alive, is never closed.
    server.timeout(request, SERVE_OPTIONS.idleTimeout)
  }
}

/**
 * Bun refuses larger bodies with an empty 413. Our own limit applies first and answers with the contract's body. It goes by
 * `Content-Length`; of a body without one, it reads no more than the limit (src/http/read-request.ts).
 */
const BUN_BODY_BYTES_MAX = Number.MAX_SAFE_INTEGER
const IDLE_TIMEOUT_S = 30

/** How Bun serves, both before and after the service is ready. */
export const SERVE_OPTIONS = {
  development: false,
  // Two services on one port would share its requests, and only one of them may write. Workers of one service do share them.
  reusePort: false,
  maxRequestBodySize: BUN_BODY_BYTES_MAX,
  idleTimeout: IDLE_TIMEOUT_S,
} as const

/**
 * On a socket, the process at the other end is ours, and closes what its client has left. Otherwise Bun closes after 10 s what waits for
 * changes. Its types have no such option there.
 */
const UNTIMED: object = { idleTimeout: 0 }

const VARIABLES: AddressVariables = { host: 'HOST', port: 'PORT' }

/** `path` and `method` of its route, as Bun's router has them; null: it answers whatever has none. */
export type Wrap = (answer: Answering, path: string | null, method: string | null) => Answering

export class Listener implements Serving {
  readonly #address: Address
  readonly #variables: AddressVariables
  #server: Bun.Server<undefined> | null = null
  #fetch: Serving['fetch']

  /**
   * Starts to listen.
   * @param fetch answers every request until `serve` is called
   * @param options.variables named in the error
   * @param options.isLate listens only when `serve` is called: others serve already at this address
   * @throws ListenError when the address cannot be listened on
   */
  constructor(
    address: Address,
    fetch: Serving['fetch'],
    { variables = VARIABLES, isLate = false }: { variables?: AddressVariables; isLate?: boolean } = {},
  ) {
    this.#address = address
    this.#variables = variables
    this.#fetch = fetch
    if (!isLate) this.#listen({ fetch })
  }

  /** Null: it does not listen yet. */
  get server(): Bun.Server<undefined> | null {
    return this.#server
  }

  /** Currently answers a request to any path. */
  get fetch(): Serving['fetch'] {
    return this.#fetch
  }

  /** 0: it does not listen yet, or not on a port. */
  get port(): number {
    return this.#server?.port ?? 0
  }

  /** The address of the other end of a request's connection; null when it is closed. */
  peerOf(request: Request): string | null {
    if ('unix' in this.#address) return request.headers.get(PEER_HEADER)
    return this.#server?.requestIP(request)?.address ?? null
  }

  /** Address and port of the other end of a request's connection; null when it is closed, or that of a process of this service. */
  connectionOf(request: Request): string | null {
    if ('unix' in this.#address) return null
    const peer = this.#server?.requestIP(request) ?? null
    return peer === null ? null : `${peer.address} ${peer.port}`
  }

  /** `withoutIdleTimeout` of a request that came in here. */
  withoutIdleTimeout<T>(request: Request, answer: () => Promise<T>): Promise<T> {
    if (this.#server === null || 'unix' in this.#address) return answer()
    return withoutIdleTimeout(this.#server, request, answer)
  }

  /**
   * `app` answers from the next request on, on every connection.
   * @param wrap what each of its answering functions is replaced by
   */
  serve(app: AnyElysia, wrap?: Wrap): void {
    this.prepare(app, wrap)()
  }

  /** @returns what `serve` does, when all that takes time is done */
  prepare(app: AnyElysia, wrap: Wrap = (answer) => answer): () => void {
    app.compile()
    const fetch = wrap(app.fetch, null, null)
    const served = servedRoutes(app)
    const routes = Object.entries(served).map(([path, methods]) => [
      path,
      Object.fromEntries(Object.entries(methods).map(([method, answer]) => [method, wrap(answer, path, method)])),
    ])
    const options = { routes: Object.fromEntries(routes), fetch: unlessRouted(served, fetch) }
    return () => {
      this.#fetch = fetch
      if (this.#server === null) this.#listen(options)
      else this.#server.reload(options)
    }
  }

  /**
   * Only `fetch` answers from the next request on, on every connection. Requests in progress are not disturbed.
   * @param isDraining the server asks `this.fetch` for each request (drain.ts), and is left as it is
   */
  answerWith(fetch: Serving['fetch'], { isDraining }: { isDraining: boolean }): void {
    this.#fetch = fetch
    if (!isDraining) this.#server?.reload({ routes: {}, fetch })
  }

  #listen(serving: { fetch: Serving['fetch']; routes?: Record<string, Record<string, Answering>> }): void {
    const address = this.#address
    const options = { ...SERVE_OPTIONS, routes: {}, ...serving }
    const { reusePort: _, idleTimeout: __, ...ofSocket } = options
    try {
      // Of a process that was killed.
      if ('unix' in address) rmSync(address.unix, { force: true })
      this.#server =
        'unix' in address
          ? Bun.serve({ ...ofSocket, ...UNTIMED, unix: address.unix })
          : Bun.serve({ ...options, hostname: address.host, port: address.port, reusePort: address.isShared === true })
      if ('unix' in address) chmodSync(address.unix, 0o600)
    } catch (error) {
      throw listenError(address, this.#variables, error)
    }
  }
}
