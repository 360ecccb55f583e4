/** Calls between a parent process and its child, both ways, over the channel that Bun opens between them. */

type Message =
  | { readonly kind: 'call'; readonly id: number; readonly name: string; readonly args: readonly unknown[] }
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failure'; readonly id: number; readonly message: string; readonly isRefusal: boolean }
  | { readonly kind: 'cancel'; readonly id: number }

/** What one side may ask of the other: plain values as JSON knows them. The signal is aborted when the caller no longer waits. */
export type Handlers = Readonly<Record<string, (signal: AbortSignal, ...args: never[]) => unknown>>

/** The same calls, as the other side makes them. */
export type Remote<T extends Handlers> = {
  readonly [name in keyof T]: T[name] extends (signal: AbortSignal, ...args: infer A) => infer R
    ? (...args: A) => Promise<Awaited<R>>
    : never
}

/** The other side is gone, or could not do it. */
export class ChannelError extends Error {
  override readonly name = 'ChannelError'
  /** @param isRefusal it was asked, and would refuse again; otherwise it may have been done or not */
  constructor(
    message: string,
    readonly isRefusal: boolean,
  ) {
    super(message)
  }
}

interface Waiting {
  resolve(value: unknown): void
  reject(error: ChannelError): void
}

/** One end of the channel. */
export class ProcessChannel {
  readonly #send: (message: Message) => void
  readonly #handlers: Handlers
  readonly #waiting = new Map<number, Waiting>()
  /** Calls of the other side that are being answered. */
  readonly #answering = new Map<number, AbortController>()
  #lastId = 0
  #isClosed = false

  /** @param send throws when the other side is gone */
  constructor(send: (message: unknown) => void, handlers: Handlers) {
    this.#send = send
    this.#handlers = handlers
  }

  /**
   * Asks the other side.
   * @param signal ends the wait; the call then fails
   * @throws ChannelError
   */
  call(name: string, args: readonly unknown[], signal?: AbortSignal): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(new ChannelError(`Cannot call ${name}: the process has ended`, false))
    this.#lastId += 1
    const id = this.#lastId
    return new Promise((resolve, reject) => {
      const settle = <T>(done: (value: T) => void) => {
        return (value: T) => {
          this.#waiting.delete(id)
          signal?.removeEventListener('abort', cancel)
          done(value)
        }
      }
      const failed = settle(reject)
      const cancel = () => {
        this.#post({ kind: 'cancel', id })
        failed(new ChannelError(`Cannot call ${name}: it was cancelled`, false))
      }
      this.#waiting.set(id, { resolve: settle(resolve), reject: failed })
      signal?.addEventListener('abort', cancel, { once: true })
      if (!this.#post({ kind: 'call', id, name, args }))
        failed(new ChannelError(`Cannot call ${name}: the process has ended`, false))
      else if (signal?.aborted === true) cancel()
    })
  }

  /** The other side's calls as functions. */
  remote<T extends Handlers>(): Remote<T> {
    return new Proxy({} as Remote<T>, {
      get:
        (_, name) =>
        (...args: unknown[]) =>
          this.call(String(name), args),
    })
  }

  /** Takes what has arrived from the other side. */
  receive(message: Message): void {
    switch (message.kind) {
      case 'call':
        void this.#answer(message)
        return
      case 'cancel':
        this.#answering.get(message.id)?.abort()
        return
      case 'answer':
        this.#waiting.get(message.id)?.resolve(message.value)
        return
      case 'failure':
        this.#waiting.get(message.id)?.reject(new ChannelError(message.message, message.isRefusal))
    }
  }

  /** The other side is gone: open calls fail, in both directions. */
  close(): void {
    this.#isClosed = true
    for (const { reject } of [...this.#waiting.values()])
      reject(new ChannelError('The process ended before it answered', false))
    for (const controller of this.#answering.values()) controller.abort()
  }

  async #answer({ id, name, args }: Extract<Message, { kind: 'call' }>): Promise<void> {
    const controller = new AbortController()
    this.#answering.set(id, controller)
    try {
      const handler = this.#handlers[name]
      if (handler === undefined) throw new ChannelError(`There is no call ${name}`, true)
      const value = await handler(controller.signal, ...(args as never[]))
      this.#post({ kind: 'answer', id, value })
    } catch (error) {
      const isRefusal = (error as { isRefusal?: unknown }).isRefusal === true
      this.#post({ kind: 'failure', id, message: error instanceof Error ? error.message : String(error), isRefusal })
    } finally {
      this.#answering.delete(id)
    }
  }

  #post(message: Message): boolean {
    try {
      this.#send(message)
      return true
    } catch {
      // The end of the other process is reported as well.
      return false
    }
  }
}
