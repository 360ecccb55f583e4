/**
 * etcd (3.4 and later) through the JSON gateway that every member has on its client port: plain `fetch`, keys and values in base64,
 * 64-bit numbers as text. A call that no endpoint answered may have been done; each of them can be repeated.
 */

import { type Change, type Committed, type Entry, type Etcd, EtcdError, type Reading } from './etcd.ts'
import type { EtcdEndpoints } from './etcd-endpoints.ts'
import { type GatewayKeyValue, watchGateway } from './etcd-watch.ts'

/** How long one endpoint may take; then the next one is asked. A leader is elected in 1 to 2 s. */
const ATTEMPT_MS = 1_000
/** Below etcd's `--max-txn-ops` (128). */
const CHANGES_PER_TXN = 64
/** Client errors that a new token ends: unauthenticated, and a token from before a change of users. */
const TOKEN_ERRORS = /invalid auth token|auth store is old|user name is empty/

export interface EtcdTls {
  /** PEM texts. */
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

export class EtcdClient implements Etcd {
  readonly #endpoints: EtcdEndpoints
  readonly #tls: EtcdTls
  readonly #attemptMs: number
  /** Index of the endpoint that answered last. */
  #current = 0
  #token: string | null = null

  constructor(
    endpoints: EtcdEndpoints,
    { tls = {}, attemptMs = ATTEMPT_MS }: { tls?: EtcdTls; attemptMs?: number } = {},
  ) {
    this.#endpoints = endpoints
    this.#tls = tls
    this.#attemptMs = attemptMs
  }

  async grant(ttlS: number): Promise<string> {
    const { ID } = (await this.#call('lease/grant', { TTL: String(ttlS) })) as { ID: string }
    return ID
  }

  async keepAlive(lease: string): Promise<number> {
    const { result } = (await this.#call('lease/keepalive', { ID: lease })) as { result?: { TTL?: string } }
    return Number(result?.TTL ?? 0)
  }

  async revoke(lease: string): Promise<void> {
    await this.#call('lease/revoke', { ID: lease }).catch((error) => {
      if (!(error instanceof EtcdError && /lease not found/.test(error.message))) throw error
    })
  }

  async read(prefix: string): Promise<Reading> {
    const answer = (await this.#call('kv/range', rangeOf(prefix))) as {
      header: { revision: string }
      kvs?: GatewayKeyValue[]
    }
    return { revision: Number(answer.header.revision), entries: (answer.kvs ?? []).map((kv) => entryOf(kv, false)) }
  }

  async commit(changes: readonly Change[]): Promise<Committed> {
    let revision = 0
    const done: boolean[] = []
    for (let from = 0; from < changes.length; from += CHANGES_PER_TXN) {
      const success = changes.slice(from, from + CHANGES_PER_TXN).map(requestOf)
      const answer = (await this.#call('kv/txn', { success })) as {
        header: { revision: string }
        responses?: { response_txn?: { succeeded?: boolean } }[]
      }
      revision = Number(answer.header.revision)
      done.push(...success.map((_, index) => answer.responses?.[index]?.response_txn?.succeeded === true))
    }
    return { revision, done }
  }

  async watch(
    { prefix, fromRevision, signal }: { prefix: string; fromRevision: number; signal: AbortSignal },
    onEvents: (events: readonly Entry[]) => void,
  ): Promise<void> {
    const origin = this.#origin()
    const range = rangeOf(prefix)
    const isClean = await watchGateway({
      ask: (beginning) =>
        this.#fetch(
          origin,
          'watch',
          { create_request: { ...range, start_revision: String(fromRevision) } },
          AbortSignal.any([signal, beginning]),
        ),
      beginMs: this.#attemptMs,
      onEvents: (events) => onEvents(events.map(({ type, kv }) => entryOf(kv, type === 'DELETE'))),
    })
    if (!isClean && !signal.aborted) {
      // A watch is not worth asking for a token again; the next call does.
      this.#token = null
      if (this.#origin() === origin) this.#current += 1
    }
  }

  #origin(): string {
    const { origins } = this.#endpoints
    return origins[this.#current % origins.length] ?? ''
  }

  async #call(path: string, body: unknown): Promise<unknown> {
    let failure: unknown
    for (let attempt = 0; attempt < this.#endpoints.origins.length; attempt++) {
      const endpoint = this.#current
      try {
        return await this.#ask(this.#origin(), path, body)
      } catch (error) {
        if (error instanceof EtcdError && error.isRefusal) throw error
        failure = error
        if (this.#current === endpoint) this.#current += 1
      }
    }
    const reason = failure instanceof Error ? failure.message : String(failure)
    throw new EtcdError(`Cannot reach etcd at ${this.#endpoints.origins.join(', ')}: ${reason}`, false, {
      cause: failure,
    })
  }

  async #ask(origin: string, path: string, body: unknown): Promise<unknown> {
    const { user } = this.#endpoints
    for (let attempt = 0; ; attempt++) {
      if (user !== null) this.#token ??= await this.#authenticate(origin, user)
      const { response, answer } = await this.#answered(origin, path, body)
      const message = messageOf(answer)
      if (response.ok && message === null) return answer
      if (user !== null && attempt === 0 && TOKEN_ERRORS.test(message ?? '')) {
        this.#token = null
        continue
      }
      const isRefusal = !response.ok && response.status < 500 && ![408, 429].includes(response.status)
      throw new EtcdError(`etcd refused ${path}: ${message ?? response.status}`, isRefusal)
    }
  }

  async #authenticate(origin: string, { name, password }: { name: string; password: string }): Promise<string> {
    const { response, answer } = await this.#answered(origin, 'auth/authenticate', { name, password })
    const token = (answer as { token?: unknown }).token
    if (response.ok && typeof token === 'string') return token
    throw new EtcdError(`etcd refused the user ${name}: ${messageOf(answer) ?? response.status}`, response.status < 500)
  }

  async #answered(origin: string, path: string, body: unknown): Promise<{ response: Response; answer: unknown }> {
    const response = await this.#fetch(origin, path, body, AbortSignal.timeout(this.#attemptMs))
    const text = await response.text()
    return { response, answer: text === '' ? {} : JSON.parse(text.split('\n', 1)[0] ?? '') }
  }

  #fetch(origin: string, path: string, body: unknown, signal: AbortSignal): Promise<Response> {
    // `proxy` of the environment is ignored by the whole program (src/app/serve.ts).
    return fetch(`${origin}/v3/${path}`, {
      method: 'POST',
      redirect: 'error',
      signal,
      timeout: false,
      headers: this.#token === null || path.startsWith('auth/') ? {} : { Authorization: this.#token },
      body: JSON.stringify(body),
      ...(origin.startsWith('https:') ? { tls: { ...this.#tls } } : {}),
    })
  }
}

function requestOf({ key, value, lease, condition }: Change): unknown {
  const name = base64(key)
  const compare =
    condition === 'absent'
      ? { key: name, target: 'CREATE', result: 'EQUAL', create_revision: '0' }
      : { key: name, target: 'LEASE', result: 'EQUAL', lease: condition.lease }
  const change =
    value === null
      ? { request_delete_range: { key: name } }
      : { request_put: { key: name, value: base64(value), lease } }
  return { request_txn: { compare: [compare], success: [change] } }
}

/** The range of all keys that begin so. Ends in `/` everywhere, so the last byte has a successor. */
function rangeOf(prefix: string): { key: string; range_end: string } {
  const end = Buffer.from(prefix)
  end[end.length - 1] = (end[end.length - 1] ?? 0) + 1
  return { key: base64(prefix), range_end: end.toString('base64') }
}

function entryOf(kv: GatewayKeyValue, isDeleted: boolean): Entry {
  return {
    key: text(kv.key),
    value: isDeleted ? null : text(kv.value ?? ''),
    lease: kv.lease ?? '0',
    revision: Number(kv.mod_revision),
  }
}

/** What etcd says of a failure; null when there is none. */
function messageOf(answer: unknown): string | null {
  const { error, message } = answer as { error?: unknown; message?: unknown }
  if (typeof error === 'string') return error
  if (error !== undefined && error !== null) return String((error as { message?: unknown }).message ?? 'failed')
  return typeof message === 'string' ? message : null
}

function base64(plain: string): string {
  return Buffer.from(plain).toString('base64')
}

function text(encoded: string): string {
  return Buffer.from(encoded, 'base64').toString()
}
