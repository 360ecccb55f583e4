import { connect, createServer, type Socket } from 'node:net'

/**
 * A TCP proxy on a fixed port of loopback in front of a server whose port may change. It can lose replies: the request
 * has reached the server, its answer never reaches the client.
 */
export class TcpProxy {
  /** Where connections go. */
  target: number
  /** Asked for every piece the server sends; true drops it and cuts the connection. */
  losesReply: () => boolean = () => false
  /** The next request that holds this text reaches the server, and its connection is cut when the server answers. */
  losesReplyTo: string | null = null
  /** True: whatever either side sends goes nowhere, and no connection is cut, as after a failover that leaves no trace. */
  isSilent = false
  /** Connections are cut as soon as they are made, as if nobody listened. */
  #isCutOff = false
  /** Pieces dropped so far. */
  lost = 0
  readonly #server = createServer((client) => this.#serve(client))
  readonly #sockets = new Set<Socket>()

  private constructor(target: number) {
    this.target = target
  }

  static async start(target: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target)
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get port(): number {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('The proxy does not listen')
    return address.port
  }

  stop(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Cuts every connection there is; later ones are served. */
  cutAll(): void {
    for (const socket of [...this.#sockets]) socket.destroy()
  }

  /** As if the server's host had lost its network, until `reconnect`. */
  cutOff(): void {
    this.#isCutOff = true
    this.cutAll()
  }

  reconnect(): void {
    this.#isCutOff = false
  }

  #serve(client: Socket): void {
    if (this.#isCutOff) {
      client.destroy()
      return
    }
    const upstream = connect(this.target, '127.0.0.1')
    const cut = () => {
      client.destroy()
      upstream.destroy()
      this.#sockets.delete(client)
    }
    this.#sockets.add(client)
    let isLost = false
    const goesNowhere = (): boolean => {
      // What was swallowed cannot be made up for: such a connection stays silent.
      isLost ||= this.isSilent
      return isLost
    }
    let isDoomed = false
    client.on('data', (piece) => {
      if (goesNowhere()) return
      if (this.losesReplyTo !== null && piece.includes(this.losesReplyTo)) {
        isDoomed = true
        this.losesReplyTo = null
      }
      upstream.write(piece)
    })
    upstream.on('data', (piece) => {
      if (goesNowhere()) return
      if (!isDoomed && !this.losesReply()) {
        client.write(piece)
        return
      }
      this.lost += 1
      cut()
    })
    for (const socket of [client, upstream]) {
      socket.on('close', cut)
      // A reset is one of the ways to be cut.
      socket.on('error', cut)
    }
  }
}
