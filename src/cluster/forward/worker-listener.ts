/** Where a worker takes requests from the other workers of its machine, and answers them. */
import { lstatSync, mkdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { targetOf } from '../../http/request.ts'
import { type Clock, sleep, systemClock } from '../../lib/clock.ts'
import { answerHead, HeaderTexts, notOwnerHead, readRequestHead } from './frame-heads.ts'
import { FRAME, type Frame, FrameQueue, FrameReader } from './frames.ts'
import type { NotOwner } from './owner-calls.ts'
import type { Forwarded, RequestEntry } from './request-entry.ts'

/** Nobody but the user of this process may connect. */
const UMASK = 0o177
const FOLDER_MODE = 0o700
/** Answers that wait for a worker that reads nothing. */
const QUEUED_BYTES_MAX = 256 * 1_024 * 1_024
const CLOSE_LOOK_MS = 10
/** How often it is seen whether the socket is there. */
const LOOK_MS = 1_000
type Receive = RequestEntry['receive']

export class WorkerListener {
  #server: Bun.UnixSocketListener<Connection>
  readonly #path: string
  readonly #receive: Receive
  readonly #clock: Clock
  readonly #connections = new Set<Connection>()
  #isClosed = false

  /**
   * Listens, and again if somebody removes the socket: processes that are connected would not notice, and one that is started again would
   * not get through to this one.
   * @param path of the socket; that of a process that has ended is replaced
   * @throws what `Bun.listen` throws
   */
  constructor(path: string, receive: Receive, clock: Clock = systemClock) {
    this.#path = path
    this.#receive = receive
    this.#clock = clock
    if (lstatSync(path, { throwIfNoEntry: false })?.isSocket()) rmSync(path)
    this.#server = this.#listen()
    this.#lookLater()
  }

  #lookLater(): void {
    this.#clock.after(LOOK_MS, () => {
      if (this.#isClosed) return
      this.#lookLater()
      try {
        if (lstatSync(this.#path, { throwIfNoEntry: false }) !== undefined) return
        mkdirSync(dirname(this.#path), { recursive: true, mode: FOLDER_MODE })
        // First, because it removes what is at the path. Its connections stay.
        this.#server.stop()
        this.#server = this.#listen()
      } catch {
        // The folder cannot be written to, perhaps not for long.
      }
    })
  }

  #listen(): Bun.UnixSocketListener<Connection> {
    const umask = process.umask(UMASK)
    try {
      return Bun.listen<Connection>({
        unix: this.#path,
        socket: {
          open: (socket) => {
            socket.data = new Connection(socket, this.#receive)
            this.#connections.add(socket.data)
          },
          data: ({ data: connection }, bytes) => connection.read(bytes),
          drain: ({ data: connection }) => connection.drain(),
          close: ({ data: connection }) => {
            this.#connections.delete(connection)
            connection.closed()
          },
          error: ({ data: connection }) => connection.terminate(),
        },
      })
    } finally {
      process.umask(umask)
    }
  }

  /** Takes no more connections. Resolves when every request that came has its answer, or after `withinMs`. */
  async close(clock: Clock, withinMs: number): Promise<void> {
    this.#isClosed = true
    this.#server.stop()
    const untilMs = clock.monotonicMs() + withinMs
    const isBusy = () => [...this.#connections].some(({ isIdle }) => !isIdle)
    while (isBusy() && clock.monotonicMs() < untilMs) await sleep(clock, CLOSE_LOOK_MS)
    for (const connection of [...this.#connections]) connection.terminate()
    rmSync(this.#path, { force: true })
  }
}

/** A request that is not answered yet, or whose answer is still being read. */
interface Open {
  readonly request: ReceivedRequest
  reader: Pick<ReadableStreamDefaultReader<Uint8Array>, 'read' | 'cancel'> | null
}

class Connection {
  readonly #socket: Bun.Socket<Connection>
  readonly #receive: Receive
  readonly #queue: FrameQueue
  readonly #reader = new FrameReader((frame) => this.#take(frame))
  readonly #texts = new HeaderTexts()
  readonly #open = new Map<number, Open>()
  #isOver = false

  constructor(socket: Bun.Socket<Connection>, receive: Receive) {
    this.#socket = socket
    this.#receive = receive
    this.#queue = new FrameQueue((bytes) => socket.write(bytes))
  }

  get isIdle(): boolean {
    return this.#open.size === 0 && this.#queue.size === 0
  }

  read(bytes: Buffer): void {
    if (this.#isOver) return
    // Most answers are made at once.
    if (this.#reader.read(bytes)) this.#queue.flush()
    else this.terminate()
  }

  drain(): void {
    this.#queue.unblock()
  }

  terminate(): void {
    this.closed()
    this.#socket.terminate()
  }

  /** Nobody waits for any of its answers. */
  closed(): void {
    this.#isOver = true
    for (const id of [...this.#open.keys()]) this.#cancel(id)
  }

  #take(frame: Frame): void {
    const { kind, id } = frame
    if (this.#isOver) return
    if (kind === FRAME.cancel) this.#cancel(id)
    else if (kind === FRAME.pull) void this.#pull(id)
    else if (kind !== FRAME.request || this.#open.has(id) || !this.#isReceived(frame)) this.terminate()
  }

  /** @returns false: it is no request */
  #isReceived({ id, head: text, body }: Frame): boolean {
    const read = readRequestHead(text)
    const headers = read === null ? null : this.#texts.read(read.headers)
    if (read === null || headers === null) return false
    const { method, url, ...forwarded } = read.head
    const request = requestOf(url, { method, headers, body })
    if (request === null) return false
    this.#answer(id, request, forwarded)
    return true
  }

  #answer(id: number, request: ReceivedRequest, forwarded: Forwarded): void {
    const answered = this.#received(request, forwarded)
    if (answered === null) {
      this.#queue.push(FRAME.broken, id, '', null)
      return
    }
    if (!(answered instanceof Promise)) {
      this.#send(id, request, answered)
      return
    }
    this.#open.set(id, { request, reader: null })
    answered.then(
      (settled) => this.#send(id, request, settled),
      () => this.#push(FRAME.broken, id),
    )
  }

  /** Null: what answers it has thrown. The other requests of this connection are answered. */
  #received(request: ReceivedRequest, forwarded: Forwarded): ReturnType<Receive> | null {
    try {
      return this.#receive(request, forwarded)
    } catch {
      return null
    }
  }

  #send(id: number, request: ReceivedRequest, answered: Response | NotOwner): void {
    // It was cancelled meanwhile.
    if (this.#isOver || request.isAborted) {
      if (answered instanceof Response) void answered.body?.cancel().catch(() => {})
      return
    }
    if (!(answered instanceof Response)) {
      this.#push(FRAME.notOwner, id, notOwnerHead(answered))
      return
    }
    const type = answered.headers.get('content-type')
    if (isStream(type) && answered.body !== null) {
      this.#open.set(id, { request, reader: answered.body.getReader() })
      this.#queue.push(FRAME.stream, id, answerHead(answered), null)
      return
    }
    const head = answerHead(answered)
    // To read it as text is cheaper, and JSON is text. At once, if the answer was made of text or bytes.
    const reading: Promise<string | Uint8Array> = type === 'application/json' ? answered.text() : answered.bytes()
    const body = Bun.peek(reading)
    if (typeof body === 'string' || body instanceof Uint8Array) {
      this.#push(FRAME.answer, id, head, body)
      return
    }
    this.#open.set(id, { request, reader: null })
    reading.then(
      (whole) => this.#push(FRAME.answer, id, head, whole),
      () => this.#push(FRAME.broken, id),
    )
  }

  async #pull(id: number): Promise<void> {
    const open = this.#open.get(id)
    // Cancelled meanwhile, or never a stream: then there is nothing to pull.
    if (open === undefined || open.reader === null) return
    try {
      const { done, value } = await open.reader.read()
      if (this.#open.get(id) !== open) return
      if (done) this.#push(FRAME.end, id)
      else this.#queue.push(FRAME.part, id, '', value)
    } catch {
      this.#push(FRAME.broken, id)
    }
  }

  /** The last frame of a call. */
  #push(kind: number, id: number, head = '', body: string | Uint8Array | null = null): void {
    const wasOpen = this.#open.delete(id)
    if (this.#isOver) return
    if (this.#queue.size > QUEUED_BYTES_MAX) this.terminate()
    else if (kind !== FRAME.broken || wasOpen) this.#queue.push(kind, id, head, body)
  }

  #cancel(id: number): void {
    const open = this.#open.get(id)
    if (open === undefined) return
    this.#open.delete(id)
    open.request.abort()
    void open.reader?.cancel().catch(() => {})
  }
}

/** Answers of other types are sent when all of them is there. */
function isStream(type: string | null): boolean {
  return type?.startsWith('text/event-stream') === true
}

/** A request whose client is connected to another worker. Its signal, which few look at, is made when it is first asked for. */
class ReceivedRequest extends Request {
  #abort: AbortController | null = null

  get clientSignal(): AbortSignal {
    this.#abort ??= new AbortController()
    return this.#abort.signal
  }

  get isAborted(): boolean {
    return this.#abort?.signal.aborted === true
  }

  abort(): void {
    this.#abort ??= new AbortController()
    this.#abort.abort()
  }
}

Object.defineProperty(ReceivedRequest.prototype, 'signal', {
  get(this: ReceivedRequest) {
    return this.clientSignal
  },
})

/** Null: no request has such a method. */
function requestOf(
  url: string,
  { method, headers, body }: { method: string; headers: Headers; body: Buffer },
): ReceivedRequest | null {
  const init = body.length === 0 ? { method, headers } : { method, headers, body: body as Uint8Array<ArrayBuffer> }
  const exact = constructed(url, init)
  const { path, query } = targetOf(url)
  const request = exact ?? constructed(`http://localhost${path}${query === '' ? '' : `?${query}`}`, init)
  // It came in without a usable host, and has none here either.
  if (exact === null && request !== null) Object.defineProperty(request, 'url', { value: url })
  // The client may have sent it in chunks.
  const length = String(body.length)
  if (request !== null && body.length > 0 && request.headers.get('content-length') !== length)
    request.headers.set('Content-Length', length)
  return request
}

/** Null: what a client says about its host makes no URL. */
function constructed(url: string, init: RequestInit): ReceivedRequest | null {
  try {
    return new ReceivedRequest(url, init)
  } catch {
    return null
  }
}
