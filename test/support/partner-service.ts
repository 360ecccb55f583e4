import { createApp } from '../../src/api/app.ts'
import { Conformity, type SeenExchange } from './conformity.ts'
import { openTestLedger, type TestLedger } from './ledger.ts'

export interface JsonAnswer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly body: any
}

export interface PartnerCall {
  readonly key?: string | null
  readonly method?: string
  readonly headers?: Record<string, string>
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as it is, with `application/json` unless the headers say otherwise. */
  readonly raw?: string | Uint8Array<ArrayBuffer>
}

/** Exchanges kept for the check at the end. */
const SEEN_MAX = 100_000

/** The whole service over HTTP, on a free local port. */
export interface PartnerService extends TestLedger {
  readonly url: string
  readonly port: number
  readonly logged: { fields: object; message: string }[]
  readonly bugs: unknown[]
  /**
   * `path` begins after `/partner/v1`, unless it begins with `//`. Every answer is held against the OpenAPI document; what it
   * does not allow fails `close`.
   */
  call(path: string, options?: PartnerCall): Promise<JsonAnswer>
}

export async function startPartnerService(options: Parameters<typeof openTestLedger>[0] = {}): Promise<PartnerService> {
  const test = await openTestLedger(options)
  const logged: PartnerService['logged'] = []
  const bugs: unknown[] = []
  const seen: SeenExchange[] = []
  const app = createApp({
    ledger: test.ledger,
    log: { error: (fields, message) => logged.push({ fields, message }) },
    onBug: (error) => bugs.push(error),
  })
  app.listen({ hostname: '127.0.0.1', port: 0 })
  const port = app.server?.port ?? 0
  const url = `http://127.0.0.1:${port}`
  return {
    ...test,
    url,
    port,
    logged,
    bugs,
    call: async (path, sent = {}) => {
      const fullPath = path.startsWith('//') ? path.slice(1) : `/partner/v1${path}`
      const answer = await send(url + fullPath, sent)
      if (seen.length < SEEN_MAX) seen.push({ method: methodOf(sent), path: fullPath, ...answer })
      return answer
    },
    close: async () => {
      const document = (await send(`${url}/partner/v1/openapi.json`, {})).body
      await app.stop(true)
      await test.close()
      const conformity = new Conformity(document)
      const faults = new Set(seen.flatMap((exchange) => conformity.faultsIn(exchange)))
      if (faults.size > 0)
        throw new Error(`Answers that the OpenAPI document does not allow:\n${[...faults].slice(0, 20).join('\n')}`)
    },
  }
}

function methodOf({ method, json, raw }: PartnerCall): string {
  return method ?? (json === undefined && raw === undefined ? 'GET' : 'POST')
}

async function send(url: string, call: PartnerCall): Promise<JsonAnswer> {
  const { key, headers, json, raw } = call
  const hasBody = json !== undefined || raw !== undefined
  const response = await fetch(url, {
    method: methodOf(call),
    headers: {
      ...(key == null ? {} : { authorization: `Bearer ${key}` }),
      ...(hasBody ? { 'content-type': 'application/json' } : {}),
      ...headers,
    },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    ...(raw === undefined ? {} : { body: raw }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}
