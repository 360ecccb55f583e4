/**
 * The connection to one other worker, with the calls that are open on it. Whatever is the same for all of them is done once for all: one
 * write for those of a turn of the event loop, and one look at owners, clients and deadlines now and then.
 */
import { HeaderTexts, headersText, readAnswerHead, readNotOwnerHead, requestHead } from './frame-heads.ts'
import { FRAME, type Frame, FrameQueue, FrameReader } from './frames.ts'
import type { Body } from './kept-body.ts'
import {
  type CallContext,
  type CallOutcome,
  isFeed,
  isPartnerRoute,
  isWait,
  type OwnedRequest,
  UNKNOWN,
  withoutWait,
} from './owner-calls.ts'
import { WorkerCall } from './worker-call.ts'

/** How often open calls are looked at. */
const LOOK_MS = 100
/** What waits for a worker that reads nothing. */
const QUEUED_BYTES_MAX = 16 * 1_024 * 1_024
const IDS = 2 ** 32
const FULL: CallOutcome = { kind: 'full' }

interface WorkerLinkOptions extends CallContext {
  /** Called once. */
  onClosed(): void
}

export class WorkerLink {
  readonly #options: WorkerLinkOptions
  readonly #calls = new Map<number, WorkerCall>()
  readonly #texts = new HeaderTexts()
  readonly #queue = new FrameQueue((bytes) => this.#socket?.write(bytes) ?? 0)
  #socket: Bun.Socket | null = null
  #isClosed = false
  #lastId = 0
  #isLooking = false

  /** Connects. Until it is connected, calls wait to be sent. @param path of the socket */
  constructor(path: string, options: WorkerLinkOptions) {
    this.#options = options
    void this.#connect(path)
  }

  /** Never rejects. @param call.to the worker at the other end @param call.onEnd of `SendToOwner` */
  call(
    params: OwnedRequest,
    { to, body, hasNewKey, onEnd }: { to: string; body: Body | null; hasNewKey: boolean; onEnd: () => void },
  ): Promise<CallOutcome> {
    if (this.#isClosed || this.#queue.size > QUEUED_BYTES_MAX) {
      onEnd()
      return Promise.resolve(this.#isClosed ? UNKNOWN : FULL)
    }
    const { request, listener, shard, route } = params
    const { leaving } = this.#options
    const id = this.#newId()
    const call = new WorkerCall({ params, to, id, onEnd }, this.#options, this)
    this.#calls.set(id, call)
    const { method } = request
    const url = leaving.aborted && isWait(request) ? withoutWait(request.url) : request.url
    // To ask for it takes 2 microseconds.
    const peer = isPartnerRoute(route) ? null : listener.peerOf(request)
    const head = { method, url, route, shard, listener: listener.name, peer, hasNewKey }
    this.#queue.push(FRAME.request, id, requestHead(head, headersText(request.headers)), bytesOf(body))
    // They last: what others learn of their client by the next look, these must learn at once.
    if (isFeed(request)) call.watchClient()
    this.#lookLater()
    return call.outcome
  }

  pull(id: number): void {
    this.#queue.push(FRAME.pull, id, '', null)
  }

  cancel(id: number): void {
    this.#queue.push(FRAME.cancel, id, '', null)
  }

  giveUp(id: number): void {
    this.cancel(id)
    this.#queue.flush()
    if (this.#queue.isBlocked) this.close()
  }

  ended(id: number): void {
    this.#calls.delete(id)
  }

  /** This process stops. */
  leave(): void {
    for (const call of [...this.#calls.values()]) call.leave()
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#socket?.terminate()
    this.#options.onClosed()
    for (const call of [...this.#calls.values()]) call.lose()
  }

  async #connect(path: string): Promise<void> {
    const reader = new FrameReader((frame) => this.#take(frame))
    try {
      await Bun.connect({
        unix: path,
        socket: {
          open: (socket) => {
            this.#socket = socket
            if (this.#isClosed) socket.terminate()
            else this.#queue.unblock()
          },
          data: (_, bytes) => {
            if (!this.#isClosed && !reader.read(bytes)) this.close()
          },
          drain: () => this.#queue.unblock(),
          close: () => this.close(),
          error: () => this.close(),
        },
      })
    } catch {
      this.close()
    }
  }

  #take(frame: Frame): void {
    const call = this.#calls.get(frame.id)
    // It has ended here meanwhile.
    if (call === undefined) return
    if (!this.#isTaken(call, frame)) this.close()
  }

  /** @returns false: it makes no sense */
  #isTaken(call: WorkerCall, { kind, head, body }: Frame): boolean {
    switch (kind) {
      case FRAME.answer:
      case FRAME.stream: {
        const read = readAnswerHead(head, this.#texts)
        if (read === null) return false
        return kind === FRAME.answer ? call.answer(read, body) : call.startStream(read)
      }
      case FRAME.notOwner: {
        const read = readNotOwnerHead(head)
        return read !== null && call.settle(read)
      }
      case FRAME.part:
        return call.part(body)
      case FRAME.end:
        return call.finish()
      case FRAME.broken:
        call.lose()
        return true
      default:
        return false
    }
  }

  #newId(): number {
    do this.#lastId = (this.#lastId + 1) % IDS
    while (this.#calls.has(this.#lastId))
    return this.#lastId
  }

  #lookLater(): void {
    if (this.#isLooking) return
    this.#isLooking = true
    this.#options.clock.after(LOOK_MS, () => {
      this.#isLooking = false
      const nowMs = this.#options.clock.monotonicMs()
      for (const call of [...this.#calls.values()]) call.look(nowMs)
      if (this.#calls.size > 0) this.#lookLater()
    })
  }
}

function bytesOf(body: Body | null): Uint8Array | null {
  return body instanceof ArrayBuffer ? new Uint8Array(body) : body
}
