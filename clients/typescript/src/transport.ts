import { ApiError, apiErrorOf, NightledgerError, NoAnswerError } from './errors.ts'

/** Time and chance, which tests replace. */
export interface Clock {
  /** Milliseconds, from any beginning. */
  now(): number
  /** @throws the reason of `signal` once it is aborted */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>
  /** From 0 up to 1. */
  random(): number
}

export interface ClientOptions {
  /** An API key of the agency: `hr_live_…`, or `hr_test_…` for its sandbox. */
  readonly key: string
  /** Address of the service, without `/partner/v1`. */
  readonly url: string
  /** Of each try. Default: 30,000. */
  readonly timeoutMs?: number | undefined
  /** Of a call with all its tries and pauses. Default: 120,000. */
  readonly deadlineMs?: number | undefined
  /** Default: 4. 1: no call is repeated. */
  readonly triesMax?: number | undefined
  /** How much is kept of answers that have an `ETag`, in characters. Default: 8,000,000. 0: nothing. */
  readonly cacheCharsMax?: number | undefined
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  readonly clock?: Clock | undefined
}

/** Of a single call. */
export interface CallOptions extends Pick<ClientOptions, 'timeoutMs' | 'deadlineMs' | 'triesMax'> {
  readonly signal?: AbortSignal | undefined
  /** Of a write: in place of a random one. null: none, and the write is not repeated. */
  readonly idempotencyKey?: string | null | undefined
}

export interface Call {
  /** Below `/partner/v1`. */
  readonly path: readonly string[]
  readonly query?: object | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON with `POST`. */
  readonly body?: unknown
  /** `once`: a write that takes no `Idempotency-Key`, so that it must not be repeated. */
  readonly write?: 'keyed' | 'once'
}

/** `read` makes what is returned of the text of the answer: without it, the text is JSON. What it throws means that the answer is not complete. */
export interface ReadCall<T> extends Call {
  readonly read?: (text: string) => T
}

export interface Answer<T> {
  readonly body: T
  readonly tag: string | null
}

const RETRIED = [408, 429, 500, 502, 503, 504]
const PAUSE_MS = 500
const PAUSE_MS_MAX = 8_000
/** Longer ones would overflow a timer, which then ends at once. */
const RETRY_AFTER_MS_MAX = 86_400_000

const CLOCK: Clock = {
  now: () => performance.now(),
  random: Math.random,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', end)
        if (signal?.aborted) reject(signal.reason)
        else resolve()
      }
      const timer = setTimeout(end, signal?.aborted ? 0 : ms)
      signal?.addEventListener('abort', end)
    }),
}

const isRead = ({ body, write }: Call) => body === undefined && write === undefined
const pathOf = ({ path }: Call) => path.map((part) => `/${encodeURIComponent(part)}`).join('')

/** Whether the same request may get another answer. */
export function isPassing(error: unknown): boolean {
  if (error instanceof ApiError) return RETRIED.includes(error.status) && error.code !== 'QUOTA_EXCEEDED'
  return error instanceof NoAnswerError
}

/** Sends requests, again where that is safe and may help. */
export class Transport {
  declare readonly clock: Clock
  readonly #key: string
  readonly #options: Omit<ClientOptions, 'key'>
  readonly #base: string
  /** By URL, the most recently used last. */
  readonly #kept = new Map<string, { tag: string; text: string }>()
  #keptChars = 0

  constructor({ key, ...options }: ClientOptions) {
    // A header with other characters is refused with a message that contains it.
    if (!/^[\x21-\x7e]+$/.test(key)) throw new TypeError('key must be printable ASCII without spaces')
    this.#key = key
    this.#options = options
    this.#base = `${new URL(options.url).href.replace(/\/+$/, '')}/partner/v1`
    this.clock = options.clock ?? CLOCK
  }

  async get<T>(path: Call['path'], options?: CallOptions, query?: object): Promise<T> {
    return (await this.send<T>({ path, query }, options)).body
  }

  async post<T>(path: Call['path'], body: unknown, options?: CallOptions, write: Call['write'] = 'keyed'): Promise<T> {
    return (await this.send<T>({ path, body, write }, options)).body
  }

  async send<T>(call: ReadCall<T>, options: CallOptions = {}): Promise<Answer<T>> {
    const { clock } = this
    const own = this.#options
    const { timeoutMs = own.timeoutMs ?? 30_000, deadlineMs = own.deadlineMs ?? 120_000 } = options
    const { triesMax = own.triesMax ?? 4, signal, idempotencyKey = crypto.randomUUID() } = options
    const endsAt = clock.now() + deadlineMs
    const key = call.write === 'keyed' ? idempotencyKey : null
    for (let tries = 1; ; tries++) {
      try {
        return await this.#once<T>(call, key, tries, Math.min(timeoutMs, endsAt - clock.now()), signal)
      } catch (error) {
        if (error instanceof NightledgerError) error.idempotencyKey = key
        const isLast = tries >= triesMax || (call.write !== undefined && key === null)
        const pauseMs = this.pauseMs(tries, error)
        if (isLast || !isPassing(error) || clock.now() + pauseMs >= endsAt) throw error
        await clock.sleep(pauseMs, signal)
      }
    }
  }

  /** After the try of this number, from 1: doubled each time, with jitter; or what `Retry-After` says. */
  pauseMs(tries: number, error?: unknown): number {
    const after = error instanceof ApiError ? error.answer.headers.get('retry-after') : null
    const afterMs = after ? 1_000 * Number(after) || Date.parse(after) - Date.now() : -1
    if (afterMs >= 0) return Math.min(afterMs, RETRY_AFTER_MS_MAX)
    return Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** (tries - 1)) * (0.5 + this.clock.random() / 2)
  }

  async #once<T>(call: ReadCall<T>, key: string | null, tries: number, timeoutMs: number, signal?: AbortSignal) {
    const url = this.#urlOf(call)
    const kept = isRead(call) ? this.#kept.get(url) : undefined
    const headers = {
      ...call.headers,
      ...(key !== null && { 'idempotency-key': key }),
      ...(kept && { 'if-none-match': kept.tag }),
      // A cache on the way may have answered the first try.
      ...(isRead(call) && tries > 1 && { 'cache-control': 'no-cache' }),
    }
    const exchange = await this.open({ ...call, headers }, timeoutMs, signal)
    try {
      const { response } = exchange
      const tag = response.headers.get('etag')
      // A 304 for which nothing is kept has no body, like an answer that was cut off.
      const text = response.status === 304 && kept ? kept.text : await response.text()
      const body: T = (call.read ?? JSON.parse)(response.status === 204 ? 'null' : text)
      if (isRead(call) && tag !== null) this.#keep(url, { tag, text })
      return { body, tag }
    } catch (error) {
      throw exchange.failure(error)
    } finally {
      exchange.end()
    }
  }

  /**
   * Sends one request. Its answer must be complete within `timeoutMs`, unless the exchange is given more.
   * @throws ApiError if it is refused
   */
  async open(call: Call, timeoutMs: number, signal?: AbortSignal): Promise<Exchange> {
    const method = isRead(call) ? 'GET' : 'POST'
    // Arguments that cannot be sent are no lost connection: they throw here.
    const request = {
      method,
      headers: new Headers({
        authorization: `Bearer ${this.#key}`,
        ...(call.body !== undefined && { 'content-type': 'application/json' }),
        ...call.headers,
      }),
      // undefined of undefined, whatever its type says.
      body: JSON.stringify(call.body),
      // The key must not go to another host.
      redirect: 'manual',
    } as const
    const exchange = new Exchange(`${method} ${pathOf(call)}`, timeoutMs, signal)
    try {
      const response = await (this.#options.fetch ?? fetch)(this.#urlOf(call), { ...request, signal: exchange.signal })
      const { status } = response
      if (!response.ok && status !== 304)
        throw apiErrorOf({ status, headers: response.headers, text: await response.text() })
      exchange.response = response
      return exchange
    } catch (error) {
      exchange.end()
      throw exchange.failure(error)
    }
  }

  #urlOf(call: Call): string {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(call.query ?? {})) if (value != null) query.set(name, String(value))
    return `${this.#base}${pathOf(call)}${query.size > 0 ? `?${query}` : ''}`
  }

  /** The least recently used answers make room. */
  #keep(url: string, answer: { tag: string; text: string }): void {
    this.#forget(url)
    this.#kept.set(url, answer)
    this.#keptChars += answer.text.length
    for (const oldest of this.#kept.keys()) {
      if (this.#keptChars <= (this.#options.cacheCharsMax ?? 8_000_000)) break
      this.#forget(oldest)
    }
  }

  #forget(url: string): void {
    this.#keptChars -= this.#kept.get(url)?.text.length ?? 0
    this.#kept.delete(url)
  }
}

/** A request and its answer, until all of it has been read. */
export class Exchange {
  readonly #name: string
  readonly #ending = new AbortController()
  readonly #outer: AbortSignal | undefined
  readonly #abort = () => this.#ending.abort()
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Present as soon as anyone but the transport has the exchange. */
  declare response: Response

  constructor(name: string, timeoutMs: number, signal: AbortSignal | undefined) {
    signal?.throwIfAborted()
    this.#name = name
    this.#outer = signal
    signal?.addEventListener('abort', this.#abort)
    this.restart(timeoutMs)
  }

  get signal(): AbortSignal {
    return this.#ending.signal
  }

  /** From now on, the exchange may take this long. */
  restart(timeoutMs: number): void {
    clearTimeout(this.#timer)
    // A longer one would overflow the timer, which then ends at once.
    this.#timer = setTimeout(this.#abort, Math.min(timeoutMs, 2 ** 31 - 1))
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#outer?.removeEventListener('abort', this.#abort)
    // An answer that is not read to its end would hold its connection.
    if (this.response?.bodyUsed === false) this.response.body?.cancel().catch(() => {})
  }

  /** What to throw: the caller's own abort, a refusal, or a connection that was lost. */
  failure(cause: unknown): unknown {
    if (this.#outer?.aborted) return this.#outer.reason
    if (cause instanceof ApiError) return cause
    const why = this.#ending.signal.aborted ? 'no complete answer in time' : 'no complete answer: connection lost'
    return new NoAnswerError(`Cannot ${this.#name}: ${why}`, { cause })
  }
}

/** Some of the operations. */
export class Resource {
  declare protected readonly http: Transport

  constructor(http: Transport) {
    this.http = http
  }
}
