import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

/**
 * What happens to a request on its way to the service:
 * `cut`: the service gets it and acts, its answer is lost. `half`: half of the answer arrives. `repeat`: a stream's events come twice.
 * `tear`: a stream ends in the middle of an event. `hold`: of a stream, nothing arrives. An answer: the service gets nothing.
 */
export type Fault =
  | 'cut'
  | 'half'
  | 'repeat'
  | 'tear'
  | 'hold'
  | { readonly status: number; readonly headers?: Record<string, string>; readonly json?: unknown }

/** An HTTP proxy in front of the service. The first requests meet the faults that are listed, later ones none. */
export class FaultProxy {
  readonly #target: string
  #faults: (Fault | null)[] = []
  #onStream = () => {}
  readonly #leaving = new AbortController()
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch(() => response.destroy())
  })

  private constructor(target: string) {
    this.#target = target
  }

  static async start(target: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(target)
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get url(): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('The proxy does not listen')
    return `http://127.0.0.1:${address.port}`
  }

  /** null: the request passes. */
  begin(faults: readonly (Fault | null)[]): void {
    this.#faults = [...faults]
  }

  get left(): number {
    return this.#faults.length
  }

  /** Resolves when the service has begun to answer the next stream. */
  nextStream(): Promise<void> {
    return new Promise((resolve) => {
      this.#onStream = resolve
    })
  }

  stop(): void {
    this.#leaving.abort()
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Uint8Array[] = []
    for await (const part of request) parts.push(part)
    const fault = this.#faults.shift() ?? null
    if (typeof fault === 'object' && fault !== null) {
      response.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers })
      response.end(fault.json === undefined ? '' : JSON.stringify(fault.json))
      return
    }
    const away = new AbortController()
    response.on('close', () => away.abort())
    const { host: _, connection: __, ...headers } = request.headers as Record<string, string>
    const answer = await fetch(this.#target + (request.url ?? ''), {
      method: request.method ?? 'GET',
      headers,
      ...(parts.length > 0 ? { body: Buffer.concat(parts) } : {}),
      redirect: 'manual',
      signal: AbortSignal.any([away.signal, this.#leaving.signal]),
    })
    const heads = Object.fromEntries(answer.headers)
    if (heads['content-type'] === 'text/event-stream') {
      await this.#stream(answer, fault, heads, response)
      return
    }
    const body = Buffer.from(await answer.arrayBuffer())
    if (fault === 'cut') {
      request.socket.destroy()
      return
    }
    response.writeHead(answer.status, { ...heads, 'content-length': `${body.length}` })
    if (fault !== 'half') {
      response.end(body)
      return
    }
    response.write(body.subarray(0, body.length / 2), () => request.socket.destroy())
  }

  async #stream(answer: Response, fault: Fault | null, heads: Record<string, string>, response: ServerResponse) {
    response.writeHead(answer.status, heads)
    response.flushHeaders()
    this.#onStream()
    for await (const part of answer.body ?? []) {
      const text = new TextDecoder().decode(part)
      if (fault === 'hold') continue
      if (fault === 'tear') {
        response.write(text.slice(0, text.lastIndexOf('data:') + 20), () => response.destroy())
        return
      }
      response.write(fault === 'repeat' ? text + text : text)
    }
    response.end()
  }
}
