/**
 * The listening socket. It is opened before anything else, so that a process that cannot listen fails while another process
 * still serves, and stays open until the end. The function that answers requests can be replaced; connections stay open.
 */
import type { AnyElysia } from 'elysia'
import type { Serving } from './drain.ts'
import { type Address, listenError } from './listen-error.ts'
import { SERVE_OPTIONS } from './serve-options.ts'
import { servedRoutes } from './served-routes.ts'

export class Listener implements Serving {
  readonly server: Bun.Server<undefined>
  #fetch: Serving['fetch']

  /**
   * Starts to listen.
   * @param fetch answers every request until `serve` is called
   * @throws ListenError when the address cannot be listened on
   */
  constructor(address: Address, fetch: Serving['fetch']) {
    this.#fetch = fetch
    try {
      this.server = Bun.serve({ ...SERVE_OPTIONS, hostname: address.host, port: address.port, fetch })
    } catch (error) {
      throw listenError(address, error)
    }
  }

  /** Currently answers a request to any path. */
  get fetch(): Serving['fetch'] {
    return this.#fetch
  }

  get port(): number {
    return this.server.port ?? 0
  }

  /** `app` answers from the next request on, on every connection. */
  serve(app: AnyElysia): void {
    app.compile()
    this.#fetch = app.fetch
    this.server.reload({ routes: servedRoutes(app), fetch: app.fetch })
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
