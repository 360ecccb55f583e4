import { createApp } from '../../src/api/app.ts'
import { openPortal } from '../../src/app/open-portal.ts'
import { openWebhookCommands } from '../../src/app/open-webhooks.ts'
import { Conformity, type SeenExchange } from './conformity.ts'
import { openTestLedger, type TestLedger } from './ledger.ts'
import type { JsonAnswer } from './partner-service.ts'
import { TEST_PORTAL_TOKEN, TEST_SECRET_KEY } from './service-process.ts'

export interface PortalAsk {
  /** The portal's, unless it is another one or null for none. */
  readonly token?: string | null
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly raw?: string
}

/** The whole service over HTTP, on a free local port. */
export interface PortalService extends TestLedger {
  readonly url: string
  readonly bugs: unknown[]
  readonly logged: { fields: object; message: string }[]
  /**
   * Every answer is held against the OpenAPI document of the portal; what it does not allow fails `close`.
   * `path` begins after `/portal/v1`, unless it begins with `//`. `body` is sent as JSON; its method is POST unless told.
   */
  ask(path: string, body?: unknown, options?: PortalAsk): Promise<JsonAnswer>
  get(path: string): Promise<JsonAnswer>
  patch(path: string, body: unknown): Promise<JsonAnswer>
  put(path: string, body: unknown): Promise<JsonAnswer>
  delete(path: string): Promise<JsonAnswer>
  /** A partner's request; `path` begins after `/partner/v1`. */
  asPartner(secret: string, path: string, body?: unknown): Promise<JsonAnswer>
}

export async function startPortalService(options: Parameters<typeof openTestLedger>[0] = {}): Promise<PortalService> {
  const test = await openTestLedger(options)
  const logged: PortalService['logged'] = []
  const bugs: unknown[] = []
  const secretKey = Uint8Array.fromHex(TEST_SECRET_KEY)
  // Nobody listens there: what is registered is reachable by name alone.
  const webhooks = openWebhookCommands(test.ledger, { secretKey, allowHosts: ['localhost:9', 'localhost:10'] })
  const app = createApp({
    ledger: test.ledger,
    portal: {
      ledger: openPortal(test.ledger, {
        secretKey,
        webhooks,
        draining: new AbortController().signal,
        withoutIdleTimeout: (_, answer) => answer(),
      }),
      token: TEST_PORTAL_TOKEN,
    },
    log: { error: (fields, message) => logged.push({ fields, message }) },
    onBug: (error) => bugs.push(error),
  })
  app.listen({ hostname: '127.0.0.1', port: 0 })
  const url = `http://127.0.0.1:${app.server?.port ?? 0}`
  const seen: SeenExchange[] = []
  const ask = async (path: string, body?: unknown, { token = TEST_PORTAL_TOKEN, ...sent }: PortalAsk = {}) => {
    const fullPath = path.startsWith('//') ? path.slice(1) : `/portal/v1${path}`
    const answer = await send(url + fullPath, body, { token, ...sent })
    const method = sent.method ?? (body === undefined && sent.raw === undefined ? 'GET' : 'POST')
    // The document is of JSON, and of the portal.
    if (fullPath.startsWith('/portal/') && !UNDESCRIBED.test(fullPath)) seen.push({ method, path: fullPath, ...answer })
    return answer
  }
  return {
    ...test,
    url,
    bugs,
    logged,
    ask,
    get: (path) => ask(path),
    patch: (path, body) => ask(path, body, { method: 'PATCH' }),
    put: (path, body) => ask(path, body, { method: 'PUT' }),
    delete: (path) => ask(path, undefined, { method: 'DELETE' }),
    asPartner: (secret, path, body) => ask(`//partner/v1${path}`, body, { token: secret }),
    close: async () => {
      const document = (await send(`${url}/portal/v1/openapi.json`, undefined, { token: null })).body
      await app.stop(true)
      await test.close()
      const conformity = new Conformity(document)
      const faults = new Set(seen.flatMap((exchange) => conformity.faultsIn(exchange)))
      if (faults.size > 0)
        throw new Error(`Answers that the portal's document does not allow:\n${[...faults].slice(0, 20).join('\n')}`)
    },
  }
}

const UNDESCRIBED = /calendar\.ics|openapi\.json/

async function send(url: string, body: unknown, { token, method, headers, raw }: PortalAsk): Promise<JsonAnswer> {
  const text = raw ?? (body === undefined ? undefined : JSON.stringify(body))
  const response = await fetch(url, {
    method: method ?? (text === undefined ? 'GET' : 'POST'),
    headers: {
      ...(token == null ? {} : { authorization: `Bearer ${token}` }),
      ...(text === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(text === undefined ? {} : { body: text }),
  })
  const answer = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(answer) : answer }
}
