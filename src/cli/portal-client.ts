import { type Connection, isAccessToken } from './connection.ts'
import { CliError, EXIT, RefusedError } from './exit-codes.ts'

/** Server-sent events, as far as the service uses them (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export interface StreamEvent {
  /** What to send as `Last-Event-ID` after it. */
  readonly id: string
  /** Null when there is only a new id. */
  readonly data: string | null
}

/** The events of a body, until it ends. An event that was cut off is left out. */
export async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
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

const DEADLINE_MS = 60_000
const PAGE_SIZE = 200

export type Json = Record<string, unknown>

/** The portal API over HTTP (docs/design.md#portal-api). */
export class PortalClient {
  readonly #connection: Connection
  /** The token has been accepted, so a 429 is not about a wrong one. */
  #isAdmitted = false

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Whether the token is of one agency, and not the operator's. */
  get hasAccessToken(): boolean {
    return isAccessToken(this.#connection.token)
  }

  get(path: string, options: { deadlineMs?: number } = {}): Promise<Json> {
    return this.send('GET', path, undefined, options)
  }

  /**
   * `path` begins after `/portal/v1`. A long import may use up the token's requests of a minute: it waits, and goes on.
   * @throws RefusedError when the service refuses or fails; CliError when it cannot be reached
   */
  send(method: string, path: string, body?: unknown, options: { deadlineMs?: number } = {}): Promise<Json> {
    return this.request(method, `/portal/v1${path}`, body, options)
  }

  /** As `send`, with the whole path. */
  async request(
    method: string,
    path: string,
    body?: unknown,
    { deadlineMs = DEADLINE_MS }: { deadlineMs?: number } = {},
  ): Promise<Json> {
    for (;;) {
      const { response, answer } = await this.#exchange(method, path, body, deadlineMs)
      const retryAfterS = Number(response.headers.get('retry-after') ?? Number.NaN)
      if (response.status === 429 && this.#isAdmitted && retryAfterS >= 0) await Bun.sleep(retryAfterS * 1_000)
      else if (response.ok) {
        this.#isAdmitted = true
        return answer
      } else throw new RefusedError(response.status, answer)
    }
  }

  async #exchange(method: string, path: string, body: unknown, deadlineMs: number) {
    const { url, token } = this.#connection
    let response: Response
    let text: string
    try {
      response = await fetch(`${url}${path}`, {
        method,
        redirect: 'error',
        signal: AbortSignal.timeout(deadlineMs),
        // The signal says how long; Bun's own limit is five minutes.
        timeout: false,
        headers: {
          Authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      text = await response.text()
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new CliError(`Cannot reach the service at ${url}: ${reason}`, EXIT.unreachable)
    }
    const answer = parse(text)
    if (answer === null)
      throw new CliError(
        `Cannot read the response from ${url}: ${response.status} without a JSON body. Is it nightledger?`,
      )
    return { response, answer }
  }

  /** Every element of a list, page after page. */
  async *each(path: string, collection: string): AsyncGenerator<Json> {
    for (let page = 1; ; page++) {
      const joint = path.includes('?') ? '&' : '?'
      const answer = await this.get(`${path}${joint}page=${page}&pageSize=${PAGE_SIZE}`)
      yield* answer[collection] as Json[]
      if (page >= Number(answer['pageCount'])) return
    }
  }

  async all(path: string, collection: string): Promise<Json[]> {
    return Array.fromAsync(this.each(path, collection))
  }
}

function parse(text: string): Json | null {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : null
  } catch {
    return null
  }
}

/** A query string with its question mark; empty without parameters. */
export function queryOf(values: Readonly<Record<string, unknown>>): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) parameters.set(name, String(value))
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}
