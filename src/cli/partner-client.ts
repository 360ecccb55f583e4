import { type ConnectionOptions, connectionOf } from './connection.ts'
import { CliError, EXIT, RefusedError, UsageError } from './exit-codes.ts'
import type { Json } from './portal-client.ts'
import { eventsIn, type StreamEvent } from './portal-client.ts'

const DEADLINE_MS = 60_000
/** The service says every 15 s that a stream is alive. */
const SILENCE_MS_MAX = 60_000

/** The partner API over HTTP, with an API key. */
export class PartnerClient {
  readonly #url: string
  readonly #key: string

  /** @throws UsageError when there is no key, or the address is not a URL */
  constructor(
    options: Pick<ConnectionOptions, 'url'> & { readonly key?: string },
    env: Record<string, string | undefined>,
  ) {
    const key = options.key ?? (env['NIGHTLEDGER_KEY'] || undefined)
    if (key === undefined)
      throw new UsageError('Cannot send a request as a partner: no API key. Use --key or set NIGHTLEDGER_KEY.')
    this.#url = connectionOf({ url: options.url, token: key }, env).url
    this.#key = key
  }

  /**
   * `path` begins after `/partner/v1`.
   * @throws RefusedError when the service refuses or fails; CliError when it cannot be reached
   */
  async get(path: string): Promise<Json> {
    const response = await this.#ask(path, {}, AbortSignal.timeout(DEADLINE_MS))
    return (await response.json()) as Json
  }

  /**
   * The events of one connection, until the service ends it.
   * @param lastEventId of the last event that was received; null before the first
   * @throws as `get` does
   */
  async *events(path: string, lastEventId: string | null): AsyncGenerator<StreamEvent> {
    const silence = new AbortController()
    const later = () => setTimeout(() => silence.abort(new Error('nothing has arrived for a minute')), SILENCE_MS_MAX)
    let timer = later()
    try {
      const resumed = lastEventId === null ? {} : { 'Last-Event-ID': lastEventId }
      const response = await this.#ask(path, { Accept: 'text/event-stream', ...resumed }, silence.signal)
      const alive = new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) => {
          clearTimeout(timer)
          timer = later()
          controller.enqueue(chunk)
        },
      })
      if (response.body !== null) yield* eventsIn(response.body.pipeThrough(alive))
    } catch (error) {
      throw error instanceof CliError ? error : this.#unreachable(error)
    } finally {
      clearTimeout(timer)
    }
  }

  async #ask(path: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    let response: Response
    try {
      response = await fetch(`${this.#url}/partner/v1${path}`, {
        ...{ redirect: 'error', signal },
        // The signal says how long; Bun's own limit is five minutes.
        timeout: false,
        headers: { Authorization: `Bearer ${this.#key}`, ...headers },
      })
    } catch (error) {
      throw this.#unreachable(error)
    }
    if (response.ok) return response
    if (response.status === 401)
      throw new CliError(
        'Refused: the API key is unknown, revoked or expired, or the agency is suspended',
        EXIT.refused,
      )
    const body = (await response.json().catch(() => null)) as Json | null
    if (body === null)
      throw new CliError(
        `Cannot read the response from ${this.#url}: ${response.status} without a JSON body. Is it nightledger?`,
      )
    throw new RefusedError(response.status, body)
  }

  #unreachable(error: unknown): CliError {
    const reason = error instanceof Error ? error.message : String(error)
    return new CliError(`Cannot reach the service at ${this.#url}: ${reason}`, EXIT.unreachable)
  }
}
