/** One request that another worker is answering. */
import { HOLD_MS_MAX } from './holding.ts'
import {
  ANSWER_MS_MAX,
  type CallContext,
  type CallOutcome,
  GRACE_MS,
  isSafe,
  isWait,
  type NotOwner,
  type OwnedRequest,
  UNKNOWN,
} from './owner-calls.ts'

/** Bun closes a connection after 30 s without a byte, also one whose request has no answer yet. Few requests take a second. */
const LONG_MS = 1_000

/** What a call does with its connection, by its id. */
interface CallLink {
  /** Asks for the next part of the answer. */
  pull(id: number): void
  /** Tells the owner that nobody waits any more. */
  cancel(id: number): void
  /** The same, of a call that is going to be made again: what has not been sent of this one must never arrive. */
  giveUp(id: number): void
  /** Nothing of the call is open any more. Called once. */
  ended(id: number): void
}

export class WorkerCall {
  readonly #params: OwnedRequest
  readonly #to: string
  readonly #sentMs: number
  readonly #context: CallContext
  readonly #link: CallLink
  readonly #id: number
  readonly #onEnd: () => void
  readonly #settled = Promise.withResolvers<CallOutcome>()
  /** The owner that this process last knew when it was the one that was asked, or before: another one than that is a change. */
  #seen: string | null
  #changedMs: number | null = null
  #withoutOwnerMs: number | null = null
  #isLong = false
  #client: AbortSignal | null = null
  #onGone: (() => void) | null = null
  #stream: ReadableStreamDefaultController<Uint8Array> | null = null
  #wanted: (() => void) | null = null
  #hasPart = false
  #isOver = false

  /** @param call.to the worker that is asked @param call.onEnd of `SendToOwner` */
  constructor(
    { params, to, id, onEnd }: { params: OwnedRequest; to: string; id: number; onEnd: () => void },
    context: CallContext,
    link: CallLink,
  ) {
    this.#id = id
    this.#onEnd = onEnd
    this.#params = params
    this.#to = to
    this.#context = context
    this.#link = link
    this.#sentMs = context.clock.monotonicMs()
    this.#seen = this.#owner()
  }

  get outcome(): Promise<CallOutcome> {
    return this.#settled.promise
  }

  /** What the owner has sent. @returns false: it makes no sense */
  answer({ status, headers }: { status: number; headers: Headers }, body: Buffer): boolean {
    const response = responseOf(body.length === 0 ? null : body, { status, headers })
    return response !== null && this.#settle({ kind: 'answered', response, isStream: false })
  }

  settle(outcome: NotOwner): boolean {
    return this.#settle(outcome)
  }

  startStream(init: { status: number; headers: Headers }): boolean {
    if (this.#stream !== null) return false
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#stream = controller
      },
      pull: () =>
        new Promise<void>((resolve) => {
          this.#wanted = resolve
          this.#link.pull(this.#id)
        }),
      cancel: () => this.#drop(),
    })
    const response = responseOf(body, init)
    if (response === null) return false
    this.watchClient()
    this.#settled.resolve({ kind: 'answered', response, isStream: true })
    return true
  }

  part(bytes: Buffer): boolean {
    if (this.#stream === null || this.#wanted === null) return false
    this.#stream.enqueue(new Uint8Array(bytes))
    this.#hasPart = true
    this.#delivered()
    if (this.#context.leaving.aborted) this.leave()
    return true
  }

  finish(): boolean {
    if (this.#stream === null) return false
    this.#over()
    this.#stream.close()
    this.#delivered()
    return true
  }

  /** The connection is lost, or the answer broke off. */
  lose(): void {
    this.#over()
    this.#settled.resolve(UNKNOWN)
    this.#stream?.error(new Error('Cannot continue an answer: its owner has broken it off'))
    this.#delivered()
  }

  /** This process stops: a stream ends after its first part, and a request that waits for something to happen is sent again without. */
  leave(): void {
    if (this.#isOver) return
    if (this.#stream === null) {
      if (isWait(this.#params.request)) this.#giveUp()
    } else if (this.#hasPart) {
      this.#link.cancel(this.#id)
      this.finish()
    }
  }

  /** When its client goes, a read ends, and a stream. A write is completed anyway. */
  watchClient(): void {
    if (this.#client !== null) return
    this.#client = this.#params.request.signal
    this.#onGone = () => this.#drop()
    this.#client.addEventListener('abort', this.#onGone, { once: true })
    if (this.#client.aborted) this.#drop()
  }

  /** Ends it if that is due: see `SendToOwner`. */
  look(nowMs: number): void {
    if (this.#isOver) return
    const { request, listener } = this.#params
    if (isSafe(request)) this.watchClient()
    if (this.#stream === null && nowMs - this.#sentMs >= ANSWER_MS_MAX) {
      this.#giveUp()
      return
    }
    if (this.#stream === null && !this.#isLong && nowMs - this.#sentMs >= LONG_MS) {
      this.#isLong = true
      void listener.withoutIdleTimeout(request, () => this.outcome)
    }
    const owner = this.#owner()
    if (owner === null) {
      this.#withoutOwnerMs ??= nowMs
      if (nowMs - this.#withoutOwnerMs >= HOLD_MS_MAX) this.#giveUp()
      return
    }
    this.#withoutOwnerMs = null
    if (owner === this.#to) this.#seen = owner
    if (owner === this.#seen) return
    this.#changedMs ??= nowMs
    if (nowMs - this.#changedMs >= GRACE_MS) this.#giveUp()
  }

  #drop(): void {
    if (this.#isOver) return
    this.#link.cancel(this.#id)
    this.#over()
    this.#settled.resolve(UNKNOWN)
    this.#delivered()
  }

  #giveUp(): void {
    if (this.#isOver) return
    this.#link.giveUp(this.#id)
    this.lose()
  }

  #settle(outcome: CallOutcome): boolean {
    if (this.#stream !== null) return false
    this.#over()
    this.#settled.resolve(outcome)
    return true
  }

  #delivered(): void {
    this.#wanted?.()
    this.#wanted = null
  }

  #over(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#onGone !== null) this.#client?.removeEventListener('abort', this.#onGone)
    this.#link.ended(this.#id)
    this.#onEnd()
  }

  #owner(): string | null {
    const owner = this.#context.owners.ownerOf(this.#params.shard)
    return owner === null || owner === 'self' ? owner : owner.id
  }
}

/** Null: no answer can have that status, or such a body with it. */
function responseOf(body: Buffer | ReadableStream<Uint8Array> | null, init: ResponseInit): Response | null {
  try {
    return new Response(body as Uint8Array<ArrayBuffer> | ReadableStream | null, init)
  } catch {
    return null
  }
}
