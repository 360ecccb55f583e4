import type { ServerCertificate } from '../../../support/test-authority.ts'

interface Received {
  readonly at: number
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body: string
}

/** An https (or http) receiver on loopback that records requests in order. */
export interface Receiver {
  readonly port: number
  readonly received: Received[]
  /** The response to each request; 204 by default. */
  answer: (request: Received) => Response | Promise<Response>
  stop(): Promise<void>
}

export function startReceiver(
  certificate: ServerCertificate | null,
  { hostname = '127.0.0.1', port = 0 }: { hostname?: string; port?: number } = {},
): Receiver {
  const received: Received[] = []
  const receiver: Omit<Receiver, 'port' | 'stop'> = { received, answer: () => new Response(null, { status: 204 }) }
  const server = Bun.serve({
    hostname,
    port,
    idleTimeout: 60,
    ...(certificate === null ? {} : { tls: { cert: certificate.cert, key: certificate.key } }),
    fetch: async (request) => {
      const one: Received = {
        at: Date.now(),
        method: request.method,
        path: new URL(request.url).pathname,
        headers: request.headers,
        body: await request.text(),
      }
      received.push(one)
      return await receiver.answer(one)
    },
  })
  return Object.assign(receiver, { port: server.port ?? 0, stop: () => server.stop(true) })
}
