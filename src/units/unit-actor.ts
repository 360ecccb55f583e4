/**
 * The one owner of a unit's nights and prices.
 *
 * - U1 Log first, then memory, then answer: `append` applies an event only after the journal says it is durable.
 *   Reads look at `state` directly and never wait for a write.
 * - U2 One write in flight per unit: turns run one after the other. The mailbox is bounded and refuses at the door.
 */

import type { UnitState } from '../domain/unit-state.ts'
import { assert } from '../lib/assert.ts'
import { BoundedQueue } from '../lib/bounded-queue.ts'

/** The unit's mailbox is full. Surely not written; safe to retry. */
export class MailboxFullError extends Error {
  override readonly name = 'MailboxFullError'
}

type Turn = () => Promise<void>

export class UnitActor {
  readonly agencyId: string
  readonly state: UnitState
  readonly #mailbox: BoundedQueue<Turn>
  #running = false
  /** Sequence number of the newest snapshot written, or being written. */
  snapshotSeq: number
  /** Events applied since then. */
  eventsSinceSnapshot: number
  /** Looked at since the directory last passed by (its second-chance bit). */
  touched = true
  lastTouchedMs: number

  constructor(options: {
    agencyId: string
    state: UnitState
    mailboxMax: number
    snapshotSeq: number
    nowMs: number
  }) {
    this.agencyId = options.agencyId
    this.state = options.state
    this.snapshotSeq = options.snapshotSeq
    this.eventsSinceSnapshot = options.state.seq > options.snapshotSeq ? 1 : 0
    this.lastTouchedMs = options.nowMs
    this.#mailbox = new BoundedQueue(options.mailboxMax)
  }

  get unitId(): string {
    return this.state.unitId
  }

  /** No turn runs and none waits: the actor may be passivated. */
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
   * Runs `turn` when every turn before it has ended; until its promise settles nobody else may write to this unit.
   * @throws MailboxFullError when too many turns already wait
   */
  turn<T>(turn: (state: UnitState) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const taken = this.#mailbox.push(() => turn(this.state).then(resolve, reject))
      if (!taken) {
        reject(
          new MailboxFullError(`Cannot take a command: ${this.#mailbox.size} already wait for unit ${this.unitId}`),
        )
        return
      }
      if (!this.#running) void this.#run()
    })
  }

  /** Records that an event was applied to the state; the caller has applied it inside its turn. */
  noteApplied(): void {
    assert(this.#running, 'Cannot apply an event: nobody has the turn')
    this.eventsSinceSnapshot += 1
  }

  async #run(): Promise<void> {
    this.#running = true
    for (let turn = this.#mailbox.shift(); turn !== undefined; turn = this.#mailbox.shift()) await turn()
    this.#running = false
  }
}
