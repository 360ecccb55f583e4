/**
 * One keep-alive connection over a raw socket with one request in flight. Of a response it checks the status and the length,
 * and parses nothing else, so that the load generator costs as little as possible.
 */
import type { Socket } from 'bun'

export interface Planned {
  readonly bytes: Buffer
  /** Any other status ends the run. */
  readonly status: number
  /**
   * Called with the body before the next request is planned.
   * @returns the next step of the same flow, which counts as part of this request
   */
  readonly onAnswer?: (body: string) => Planned | undefined
}

/** What a run does with its connections. */
export interface Run {
  /** Null: no more requests. */
  next(): Planned | null
  /** With a flow: its last request. @param ns since the first one was sent */
  answered(ns: number): void
  /** There was no more request: the connection sends nothing until `send` is called again. */
  idle?(connection: HttpConnection): void
  failed(why: string): void
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH = /content-length: (\d+)/i
const CLOSES = /\r\nconnection: close\r\n/i
const PLACE_OF_STATUS = 'HTTP/1.1 '.length

export class HttpConnection {
  readonly #run: Run
  #socket: Socket | null = null
  #planned: Planned | null = null
  #since = 0
  /** Bytes of the answer still to come. */
  #missing = 0
  #body: Buffer[] = []
  /** The beginning of an answer whose head came in pieces: a large answer leaves the server in several writes. */
  #begun: Buffer | null = null
  /** The server closes the connection after this answer. */
  #closes = false
  readonly #address: { readonly hostname: string; readonly port: number }

  private constructor(run: Run, address: { readonly hostname: string; readonly port: number }) {
    this.#run = run
    this.#address = address
  }

  static async open(port: number, run: Run, hostname = '127.0.0.1'): Promise<HttpConnection> {
    const connection = new HttpConnection(run, { hostname, port })
    await connection.#connect()
    return connection
  }

  async #connect(): Promise<void> {
    this.#closes = false
    const socket = await Bun.connect({
      ...this.#address,
      socket: {
        data: (_, chunk) => this.#receive(chunk),
        close: (closed) => {
          if (closed === this.#socket) this.#closed()
        },
        error: (_, error) => this.#run.failed(String(error)),
      },
    })
    this.#socket = socket
  }

  /** Sends the next request, if there is one. */
  send(): void {
    this.#planned = this.#run.next()
    if (this.#planned === null) {
      this.#run.idle?.(this)
      return
    }
    this.#since = Bun.nanoseconds()
    this.#socket?.write(this.#planned.bytes)
  }

  close(): void {
    this.#socket?.end()
  }

  #receive(chunk: Buffer): void {
    if (this.#planned === null) return
    const fault = this.#take(this.#planned, chunk)
    if (fault !== null) this.#run.failed(fault)
    else if (this.#missing === 0 && this.#begun === null) this.#answered(this.#planned)
  }

  /** What is wrong with an answer so far; null when nothing is. */
  #take(planned: Planned, arrived: Buffer): string | null {
    const chunk = this.#begun === null ? arrived : Buffer.concat([this.#begun, arrived])
    this.#begun = null
    if (this.#missing === 0) {
      const end = chunk.indexOf(HEAD_END)
      if (end === -1) {
        this.#begun = Buffer.from(chunk)
        return null
      }
      const head = chunk.toString('latin1', 0, end)
      const status = Number(head.slice(PLACE_OF_STATUS, PLACE_OF_STATUS + 3))
      if (status !== planned.status) return `${status} instead of ${planned.status}: ${chunk.toString('latin1', end)}`
      const length = Number(LENGTH.exec(head)?.[1] ?? Number.NaN)
      if (Number.isNaN(length)) return 'an answer without Content-Length'
      this.#closes = CLOSES.test(`${head}\r\n`)
      this.#missing = length - (chunk.length - end - HEAD_END.length)
      if (planned.onAnswer !== undefined) this.#body.push(Buffer.from(chunk.subarray(end + HEAD_END.length)))
    } else {
      this.#missing -= chunk.length
      if (planned.onAnswer !== undefined) this.#body.push(Buffer.from(chunk))
    }
    if (this.#missing < 0) return 'more bytes than were announced'
    return null
  }

  #answered(planned: Planned): void {
    if (this.#closes) {
      this.#socket = null
      this.#planned = null
      this.#connect().then(
        () => this.#continue(planned),
        (error) => this.#run.failed(String(error)),
      )
    } else this.#continue(planned)
  }

  #continue(planned: Planned): void {
    const step = planned.onAnswer === undefined ? undefined : planned.onAnswer(this.#takeBody())
    if (step !== undefined) {
      this.#planned = step
      this.#socket?.write(step.bytes)
      return
    }
    this.#run.answered(Bun.nanoseconds() - this.#since)
    this.send()
  }

  #takeBody(): string {
    const body = Buffer.concat(this.#body).toString()
    this.#body = []
    return body
  }

  #closed(): void {
    if (this.#planned !== null) this.#run.failed('a connection that was closed before its answer')
  }
}
