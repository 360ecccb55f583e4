/**
 * Where every unit's actor is found. Actors are virtual: activated on first touch from snapshot and journal tail,
 * passivated when idle or when more are resident than the configured number.
 *
 * - U4 A change that touches two units holds both mailboxes, taken in id order.
 * - U5 A unit with a pending turn stays in memory until that turn has run.
 */

import { assert } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import type { UnitState } from '../domain/unit-state.ts'
import type { JournalStore } from '../journal/journal-store.ts'
import { type OnDefect, recoverUnit, type UnitAddress } from '../journal/recovery.ts'
import { encodeSnapshot } from '../journal/snapshot-codec.ts'
import { UnitActor } from './unit-actor.ts'

export interface DirectoryLimits {
  /**
   * Actors resident at once. It can be exceeded while more of them are busy or have a pending turn, because those cannot be
   * passivated: a move needs two. The next activation or sweep after their turns restores the limit.
   */
  readonly residentMax: number
  readonly mailboxMax: number
  /** Milliseconds without a touch after which an actor is passivated. */
  readonly idleMs: number
  /** Events of a unit after which a new snapshot of it is written. */
  readonly snapshotEvery: number
}

export interface DirectoryStats {
  readonly resident: number
  readonly activating: number
  /** Commands that wait for their unit's turn, over all units, and for the unit where most wait. */
  readonly waiting: number
  readonly deepest: number
  /** Commands that found the mailbox of their unit full. */
  readonly refused: number
  readonly activations: number
  readonly passivations: number
  readonly snapshots: number
}

/** A unit whose tail is shorter than this is passivated without a snapshot: replaying it is as cheap as reading one. */
const PASSIVATION_SNAPSHOT_MIN = 8
/** Units written in one statement when all are snapshotted. */
const SNAPSHOT_CHUNK = 200

export class UnitDirectory {
  readonly #store: JournalStore
  readonly #clock: Clock
  readonly #limits: DirectoryLimits
  readonly #onDefect: OnDefect
  readonly #onSnapshotFailure: (error: unknown) => void
  /** In the order in which the second-chance hand passes them. */
  readonly #resident = new Map<string, UnitActor>()
  readonly #activating = new Map<string, Promise<UnitActor>>()
  /** How many commands wait for a unit's activation to take its turn (U5). */
  readonly #askers = new Map<string, number>()
  #refused = 0
  #activations = 0
  #passivations = 0
  #snapshots = 0

  constructor(options: {
    store: JournalStore
    clock: Clock
    limits: DirectoryLimits
    onDefect: OnDefect
    onSnapshotFailure: (error: unknown) => void
  }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#limits = options.limits
    this.#onDefect = options.onDefect
    this.#onSnapshotFailure = options.onSnapshotFailure
  }

  get stats(): DirectoryStats {
    let waiting = 0
    let deepest = 0
    for (const { waiting: depth } of this.#resident.values()) {
      waiting += depth
      deepest = Math.max(deepest, depth)
    }
    return {
      resident: this.#resident.size,
      activating: this.#activating.size,
      waiting,
      deepest,
      refused: this.#refused,
      activations: this.#activations,
      passivations: this.#passivations,
      snapshots: this.#snapshots,
    }
  }

  /** The state of a resident unit, for reading at once; null when the unit must be activated first. */
  peek(unitId: string): UnitState | null {
    const actor = this.#resident.get(unitId)
    if (actor === undefined) return null
    actor.touched = true
    return actor.state
  }

  /** The state of a unit, for reading at once: never keep it across an await. */
  async read(unit: UnitAddress): Promise<UnitState> {
    return this.peek(unit.unitId) ?? (await this.#actor(unit)).state
  }

  /**
   * Runs `turn` as the unit's only writer.
   * @throws MailboxFullError when too many commands already wait for the unit
   */
  async turn<T>(unit: UnitAddress, turn: (state: UnitState) => Promise<T>): Promise<T> {
    const resident = this.#resident.get(unit.unitId)
    if (resident !== undefined) return this.#turnOf(resident, turn)
    this.#askers.set(unit.unitId, (this.#askers.get(unit.unitId) ?? 0) + 1)
    try {
      const activated = await this.#actor(unit)
      assert(this.#resident.get(unit.unitId) === activated, 'Cannot take a turn: the unit was passivated meanwhile')
      // The command is in the mailbox before the pending turn is removed: from then on the actor is busy.
      return this.#turnOf(activated, turn)
    } finally {
      this.#askerGone(unit.unitId)
    }
  }

  async #turnOf<T>(actor: UnitActor, turn: (state: UnitState) => Promise<T>): Promise<T> {
    actor.touched = true
    if (actor.isFull) this.#refused += 1
    const answer = await actor.turn(turn)
    this.#snapshotIfDue(actor)
    return answer
  }

  /**
   * Runs `turn` as the only writer of both units (U4). The mailboxes are taken in id order, so that two moves in
   * opposite directions cannot wait for each other.
   */
  turnOfTwo<T>(a: UnitAddress, b: UnitAddress, turn: (a: UnitState, b: UnitState) => Promise<T>): Promise<T> {
    assert(a.unitId !== b.unitId, 'Cannot hold two mailboxes: both are of the same unit')
    return a.unitId < b.unitId
      ? this.turn(a, (stateA) => this.turn(b, (stateB) => turn(stateA, stateB)))
      : this.turn(b, (stateB) => this.turn(a, (stateA) => turn(stateA, stateB)))
  }

  /** Counts an event that the holder of the turn has applied, towards the unit's next snapshot. */
  noteApplied(unitId: string): void {
    const actor = this.#resident.get(unitId)
    assert(actor !== undefined, 'Cannot note an event: its unit is not resident')
    actor.noteApplied()
  }

  /** Passivates the actors that nobody has touched for `idleMs`, and what is above `residentMax`. Called from a timer. */
  sweep(): void {
    const now = this.#clock.monotonicMs()
    for (const actor of this.#resident.values()) {
      if (actor.touched) {
        actor.touched = false
        actor.lastTouchedMs = now
      } else if (this.#mayLeave(actor) && now - actor.lastTouchedMs >= this.#limits.idleMs) {
        this.#passivate(actor)
      }
    }
    this.#makeRoom()
  }

  /** Writes a snapshot of every resident unit that has changed since its last one. For a clean stop. */
  async snapshotAll(): Promise<void> {
    const changed = [...this.#resident.values()].filter((actor) => actor.tailLength > 0)
    for (let i = 0; i < changed.length; i += SNAPSHOT_CHUNK) await this.#snapshot(changed.slice(i, i + SNAPSHOT_CHUNK))
  }

  #askerGone(unitId: string): void {
    const left = (this.#askers.get(unitId) ?? 0) - 1
    if (left > 0) this.#askers.set(unitId, left)
    else this.#askers.delete(unitId)
  }

  #mayLeave(actor: UnitActor): boolean {
    return actor.isIdle && !this.#askers.has(actor.unitId) && !this.#activating.has(actor.unitId)
  }

  #actor(unit: UnitAddress): Promise<UnitActor> {
    const underWay = this.#activating.get(unit.unitId)
    if (underWay !== undefined) return underWay
    const activation = this.#activate(unit).finally(() => this.#activating.delete(unit.unitId))
    this.#activating.set(unit.unitId, activation)
    return activation
  }

  async #activate(unit: UnitAddress): Promise<UnitActor> {
    const { state, tailLength } = await recoverUnit(this.#store, unit, this.#onDefect)
    assert(!this.#resident.has(unit.unitId), 'Cannot activate a unit: it is resident')
    const actor = new UnitActor({
      agencyId: unit.agencyId,
      state,
      tailLength,
      mailboxMax: this.#limits.mailboxMax,
      nowMs: this.#clock.monotonicMs(),
    })
    this.#resident.set(unit.unitId, actor)
    this.#activations += 1
    this.#makeRoom()
    return actor
  }

  /** Second chance: the hand passes touched actors once, then takes the first idle one it meets untouched. */
  #makeRoom(): void {
    let passes = 2 * this.#resident.size
    for (const [unitId, actor] of this.#resident) {
      if (this.#resident.size <= this.#limits.residentMax || passes === 0) return
      passes -= 1
      if (actor.touched || !this.#mayLeave(actor)) {
        actor.touched = false
        this.#resident.delete(unitId)
        this.#resident.set(unitId, actor)
      } else {
        this.#passivate(actor)
      }
    }
  }

  #passivate(actor: UnitActor): void {
    assert(this.#mayLeave(actor), 'Cannot passivate a unit: it is busy, or asked for')
    this.#resident.delete(actor.unitId)
    this.#passivations += 1
    if (actor.tailLength >= PASSIVATION_SNAPSHOT_MIN) this.#snapshotLater(actor)
  }

  #snapshotIfDue(actor: UnitActor): void {
    if (actor.untriedEvents >= this.#limits.snapshotEvery) this.#snapshotLater(actor)
  }

  #snapshotLater(actor: UnitActor): void {
    this.#snapshot([actor]).catch(this.#onSnapshotFailure)
  }

  /**
   * The states are encoded immediately, so they belong to durable sequence numbers (S1); only writing them takes time. What is not
   * known to be written stays part of the tail.
   */
  #snapshot(actors: readonly UnitActor[]): Promise<void> {
    const snapshots = actors.map((actor) => encodeSnapshot(actor.agencyId, actor.state))
    const noteWritten = actors.map((actor) => actor.trySnapshot())
    this.#snapshots += actors.length
    return this.#store.writeSnapshots(snapshots).then(() => {
      for (const note of noteWritten) note()
    })
  }
}
