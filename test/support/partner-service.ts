import { createApp } from '../../src/http/app.ts'
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

/** What is told to a test about every exchange, so that one place can check them all. */
export type Exchange = {
  readonly method: string
  readonly path: string
  readonly sent: PartnerCall
  readonly answer: JsonAnswer
}

/** The whole service over HTTP, on a free local port. */
export interface PartnerService extends TestLedger {
  readonly url: string
  readonly port: number
  readonly logged: { fields: object; message: string }[]
  readonly bugs: unknown[]
  readonly exchanges: Exchange[]
  /** `path` begins after `/partner/v1`, unless it begins with `//`. */
  call(path: string, options?: PartnerCall): Promise<JsonAnswer>
}

export async function startPartnerService(options: Parameters<typeof openTestLedger>[0] = {}): Promise<PartnerService> {
  const test = await openTestLedger(options)
  const logged: PartnerService['logged'] = []
  const bugs: unknown[] = []
  const exchanges: Exchange[] = []
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
    exchanges,
    call: async (path, sent = {}) => {
      const answer = await send(path.startsWith('//') ? url + path.slice(1) : `${url}/partner/v1${path}`, sent)
      exchanges.push({ method: methodOf(sent), path, sent, answer })
      return answer
    },
    close: async () => {
      await app.stop(true)
      await test.close()
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
