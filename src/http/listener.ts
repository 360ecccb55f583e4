/**
 * The listening socket, open from before anything else is done until the end: whoever cannot have it finds out while another
 * process still serves. What answers on it is exchanged; connections stay.
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
   * Listens from now on.
   * @param fetch answers every request until `serve` is called
   * @throws ListenError when nobody can listen there
   */
  constructor(address: Address, fetch: Serving['fetch']) {
    this.#fetch = fetch
    try {
      this.server = Bun.serve({ ...SERVE_OPTIONS, hostname: address.host, port: address.port, fetch })
    } catch (error) {
      throw listenError(address, error)
    }
  }

  /** What answers a request of any path now. */
  get fetch(): Serving['fetch'] {
    return this.#fetch
  }

  get port(): number {
    return this.server.port ?? 0
  }

  /** From the next request on, on whatever connection, `app` answers. */
  serve(app: AnyElysia): void {
    app.compile()
    this.#fetch = app.fetch
    this.server.reload({ routes: servedRoutes(app), fetch: app.fetch })
  }

  /**
   * From the next request on, on whatever connection, only `fetch` answers; what is under way is not disturbed.
   * @param isDraining the server asks `this.fetch` for each request (drain.ts), and is left as it is
   */
  answerWith(fetch: Serving['fetch'], { isDraining }: { isDraining: boolean }): void {
    this.#fetch = fetch
    if (!isDraining) this.server.reload({ routes: {}, fetch })
  }
}
