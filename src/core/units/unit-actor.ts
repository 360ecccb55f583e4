/**
 * The single owner of a unit's nights and prices.
 *
 * - U1 Log first, then memory, then answer: an event is applied only after the journal says it is durable. Reads use
 *   `state` directly and never wait for a write.
 * - U2 One write in flight per unit: turns run one after the other. The mailbox is bounded; a command is refused when
 *   it is full.
 */

import { assert } from '../../lib/assert.ts'
import { BoundedQueue } from '../../lib/queues.ts'
import type { UnitState } from '../domain/unit-state.ts'

/** The unit's mailbox is full. Nothing was written; safe to retry. */
export class MailboxFullError extends Error {
  override readonly name = 'MailboxFullError'
}

/** A turn that waits, and what settles its caller's promise. */
interface Turn {
  readonly run: (state: UnitState) => Promise<unknown>
  readonly resolve: (answer: never) => void
  readonly reject: (error: unknown) => void
}

export class UnitActor {
  readonly agencyId: string
  readonly state: UnitState
  readonly #mailbox: BoundedQueue<Turn>
  #running = false
  #closed: (() => Error) | null = null
  /**
   * Events since the snapshot that recovery started from. `#covered`: how many of them a written snapshot contains.
   * `#tried`: how many of them a snapshot was attempted for.
   */
  #events: number
  #covered = 0
  #tried = 0
  /** Used since the directory last checked it (its second-chance bit). */
  touched = true
  lastTouchedMs: number

  constructor(options: {
    agencyId: string
    state: UnitState
    mailboxMax: number
    /** Events replayed after the snapshot that recovery started from. */
    tailLength: number
    nowMs: number
  }) {
    this.agencyId = options.agencyId
    this.state = options.state
    this.#events = options.tailLength
    this.lastTouchedMs = options.nowMs
    this.#mailbox = new BoundedQueue(options.mailboxMax)
  }

  get unitId(): string {
    return this.state.unitId
  }

  /** Events that recovery would replay: those after the newest snapshot known to be written. */
  get tailLength(): number {
    return this.#events - this.#covered
  }

  /** Of these, the events for which no snapshot was attempted: a failed write is not repeated at every event. */
  get untriedEvents(): number {
    return this.#events - this.#tried
  }

  /**
   * Call it before writing a snapshot of the current state. Call the returned function once the snapshot is written.
   */
  trySnapshot(): () => void {
    const events = this.#events
    this.#tried = events
    return () => {
      // A snapshot that started earlier may finish later.
      this.#covered = Math.max(this.#covered, events)
    }
  }

  /** No turn is running or waiting: the actor may be passivated. */
  get isIdle(): boolean {
    return !this.#running && this.#mailbox.size === 0
  }

  /** The next turn would be refused. */
  get isFull(): boolean {
    return this.#mailbox.isFull
  }

  get waiting(): number {
    return this.#mailbox.size
  }

  /**
   * Runs `turn` after every earlier turn has ended. No other turn may write to this unit until its promise settles.
   * @throws MailboxFullError when too many turns are already waiting
   */
  turn<T>(turn: (state: UnitState) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed !== null) return reject(this.#closed())
      if (!this.#mailbox.push({ run: turn, resolve, reject })) {
        reject(
          new MailboxFullError(`Cannot take a command: ${this.#mailbox.size} already wait for unit ${this.unitId}`),
        )
        return
      }
      if (!this.#running) void this.#run()
    })
  }

  /** Refuses the turns that wait, and later ones. The one that runs ends as it would. */
  close(error: () => Error): void {
    this.#closed = error
    for (let turn = this.#mailbox.shift(); turn !== undefined; turn = this.#mailbox.shift()) turn.reject(error())
  }

  /** Notes that an event was applied to the state. The caller has applied it inside its turn. */
  noteApplied(): void {
    assert(this.#running, 'Cannot apply an event: no turn is running')
    this.#events += 1
  }

  async #run(): Promise<void> {
    this.#running = true
    for (let turn = this.#mailbox.shift(); turn !== undefined; turn = this.#mailbox.shift()) {
      try {
        turn.resolve((await turn.run(this.state)) as never)
      } catch (error) {
        turn.reject(error)
      }
    }
    this.#running = false
  }
}
