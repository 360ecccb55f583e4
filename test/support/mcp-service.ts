import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { createApp } from '../../src/api/app.ts'
import { mcpEndpoint } from '../../src/api/mcp/mcp-endpoint.ts'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { openTestLedger, type TestLedger } from './ledger.ts'
import { CALLER, requestFor } from './open-ledger.ts'

/** REST and the tool endpoint over HTTP on a free local port, as the service runs them. */
export interface McpService extends TestLedger {
  readonly url: string
  readonly logged: { fields: object; message: string }[]
  readonly bugs: unknown[]
  /** Sends a body to `/mcp` as it is, with the headers of a handshake client. */
  post(secret: string | null, body: unknown, headers?: Record<string, string>): Promise<McpAnswer>
  /** The SDK's own client, connected. Closed with the service. */
  client(secret: string): Promise<Client>
}

export interface McpAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly body: any
}

export async function startMcpService(options: Parameters<typeof openTestLedger>[0] = {}): Promise<McpService> {
  const test = await openTestLedger(options)
  const { ledger } = test
  const logged: McpService['logged'] = []
  const bugs: unknown[] = []
  const clients: Client[] = []
  const app = createApp({
    ledger,
    mounts: [({ requestStats, onFailure }) => mcpEndpoint({ ledger, requestStats, onFailure })],
    log: { error: (fields, message) => logged.push({ fields, message }) },
    onBug: (error) => bugs.push(error),
  })
  app.listen({ hostname: '127.0.0.1', port: 0 })
  const url = `http://127.0.0.1:${app.server?.port ?? 0}`
  return {
    ...test,
    url,
    logged,
    bugs,
    post: (secret, body, headers = {}) => postTo(`${url}/mcp`, secret, body, headers),
    client: async (secret) => {
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
      await app.stop(true)
      await test.close()
    },
  }
}

/** @param body sent as JSON, unless it is text or bytes already */
export async function postTo(
  url: string,
  secret: string | null,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<McpAnswer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      ...(secret === null ? {} : { authorization: `Bearer ${secret}` }),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: text === '' ? null : JSON.parse(text) }
}

/** A stay in the unit's calendar. */
export async function bookNights(test: TestLedger, agency: Agency, unit: Unit, arrival: string, departure: string) {
  const outcome = await test.ledger.commands.book(agency, requestFor(unit, arrival, departure), CALLER)
  if (outcome.kind !== 'done') throw new Error('Cannot book nights in a test: they are taken')
  return outcome.booking
}
