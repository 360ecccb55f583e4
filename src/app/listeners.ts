import { targetOf } from '../http/request.ts'
import type { Address } from '../http/server/listener.ts'
import { Listener } from '../http/server/listener.ts'
import { type NotServingReason, notServing } from '../http/server/not-serving.ts'
import { withoutCors } from '../http/server/served-routes.ts'
import { systemIds } from '../lib/ids.ts'

const PROBES = ['/healthz', '/readyz', '/metrics']

/** Why nothing is served; also a role in the metrics. `unconfirmed` is decided per request (whileConfirmed). */
export type IdleReason = Exclude<NotServingReason, 'unconfirmed'>

/** The `/metrics` response of a process that does not serve. */
export type IdlePage = (reason: IdleReason) => Promise<string>

/** The sockets that the process listens on: one for everything, or, with ADMIN_PORT, a second one for the operator. */
export class Listeners {
  /** On PORT. */
  readonly public: Listener
  /** Of a worker: where other nodes, or a proxy, reach it and not its siblings on PORT. Null otherwise. */
  readonly own: Listener | null
  /** On ADMIN_PORT; null: PORT serves what is the operator's. */
  readonly admin: Listener | null
  readonly #idlePage: IdlePage
  #reason: IdleReason = 'starting'

  /**
   * Listens on all addresses, or on none. Answers 503 until there is an app to serve.
   * @param addresses.isLate listens on the main address only when there is
   * @throws ListenError naming the address that cannot be listened on
   */
  constructor(
    addresses: {
      main: Address
      own?: { readonly at: Address; readonly isLate: boolean } | null
      admin: Address | null
      isLate?: boolean
    },
    idlePage: IdlePage,
  ) {
    const { main, own = null, admin, isLate = false } = addresses
    this.#idlePage = idlePage
    const starting = notServing('starting', systemIds, this.#optionsOf('starting', { hasProbes: admin === null }))
    this.public = new Listener(main, starting, { isLate })
    let opened: Listener | null = null
    try {
      opened = own === null ? null : new Listener(own.at, starting, own)
      this.own = opened
      this.admin = admin === null ? null : openAdmin(admin, () => idlePage('starting'))
    } catch (error) {
      void this.public.server?.stop(true)
      void opened?.server?.stop(true)
      throw error
    }
  }

  /** Why it does not serve, or last did not. */
  get reason(): IdleReason {
    return this.#reason
  }

  get all(): readonly Listener[] {
    return [this.public, this.own, this.admin].filter((listener) => listener !== null)
  }

  /** Where probes, metrics and the operator's token are served. */
  get operating(): Listener {
    return this.admin ?? this.public
  }

  /** Requests not yet answered. */
  get openRequests(): number {
    return this.all.reduce((sum, { server }) => sum + (server?.pendingRequests ?? 0), 0)
  }

  /**
   * From the next request on, requests wait until this process serves, which is in a moment; then they are answered as any other. Probes
   * are answered as before.
   */
  hold(): void {
    for (const listener of this.all) {
      const refused = listener.fetch
      let held = 0
      const hold: Listener['fetch'] = async (request) => {
        if (held >= HELD_MAX || PROBES.includes(targetOf(request.url).path)) return refused(request)
        held += 1
        await served
        held -= 1
        return (listener.fetch === hold ? refused : listener.fetch)(request)
      }
      listener.answerWith(hold, { isDraining: false })
      const served = untilReplaced(listener, hold)
    }
  }

  /** From the next request on, every request is refused. */
  refuse(reason: IdleReason, options: { isDraining: boolean }): void {
    this.#reason = reason
    const refused = notServing(reason, systemIds, this.#optionsOf(reason, { hasProbes: this.admin === null }))
    this.public.answerWith(refused, options)
    this.own?.answerWith(refused, options)
    this.admin?.answerWith(withoutCors(notServing(reason, systemIds, this.#optionsOf(reason))), options)
  }

  #optionsOf(reason: IdleReason, { hasProbes = true }: { hasProbes?: boolean } = {}) {
    return { hasProbes, metrics: () => this.#idlePage(reason) }
  }
}

/** Held requests. More are refused as before. */
const HELD_MAX = 1_000
/** How long a request is held. The writer that stops answers its last ones in less, unless the database is away. */
const HELD_MS_MAX = 5_000
const HELD_LOOK_MS = 5

async function untilReplaced(listener: Listener, fetch: Listener['fetch']): Promise<void> {
  const until = performance.now() + HELD_MS_MAX
  while (listener.fetch === fetch && performance.now() < until) await Bun.sleep(HELD_LOOK_MS)
}

/** @param metrics the `/metrics` response while nothing is served yet */
export function openAdmin(address: Address, metrics: () => Promise<string>): Listener {
  const starting = withoutCors(notServing('starting', systemIds, { metrics }))
  return new Listener(address, starting, { variables: { host: 'ADMIN_HOST', port: 'ADMIN_PORT' } })
}
