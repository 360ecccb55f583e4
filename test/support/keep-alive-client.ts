import { connect, type Socket } from 'node:net'
import { SeededRandom } from '../../src/lib/seeded-random.ts'

/** The outcomes of the requests of some clients. A `lost` one was sent on an open connection, and never answered in full. */
interface Outcomes {
  readonly statuses: Map<number, number>
  /** Answers that told the client to use another connection. */
  closing: number
  lost: string[]
  /** Connections that were not accepted: the request was never sent. */
  refused: number
}

export function noOutcomes(): Outcomes {
  return { statuses: new Map(), closing: 0, lost: [], refused: 0 }
}

/** For the pauses between requests, so that clients do not march in step. */
const dice = new SeededRandom(1)

/** `thinkMs`: the longest pause between an answer and the next request. */
interface KeepAliveOptions {
  /** This machine, unless told. */
  readonly host?: string
  readonly port: number
  readonly nextRequest: () => string
  readonly thinkMs: number
  readonly outcomes: Outcomes
  /** Whether to send no more. */
  readonly isOver?: () => boolean
}

/**
 * A client of HTTP/1.1 that uses a connection for as long as it may and sees what `fetch` would hide by repeating: whether a
 * request that it sent was answered. Ends when connections are refused, or `isOver`.
 */
export async function keepAliveClient(options: KeepAliveOptions): Promise<void> {
  const { outcomes, isOver = () => false } = options
  while (!isOver()) {
    const socket = await open(options.port, options.host)
    if (socket === null) {
      outcomes.refused += 1
      return
    }
    await useConnection(socket, options)
  }
}

async function useConnection(socket: Socket, options: KeepAliveOptions): Promise<void> {
  const { nextRequest, thinkMs, outcomes, isOver = () => false } = options
  const connection = new Connection(socket)
  for (;;) {
    await Bun.sleep(dice.next() * thinkMs)
    // After a stall, timers fire before pending socket events. Let those run first, so that a closed connection is noticed.
    await Bun.sleep(0)
    if (connection.isOver) return
    if (isOver()) {
      socket.destroy()
      return
    }
    const head = await connection.ask(nextRequest())
    if (head === null) {
      outcomes.lost.push(connection.end)
      return
    }
    const status = Number(head.split(' ')[1])
    outcomes.statuses.set(status, (outcomes.statuses.get(status) ?? 0) + 1)
    if (/^connection: close\r?$/im.test(head)) {
      outcomes.closing += 1
      socket.destroy()
      return
    }
  }
}

class Connection {
  end = 'open'
  readonly #socket: Socket
  #received = ''
  #settle: (head: string | null) => void = () => {}

  constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      this.#received += chunk
      const head = this.#wholeAnswer()
      if (head !== null) this.#settle(head)
    })
    socket.on('error', (error) => this.#over(error.message))
    socket.on('end', () => this.#over('closed'))
    socket.on('close', () => this.#over('closed'))
  }

  get isOver(): boolean {
    return this.end !== 'open'
  }

  /** @returns the head of the answer; null when the connection ended without it */
  ask(request: string): Promise<string | null> {
    return new Promise((resolve) => {
      this.#received = ''
      this.#settle = resolve
      this.#socket.write(request)
    })
  }

  #over(how: string): void {
    if (this.end === 'open') this.end = how
    this.#settle(null)
  }

  #wholeAnswer(): string | null {
    const end = this.#received.indexOf('\r\n\r\n')
    if (end === -1) return null
    const head = this.#received.slice(0, end)
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
    return this.#received.length >= end + 4 + length ? head : null
  }
}

function open(port: number, host = '127.0.0.1'): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect(port, host)
    socket.once('connect', () => resolve(socket))
    socket.once('error', () => resolve(null))
  })
}
