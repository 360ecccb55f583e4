import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { ServerCertificate } from '../../../support/test-authority.ts'

/** A receiver that writes raw bytes, for responses that no HTTP server would send. Counts connections. */
interface OddReceiver {
  readonly port: number
  readonly connections: () => number
  stop(): Promise<void>
}

/**
 * @param certificate null for a plain TCP server, which can also stall in the TLS handshake
 * @param onRequest called once the head of a request has arrived
 */
export async function startOddReceiver(
  certificate: ServerCertificate | null,
  onRequest: (socket: Socket) => void,
  hostname = '127.0.0.1',
): Promise<OddReceiver> {
  const open = new Set<Socket>()
  let connections = 0
  const onConnection = (socket: Socket) => {
    connections += 1
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
    let head = ''
    socket.on('data', (chunk) => {
      const had = head.includes('\r\n\r\n')
      head += chunk.toString('latin1')
      if (!had && head.includes('\r\n\r\n')) onRequest(socket)
    })
  }
  const server: Server =
    certificate === null
      ? createServer(onConnection)
      : createTlsServer({ cert: certificate.cert, key: certificate.key }, onConnection)
  await new Promise<void>((resolve) => server.listen(0, hostname, resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    connections: () => connections,
    stop: async () => {
      for (const socket of open) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
