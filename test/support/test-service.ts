import { afterAll } from 'bun:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { PortalAccess } from '../../src/accounts/portal-access.ts'
import { TokenRateLimit } from '../../src/accounts/token-rate-limit.ts'
import { createApp, type PortalOptions } from '../../src/api/app.ts'
import { mcpEndpoint } from '../../src/api/mcp/mcp-endpoint.ts'
import { openPortal } from '../../src/app/open-portal.ts'
import { openWebhookCommands } from '../../src/app/open-webhooks.ts'
import { Conformity, type SeenExchange } from './conformity.ts'
import { type HttpAnswer, type HttpCall, methodOf, send } from './http-call.ts'
import { openTestLedger, type TestLedger } from './ledger.ts'
import { TEST_PAGE_URL, TEST_PORTAL_TOKEN, TEST_SECRET_KEY } from './service-process.ts'

/** A partner's request. */
export type PartnerCall = Omit<HttpCall, 'token'> & { readonly key?: string | null }

/** A portal's request: with the portal's token, unless it is another one or null for none. */
type PortalCall = Omit<HttpCall, 'json'>

/**
 * The whole service in this process, over HTTP on a free local port: REST, the portal and the tools, over a ledger on a
 * database of its own. Every answer of REST and the portal is checked against the OpenAPI document; what it does not allow fails
 * `close`.
 */
export interface TestService extends TestLedger {
  readonly url: string
  readonly port: number
  readonly logged: { fields: object; message: string }[]
  readonly bugs: unknown[]
  /** `path` begins after `/partner/v1`, unless it begins with `//`. */
  call(path: string, options?: PartnerCall): Promise<HttpAnswer>
  asPartner(secret: string, path: string, json?: unknown): Promise<HttpAnswer>
  /** The portal's. `path` begins after `/portal/v1`, unless it begins with `//`. `json` is sent with POST unless told. */
  ask(path: string, json?: unknown, options?: PortalCall): Promise<HttpAnswer>
  get(path: string): Promise<HttpAnswer>
  patch(path: string, json: unknown): Promise<HttpAnswer>
  put(path: string, json: unknown): Promise<HttpAnswer>
  delete(path: string): Promise<HttpAnswer>
  /** Sends a body to `/mcp` with the headers of a handshake client: as JSON, unless it is text already. */
  mcp(secret: string | null, body: unknown, headers?: Record<string, string>): Promise<HttpAnswer>
  /** The MCP SDK's own client, connected. Closed with the service. */
  mcpClient(secret: string): Promise<Client>
}

/** Exchanges of one surface that are kept for the check at the end. */
const SEEN_MAX = 100_000
/** Answers of the portal that are not JSON, or the document itself. */
const UNDESCRIBED = /calendar\.ics|openapi\.json/

/** One for all tests of a file, which is closed after them. To be called at the top of the file. */
export async function sharedTestService(options: Parameters<typeof startTestService>[0] = {}): Promise<TestService> {
  const service = await startTestService(options)
  afterAll(() => service.close())
  return service
}

/** @param options.requestsPerMinute of each access token; left out: no limit */
export async function startTestService({
  requestsPerMinute,
  people = {},
  throttledSignIn = () => null,
  isFlooding = () => false,
  ...options
}: Parameters<typeof openTestLedger>[0] & {
  readonly requestsPerMinute?: number
  readonly people?: NonNullable<Parameters<typeof appOver>[1]['people']>
  readonly throttledSignIn?: PortalOptions['throttledSignIn']
  readonly isFlooding?: PortalOptions['isFlooding']
} = {}): Promise<TestService> {
  const test = await openTestLedger(options)
  const { clock } = test.ledger
  const rateLimit =
    requestsPerMinute === undefined ? {} : { rateLimit: new TokenRateLimit({ clock, requestsPerMinute }) }
  const logged: TestService['logged'] = []
  const bugs: unknown[] = []
  const app = appOver(test, {
    ...rateLimit,
    people,
    throttledSignIn,
    isFlooding,
    log: { error: (fields, message) => logged.push({ fields, message }) },
    onBug: (error) => bugs.push(error),
  })
  app.listen({ hostname: '127.0.0.1', port: 0 })
  const port = app.server?.port ?? 0
  const url = `http://127.0.0.1:${port}`
  const seen = { partner: [] as SeenExchange[], portal: [] as SeenExchange[] }
  const exchange = async (path: string, sent: HttpCall, surface: keyof typeof seen | null): Promise<HttpAnswer> => {
    const answer = await send(url + path, sent)
    if (surface !== null && seen[surface].length < SEEN_MAX)
      seen[surface].push({ method: methodOf(sent), path, ...answer })
    return answer
  }
  const call: TestService['call'] = (path, { key = null, ...sent } = {}) =>
    exchange(pathUnder('/partner/v1', path), { ...sent, token: key }, 'partner')
  const ask: TestService['ask'] = (given, json, { token = TEST_PORTAL_TOKEN, ...sent } = {}) => {
    const path = pathUnder('/portal/v1', given)
    const isDescribed = path.startsWith('/portal/') && !UNDESCRIBED.test(path)
    return exchange(path, { ...sent, token, ...(json === undefined ? {} : { json }) }, isDescribed ? 'portal' : null)
  }
  const clients: Client[] = []
  return {
    ...test,
    url,
    port,
    logged,
    bugs,
    call,
    ask,
    asPartner: (key, path, json) => call(path, { key, ...(json === undefined ? {} : { json }) }),
    get: (path) => ask(path),
    patch: (path, json) => ask(path, json, { method: 'PATCH' }),
    put: (path, json) => ask(path, json, { method: 'PUT' }),
    delete: (path) => ask(path, undefined, { method: 'DELETE' }),
    mcp: (token, body, more = {}) => {
      const headers = { accept: 'application/json, text/event-stream', ...more }
      return send(`${url}/mcp`, { token, headers, ...(typeof body === 'string' ? { raw: body } : { json: body }) })
    },
    mcpClient: async (secret) => {
      const client = new Client({ name: 'test', version: '1' })
      const requestInit = { headers: { authorization: `Bearer ${secret}` } }
      // The cast: the SDK's own types disagree under exactOptionalPropertyTypes.
      const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit })
      await client.connect(transport as Parameters<Client['connect']>[0])
      clients.push(client)
      return client
    },
    close: async () => {
      for (const client of clients) await client.close()
      const documents = {
        partner: (await send(`${url}/partner/v1/openapi.json`)).text,
        portal: (await send(`${url}/portal/v1/openapi.json`)).text,
      }
      await app.stop(true)
      await test.close()
      for (const surface of ['partner', 'portal'] as const) expectDescribed(surface, documents[surface], seen[surface])
    },
  }
}

/** The surfaces of a ledger, as the service has them on one port. */
export function appOver(
  { ledger }: Pick<TestLedger, 'ledger'>,
  {
    rateLimit,
    people = {},
    throttledSignIn = () => null,
    isFlooding = () => false,
    ...watch
  }: Pick<Parameters<typeof createApp>[0], 'log' | 'onBug'> & {
    rateLimit?: TokenRateLimit
    people?: Partial<Parameters<typeof openPortal>[1]['people']>
    throttledSignIn?: PortalOptions['throttledSignIn']
    isFlooding?: PortalOptions['isFlooding']
  },
) {
  const secretKey = Uint8Array.fromHex(TEST_SECRET_KEY)
  // Nobody listens there: what is registered is reachable by name alone.
  const webhooks = openWebhookCommands(ledger, { secretKey, allowHosts: ['localhost:9', 'localhost:10'] })
  const { catalogue, newId } = ledger
  const agencies = { allAgencies: () => catalogue.agencies(), newAgencyId: () => newId('agc') }
  const portal = openPortal(ledger, {
    secretKey,
    webhooks,
    agencies,
    runRetention: null,
    residentUnits: null,
    people: { pageUrl: () => TEST_PAGE_URL, oidc: null, onOidcFailure: () => {}, mailer: null, ...people },
    draining: new AbortController().signal,
  })
  return createApp({
    ledger,
    portal: {
      ledger: { ...portal, withoutIdleTimeout: (_, answer) => answer(), publicUrl: ({ url }) => url },
      access: new PortalAccess({
        ...ledger,
        operatorTokens: [TEST_PORTAL_TOKEN],
        ...(rateLimit === undefined ? {} : { rateLimit }),
      }),
      throttled: () => null,
      throttledSignIn,
      isFlooding,
      addressOf: () => '127.0.0.1',
    },
    mounts: [({ requestStats, onFailure }) => mcpEndpoint({ ledger, requestStats, onFailure })],
    ...watch,
  })
}

function pathUnder(prefix: string, path: string): string {
  return path.startsWith('//') ? path.slice(1) : prefix + path
}

/** By the text of the document, which hardly ever differs: compiling its schemas takes longer than most tests. */
const conformities = new Map<string, Conformity>()

/** @throws Error that names the answers that the document does not allow */
function expectDescribed(surface: string, document: string, seen: readonly SeenExchange[]): void {
  const conformity = conformities.getOrInsertComputed(document, () => new Conformity(JSON.parse(document)))
  const faults = new Set(seen.flatMap((exchange) => conformity.faultsIn(exchange)))
  if (faults.size > 0)
    throw new Error(`Answers that the ${surface} document does not allow:\n${[...faults].slice(0, 20).join('\n')}`)
}
