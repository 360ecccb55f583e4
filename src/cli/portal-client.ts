import { reasonOf } from '../lib/reason-of.ts'
import { type Connection, isAccessToken } from './connection.ts'
import { CliError, EXIT, RefusedError } from './exit-codes.ts'

export type Json = Record<string, unknown>

export const DEADLINE_MS = 60_000
const PAGE_SIZE = 200
/** Of a list that changes while it is read. */
const READINGS_MAX = 5

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
   * `path` begins after `/portal/v1`. A long import may use up the token's requests of a minute: it waits, and continues.
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
      const response = await send(this.#connection, path, { method, body, signal: AbortSignal.timeout(deadlineMs) })
      const answer = await answerOf(response, this.#connection)
      const retryAfterS = Number(response.headers.get('retry-after') ?? Number.NaN)
      if (response.status === 429 && this.#isAdmitted && retryAfterS >= 0) await Bun.sleep(retryAfterS * 1_000)
      else if (response.ok) {
        this.#isAdmitted = true
        return answer
      } else throw new RefusedError(response.status, answer)
    }
  }

  /** Every element of a list, page after page. @param onTotal called with how many there are, for each page */
  async *each(path: string, collection: string, onTotal: (total: number) => void = () => {}): AsyncGenerator<Json> {
    for (let page = 1; ; page++) {
      const joint = path.includes('?') ? '&' : '?'
      const answer = await this.get(`${path}${joint}page=${page}&pageSize=${PAGE_SIZE}`)
      onTotal(Number(answer['totalItems']))
      yield* answer[collection] as Json[]
      if (page >= Number(answer['pageCount'])) return
    }
  }

  /**
   * Every element of a list, each once. Pages are counted from the beginning of a list that others may change meanwhile: an element that is
   * added moves another one to the next page, where it is read again, and one that is removed moves another one to a page that was read
   * before. Then all pages are read again; after some times it is what was read of each element last.
   */
  async all(path: string, collection: string): Promise<Json[]> {
    const found = new Map<unknown, Json>()
    for (let reading = 1; ; reading++) {
      const totals = new Set<number>()
      const elements = await Array.fromAsync(this.each(path, collection, (total) => totals.add(total)))
      const ids = new Set(elements.map(({ id }) => id))
      if (totals.size === 1 && totals.has(ids.size)) return elements
      for (const element of elements) found.set(element['id'], element)
      if (reading === READINGS_MAX) return [...found.values()]
    }
  }
}

interface Request {
  readonly method?: string
  /** Sent as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** @throws CliError when the service cannot be reached */
export async function send(
  connection: Connection,
  path: string,
  { method = 'GET', body, headers = {}, signal }: Request,
): Promise<Response> {
  const { url, token } = connection
  const json = body === undefined ? {} : { 'Content-Type': 'application/json' }
  try {
    return await fetch(`${url}${path}`, {
      method,
      redirect: 'error',
      signal,
      // The signal says how long; Bun's own limit is five minutes.
      timeout: false,
      headers: { Authorization: `Bearer ${token}`, ...json, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  } catch (error) {
    throw unreachable(connection, error)
  }
}

/** @throws CliError when the body ends early, or is not that of the service */
export async function answerOf(response: Response, connection: Connection): Promise<Json> {
  const text = await response.text().catch((error: unknown) => {
    throw unreachable(connection, error)
  })
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value as Json
  } catch {
    // Reported below.
  }
  throw new CliError(
    `Cannot read the response from ${connection.url}: ${response.status} without a JSON body. Is it nightledger?`,
  )
}

export function unreachable({ url }: Connection, error: unknown): CliError {
  return new CliError(`Cannot reach the service at ${url}: ${reasonOf(error)}`, EXIT.unreachable)
}

/** A query string with its question mark; empty without parameters. */
export function queryOf(values: Readonly<Record<string, unknown>>): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) parameters.set(name, String(value))
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}
