/** One request and its answer over HTTP, for tests of every surface. */
export interface HttpCall {
  /** Sent as a bearer token; none for null. */
  readonly token?: string | null
  /** GET, or POST when there is a body, unless told. */
  readonly method?: string
  readonly headers?: Record<string, string>
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as it is, with `application/json` unless the headers say otherwise. */
  readonly raw?: string | Uint8Array<ArrayBuffer>
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Parsed when it is JSON, null when there is none, else the text. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly body: any
}

export function methodOf({ method, json, raw }: HttpCall): string {
  return method ?? (json === undefined && raw === undefined ? 'GET' : 'POST')
}

export async function send(url: string, call: HttpCall = {}): Promise<HttpAnswer> {
  return answerOf(await fetch(url, requestOf(call)))
}

/** What `fetch` and `Request` take. */
export function requestOf(call: HttpCall): RequestInit {
  const { token = null, headers, json, raw } = call
  const body = raw ?? (json === undefined ? undefined : JSON.stringify(json))
  return {
    method: methodOf(call),
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  }
}

export async function answerOf(response: Response): Promise<HttpAnswer> {
  const { status, headers } = response
  const text = await response.text()
  const isJson = headers.get('content-type')?.includes('json') === true
  return { status, headers, text, body: text === '' ? null : isJson ? JSON.parse(text) : text }
}
