/**
 * The listening socket. It is opened before anything else, so that a process that cannot listen fails while another process
 * still serves, and stays open until the end. The function that answers requests can be replaced; connections stay open.
 */
import type { AnyElysia } from 'elysia'
import type { Serving } from './drain.ts'
import { type Address, type AddressVariables, listenError } from './listen-error.ts'
import { unlessRouted } from './read-alike.ts'
import { SERVE_OPTIONS } from './serve-options.ts'
import { type Answering, servedRoutes } from './served-routes.ts'

const VARIABLES: AddressVariables = { host: 'HOST', port: 'PORT' }

/** `path` of its route, as Bun's router has it; null: it answers whatever has none. */
export type Wrap = (answer: Answering, path: string | null) => Answering

export class Listener implements Serving {
  readonly server: Bun.Server<undefined>
  #fetch: Serving['fetch']

  /**
   * Starts to listen.
   * @param fetch answers every request until `serve` is called
   * @param variables named in the error
   * @throws ListenError when the address cannot be listened on
   */
  constructor(address: Address, fetch: Serving['fetch'], variables = VARIABLES) {
    this.#fetch = fetch
    try {
      this.server = Bun.serve({ ...SERVE_OPTIONS, hostname: address.host, port: address.port, fetch })
    } catch (error) {
      throw listenError(address, variables, error)
    }
  }

  /** Currently answers a request to any path. */
  get fetch(): Serving['fetch'] {
    return this.#fetch
  }

  get port(): number {
    return this.server.port ?? 0
  }

  /** The address of the other end of a request's connection; null when it is closed. */
  peerOf(request: Request): string | null {
    return this.server.requestIP(request)?.address ?? null
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
    const fetch = wrap(app.fetch, null)
    const served = servedRoutes(app)
    const routes = Object.entries(served).map(([path, methods]) => [
      path,
      Object.fromEntries(Object.entries(methods).map(([method, answer]) => [method, wrap(answer, path)])),
    ])
    const options = { routes: Object.fromEntries(routes), fetch: unlessRouted(served, fetch) }
    return () => {
      this.#fetch = fetch
      this.server.reload(options)
    }
  }

  /**
   * Only `fetch` answers from the next request on, on every connection. Requests in progress are not disturbed.
   * @param isDraining the server asks `this.fetch` for each request (drain.ts), and is left as it is
   */
  answerWith(fetch: Serving['fetch'], { isDraining }: { isDraining: boolean }): void {
    this.#fetch = fetch
    if (!isDraining) this.server.reload({ routes: {}, fetch })
  }
}
