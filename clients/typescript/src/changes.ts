import { CursorExpiredError, HistoryRewrittenError } from './errors.ts'
import { History, readNote } from './history.ts'
import { type CallOptions, type Exchange, isPassing, Resource, type Transport } from './transport.ts'
import type { Change, ListChangesAnswer, ListChangesQuery, UnitChange } from './types.ts'

export type AnyChange = Change | UnitChange

/** The copy that was kept with the old cursor may differ from the service in any of these, and no change will say so. */
export interface Reset {
  readonly forget: readonly ('bookings' | 'rates' | 'units')[]
  /** What happens after this comes as changes: read everything now, and keep it with this cursor. */
  readonly cursor: string
  readonly error: CursorExpiredError
}

export interface ChangesParams extends Omit<ListChangesQuery, 'include'> {
  readonly include?: readonly ('rates' | 'units')[] | undefined
}

export interface FollowOptions {
  /** The cursor of the last change that was applied; `start`: from the beginning. Without it: from now on. */
  readonly after?: string | undefined
  readonly include?: ChangesParams['include']
  /**
   * The cursor has expired, or the agency's history was replaced by a backup. Following continues once this has returned. Without it,
   * `CursorExpiredError` is thrown.
   */
  readonly onReset?: ((reset: Reset) => void | Promise<void>) | undefined
  readonly signal?: AbortSignal | undefined
  /** Ask once a minute instead of reading a stream. Chosen by itself where streams do not pass. */
  readonly poll?: boolean | undefined
  /** A stream that is silent for this long is lost. Default: 45,000; the service sends something every 15 s. */
  readonly silenceMs?: number | undefined
  /** Between two polls. Default: 40,000, which costs 43,200 requests in 30 days; a shorter pause can use up the month's quota. */
  readonly pollPauseMs?: number | undefined
  /** The checkpoint that was kept with the cursor. Leave it out with a cursor that replaces an expired one. */
  readonly checkpoint?: string | undefined
  /**
   * Between two checks that the history was not rewritten, at least; only after changes. Default: 600,000, which costs at most 8,640
   * requests in 30 days. 0: none.
   */
  readonly verifyPauseMs?: number | undefined
}

const WAIT_S = 20
const VERIFY_PAUSE_MS = 600_000
const EVENT_STREAM = 'text/event-stream'
/** Streams without a sign of life, one after the other, until it is assumed that something on the way holds them back. */
const MUTE_STREAMS_MAX = 2

export class Changes extends Resource {
  /** One answer: the changes after a cursor, or the current end without one. */
  list({ include, ...params }: ChangesParams = {}, options?: CallOptions): Promise<ListChangesAnswer> {
    const of = params.wait ? { timeoutMs: (params.wait + 30) * 1_000, ...options } : options
    return this.http.get(['changes'], of, { ...params, include: include?.join() || null })
  }

  /**
   * Every change from a cursor on, in order and once, for ever: until the loop is left, or `signal` is aborted. Checks meanwhile that the
   * agency's history only grows.
   * @throws HistoryRewrittenError
   */
  follow(options: FollowOptions = {}): Follow {
    return new Follow(this.http, options)
  }
}

export class Follow implements AsyncIterable<AnyChange> {
  readonly #http: Transport
  readonly #options: FollowOptions
  #isPolled: boolean
  #cursor: string | undefined
  #seq = -1
  #checkpoint: string | undefined
  #verifyAt: number
  /** Changes were read since the last check. */
  #isUnverified = false
  /** The cursor was refused since the last check: the history may be another one. */
  #isReset = false

  constructor(http: Transport, options: FollowOptions) {
    this.#http = http
    this.#options = options
    this.#isPolled = options.poll === true
    this.#cursor = options.after
    const { checkpoint, verifyPauseMs = VERIFY_PAUSE_MS } = options
    this.#checkpoint = checkpoint && readNote(checkpoint).note
    // One that was kept is checked with the first changes.
    this.#verifyAt = http.clock.now() + (checkpoint ? 0 : verifyPauseMs)
  }

  /** After the last change that your loop has finished with. undefined: not known yet. */
  get cursor(): string | undefined {
    return this.#cursor
  }

  /** The newest checkpoint that was checked: keep it with the cursor. undefined: none yet. */
  get checkpoint(): string | undefined {
    return this.#isReset ? undefined : this.#checkpoint
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AnyChange, void> {
    const { include = [], signal, onReset, silenceMs = 45_000, pollPauseMs = 40_000 } = this.#options
    const once = { signal, triesMax: 1 }
    const changes = new Changes(this.#http)
    let expired: CursorExpiredError | undefined
    let [failures, mute] = [0, 0]
    for (;;) {
      let error: unknown
      try {
        if (this.#cursor === undefined || expired) {
          const { cursor } = await changes.list({}, once)
          if (expired) await onReset?.({ forget: ['bookings', ...include], cursor, error: expired })
          this.#cursor = cursor
          this.#seq = -1
          expired = undefined
        }
        if (this.#isPolled) {
          const page = await changes.list({ after: this.#cursor, include, wait: WAIT_S }, once)
          failures = 0
          for (const change of page.changes) {
            signal?.throwIfAborted()
            yield* this.#once(change)
          }
          this.#cursor = page.cursor
          await this.#verify(once)
          if (!page.hasMore) await this.#http.clock.sleep(pollPauseMs, signal)
          continue
        }
        const exchange = await this.#http.open(
          {
            path: ['changes'],
            query: { include: include.join() || null },
            headers: { accept: EVENT_STREAM, 'last-event-id': this.#cursor },
          },
          30_000,
          signal,
        )
        mute += 1
        try {
          this.#isPolled = exchange.response.headers.get('content-type')?.startsWith(EVENT_STREAM) !== true
          if (this.#isPolled) continue
          for await (const { id, data } of eventsIn(exchange, silenceMs)) {
            failures = mute = 0
            if (data !== '') yield* this.#once(JSON.parse(data))
            this.#cursor = id || this.#cursor
            await this.#verify(once)
          }
        } finally {
          exchange.end()
          this.#isPolled ||= mute >= MUTE_STREAMS_MAX
        }
      } catch (caught) {
        if (caught instanceof CursorExpiredError && onReset) {
          expired = caught
          this.#isReset = true
          continue
        }
        if (signal?.aborted || !isPassing(caught)) throw caught
        error = caught
      }
      await this.#http.clock.sleep(this.#http.pauseMs(++failures, error), signal)
    }
  }

  /** Something on the way may repeat what it has sent. */
  *#once(change: AnyChange): Generator<AnyChange, void> {
    if (change.seq <= this.#seq) return
    yield change
    this.#seq = change.seq
    this.#cursor = change.cursor
    this.#isUnverified = true
  }

  /**
   * If it is time, checks that the history continues the newest checkpoint. A check that gets no answer is left to the next one; one that
   * is refused ends the loop: a service that proves nothing any longer may have something to hide.
   */
  async #verify(once: CallOptions): Promise<void> {
    const { verifyPauseMs = VERIFY_PAUSE_MS } = this.#options
    const now = this.#http.clock.now()
    if (!this.#isUnverified || verifyPauseMs === 0 || now < this.#verifyAt) return
    this.#verifyAt = now + verifyPauseMs
    const history = new History(this.#http)
    const kept = this.#checkpoint ? readNote(this.#checkpoint) : undefined
    let newest = kept
    try {
      newest = await history.checkpoint(once)
      if (kept && (kept.origin === newest.origin || !this.#isReset)) await history.verify(kept.note, newest.note, once)
      this.#checkpoint = newest.note
      this.#isUnverified = this.#isReset = false
    } catch (error) {
      if (isPassing(error)) return
      // If a backup was restored a moment ago, the cursor is refused too, which an open stream does not show.
      if (error instanceof HistoryRewrittenError && kept?.origin !== newest?.origin)
        await new Changes(this.#http).list({ after: this.#cursor, limit: 1 }, once)
      throw error
    }
  }
}

/** Server-sent events, until the stream ends: an event that is cut off is none. */
async function* eventsIn(exchange: Exchange, silenceMs: number): AsyncGenerator<{ id: string; data: string }, void> {
  const reader = exchange.response.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      exchange.restart(silenceMs)
      const part = await reader?.read()
      if (part === undefined || part.done) return
      const blocks = (text + decoder.decode(part.value, { stream: true })).replace(/\r\n/g, '\n').split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        exchange.signal.throwIfAborted()
        const event = { id: '', data: '' }
        for (const line of block.split('\n')) {
          const [, name, value = ''] = /^(id|data): ?(.*)/s.exec(line) ?? []
          if (name === 'id' || name === 'data') event[name] += value
        }
        // While the loop's body runs, nothing is read, and silence is no sign.
        exchange.restart(Infinity)
        yield event
      }
    }
  } catch (error) {
    throw exchange.failure(error)
  } finally {
    reader?.cancel().catch(() => {})
  }
}
