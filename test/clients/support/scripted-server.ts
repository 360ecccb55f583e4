import { createServer, type Socket } from 'node:net'
import type { WireExchange } from './conformance-cases.ts'

/** A request as it came over the wire. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

const JSON_HEADERS = { 'content-type': 'application/json', 'x-request-id': 'req_scripted' }

/** Answers each request with the next answer of a script, whatever is asked; below HTTP, so that it can break answers off. */
export class ScriptedServer {
  readonly received: Received[] = []
  #script: WireExchange['answer'][] = []
  readonly #sockets = new Set<Socket>()
  readonly #server = createServer((socket) => this.#serve(socket))

  static async start(): Promise<ScriptedServer> {
    const server = new ScriptedServer()
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  get url(): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('The scripted server does not listen')
    return `http://127.0.0.1:${address.port}`
  }

  begin(script: readonly WireExchange['answer'][]): void {
    this.#script = [...script]
    this.received.length = 0
    for (const socket of this.#sockets) socket.destroy()
  }

  stop(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => {})
    let bytes = Buffer.alloc(0)
    socket.on('data', (piece) => {
      bytes = Buffer.concat([bytes, Buffer.from(piece)])
      const end = bytes.indexOf('\r\n\r\n')
      if (end === -1) return
      const [first = '', ...lines] = bytes.subarray(0, end).toString().split('\r\n')
      const headers = Object.fromEntries(
        lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
      )
      const body = bytes.subarray(end + 4)
      if (body.length < Number(headers['content-length'] ?? 0)) return
      bytes = Buffer.alloc(0)
      const [method = '', path = ''] = first.split(' ')
      this.received.push({ method, path, headers, body: body.length === 0 ? null : JSON.parse(body.toString()) })
      this.#answer(socket, this.#script.shift())
    })
  }

  #answer(socket: Socket, answer: WireExchange['answer'] | undefined): void {
    if (answer === undefined) {
      // More requests than the script has answers: the comparison of both shows it.
      socket.end('HTTP/1.1 410 Gone\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
      return
    }
    if (answer.fault === 'disconnect') {
      socket.destroy()
      return
    }
    const status = answer.status ?? 200
    const isStream = answer.stream !== undefined
    const body = answer.stream ?? answer.text ?? (answer.json === undefined ? '' : JSON.stringify(answer.json))
    const headers: Record<string, string> = {
      ...(isStream ? { 'content-type': 'text/event-stream' } : JSON_HEADERS),
      ...answer.headers,
      connection: 'close',
      ...(isStream ? {} : { 'content-length': `${Buffer.byteLength(body)}` }),
    }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const text = `HTTP/1.1 ${status} Scripted\r\n${lines.join('')}\r\n`
    if (answer.fault === 'half') {
      socket.write(text + body.slice(0, Math.ceil(body.length / 2)), () => socket.destroy())
      return
    }
    if (answer.fault === 'silence') socket.write(text + body)
    else socket.end(text + body)
  }
}
