/** The partner API over HTTP, as the commands with an API key use it. */
import { type Connection, connectionOf } from './connection.ts'
import { CliError, EXIT, RefusedError, UsageError } from './exit-codes.ts'
import { answerOf, DEADLINE_MS, type Json, send, unreachable } from './portal-client.ts'
import type { Terminal } from './terminal.ts'

export interface PartnerOptions {
  readonly key?: string
  readonly url?: string
  readonly json?: boolean
}

export const URL_HELP = 'address of the service (default: NIGHTLEDGER_URL, or the local service)'

/** @throws UsageError when there is no key */
export function keyOf({ key }: PartnerOptions, env: Terminal['env']): string {
  const given = key ?? (env['NIGHTLEDGER_KEY'] || undefined)
  if (given === undefined)
    throw new UsageError('Cannot send a request as a partner: no API key. Use --key or set NIGHTLEDGER_KEY.')
  return given
}

/** Server-sent events do not get through: the same changes have to be polled. */
export class NoStreamError extends CliError {
  override readonly name = 'NoStreamError'
}

/** Too many requests, and a service that is failing or starting, pass. */
export function isFinal(error: CliError): boolean {
  if (error instanceof RefusedError) return error.status < 500 && error.status !== 429
  return error.message.startsWith('Refused')
}

/** The service says every 15 s that a stream is alive. */
const SILENCE_MS_MAX = 60_000

/** The partner API over HTTP, with an API key. */
export class PartnerClient {
  readonly #connection: Connection
  #leftOfMinute: number | null = null

  /** @throws UsageError when there is no key, or the address is not a URL */
  constructor(options: PartnerOptions, env: Terminal['env']) {
    this.#connection = connectionOf({ url: options.url, token: keyOf(options, env) }, env)
  }

  /** Requests that the key has left in the rolling minute, from the last response; null if it did not say. */
  get leftOfMinute(): number | null {
    return this.#leftOfMinute
  }

  /**
   * `path` begins after `/partner/v1`.
   * @param stop ends a request that waits, with an error
   * @throws RefusedError when the service refuses or fails; CliError when it cannot be reached
   */
  async get(path: string, stop?: AbortSignal): Promise<Json> {
    const signals = [AbortSignal.timeout(DEADLINE_MS), ...(stop === undefined ? [] : [stop])]
    return answerOf(await this.#ask(path, {}, AbortSignal.any(signals)), this.#connection)
  }

  /** A write, made once however often it is repeated with the same idempotency key. @throws as `get` does */
  async post(path: string, body: Json, idempotencyKey: string = crypto.randomUUID()): Promise<Json> {
    const sent = { method: 'POST', body, headers: { 'Idempotency-Key': `"${idempotencyKey}"` } }
    return answerOf(await this.#ask(path, sent, AbortSignal.timeout(DEADLINE_MS)), this.#connection)
  }

  /**
   * The events of one connection, until the service ends it.
   * @param lastEventId of the last event that was received; null before the first
   * @param stop ends the connection, with an error
   * @throws NoStreamError when something on the way holds the events back, and otherwise as `get` does
   */
  async *events(path: string, lastEventId: string | null, stop?: AbortSignal): AsyncGenerator<StreamEvent> {
    const silence = new AbortController()
    const later = () => setTimeout(() => silence.abort(new Error('nothing has arrived for a minute')), SILENCE_MS_MAX)
    let timer = later()
    try {
      const resumed = lastEventId === null ? {} : { 'Last-Event-ID': lastEventId }
      const headers = { Accept: 'text/event-stream', ...resumed }
      const signals = stop === undefined ? silence.signal : AbortSignal.any([silence.signal, stop])
      const response = await this.#ask(path, { headers }, signals)
      if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true)
        throw new NoStreamError('The service, or a proxy before it, does not answer with a stream')
      const alive = new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) => {
          clearTimeout(timer)
          timer = later()
          controller.enqueue(chunk)
        },
      })
      if (response.body !== null) yield* eventsIn(response.body.pipeThrough(alive))
    } catch (error) {
      if (silence.signal.aborted) throw new NoStreamError('Nothing has arrived on the stream for a minute')
      throw error instanceof CliError ? error : unreachable(this.#connection, error)
    } finally {
      clearTimeout(timer)
    }
  }

  async #ask(
    path: string,
    request: Omit<Parameters<typeof send>[2], 'signal'>,
    signal: AbortSignal,
  ): Promise<Response> {
    const response = await send(this.#connection, `/partner/v1${path}`, { ...request, signal })
    const left = Number(response.headers.get('x-ratelimit-remaining') ?? Number.NaN)
    if (left >= 0) this.#leftOfMinute = left
    if (response.ok) return response
    if (response.status === 401)
      throw new CliError(
        'Refused: the API key is unknown, revoked or expired, or the agency is suspended',
        EXIT.refused,
      )
    throw new RefusedError(response.status, await answerOf(response, this.#connection))
  }
}

/** Server-sent events, as far as the service uses them (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
interface StreamEvent {
  /** What to send as `Last-Event-ID` after it. */
  readonly id: string
  /** Null when there is only a new id. */
  readonly data: string | null
}

/** The events of a body, until it ends. An event that was cut off is left out. */
async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  let id = ''
  let text = ''
  const decoder = new TextDecoder()
  for await (const part of body) {
    const blocks = (text + decoder.decode(part, { stream: true })).split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map(fieldIn))
      id = fields.get('id') ?? id
      yield { id, data: fields.get('data') ?? null }
    }
  }
}

/** A comment is a field without a name. */
function fieldIn(line: string): [name: string, value: string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')]
}
