/**
 * Finds the actor of every unit. Actors are virtual: activated on first use from snapshot and journal tail, passivated
 * when idle or when more than the configured number are resident.
 *
 * - U4 A write to several units holds all their mailboxes, acquired in the order of their ids.
 * - U5 A unit with a pending turn stays in memory until that turn has run.
 * - S3 A unit that is ahead of the log this process knows is not loaded: the process was replaced, and the entries may still be lost.
 * - C5 In a cluster, a unit of a shard that is given up takes no turn any more. The turn that runs ends; then the unit is forgotten.
 */

import { assert } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { Counts } from '../../lib/counts.ts'
import type { UnitState } from '../domain/unit-state.ts'
import { CorruptLedgerError, notOwner } from '../journal/journal-error.ts'
import type { JournalStore } from '../journal/journal-store.ts'
import { type OnDefect, type RecoveredUnit, recoverUnit, type UnitAddress } from '../journal/recovery.ts'
import { encodeSnapshot } from '../journal/snapshot-codec.ts'
import { recoverTogether } from './recover-together.ts'
import { UnitActor } from './unit-actor.ts'

interface DirectoryLimits {
  /**
   * Actors resident at once. The number can be exceeded while more of them are busy or have a pending turn, because
   * those cannot be passivated: a move needs two, a group up to twenty. The next activation or sweep after their turns restores the limit.
   */
  readonly residentMax: number
  readonly mailboxMax: number
  /** Idle time in milliseconds before an actor is passivated. */
  readonly idleMs: number
  /** A new snapshot of a unit is written after this many events. */
  readonly snapshotEvery: number
}

export interface DirectoryStats {
  readonly resident: number
  /** Of them, those with a turn that runs or waits. */
  readonly busy: number
  readonly activating: number
  /** Since the start, and not recovered since. */
  readonly damaged: number
  /** Commands waiting for their unit's turn: over all units, and for the unit with the most. */
  readonly waiting: number
  readonly deepest: number
  /** Commands refused because the mailbox of their unit was full. */
  readonly refused: number
  readonly activations: number
  readonly passivations: number
  readonly snapshots: number
}

/**
 * A unit whose tail is shorter than this is passivated without a snapshot: replaying it is as cheap as reading a
 * snapshot.
 */
const PASSIVATION_SNAPSHOT_MIN = 8
/** Units per statement when all are snapshotted. */
const SNAPSHOT_CHUNK = 200
/** Units per statement when many are activated: the rows of more would hold the event loop for too long (`bench/calendar.ts`). */
const ACTIVATION_CHUNK = 25

export class UnitDirectory {
  readonly #store: JournalStore
  readonly #clock: Clock
  readonly #limits: DirectoryLimits
  readonly #onDefect: OnDefect
  readonly #onSnapshotFailure: (error: unknown) => void
  readonly #onDamaged: (unit: UnitAddress, error: CorruptLedgerError) => void
  readonly #onActivated: (agencyId: string, state: UnitState) => void
  readonly #endOf: (agencyId: string) => { readonly lastSeq: number }
  readonly #termOf: (agencyId: string) => number | null
  /** Units of shards that were given up, whose last turn still runs. */
  readonly #leaving = new Map<string, UnitActor>()
  /** Called when one of them is forgotten, or an activation has ended. */
  readonly #onLeft = new Set<() => void>()
  /** In the order in which the second-chance algorithm visits them. */
  readonly #resident = new Map<string, UnitActor>()
  /** Where the sweep goes on. */
  #sweeping = this.#resident.values()
  /** Those with a turn that runs or waits: to look for them among all, for each reading of the metrics, would take milliseconds. */
  readonly #busy = new Set<UnitActor>()
  readonly #activating = new Map<string, { readonly agencyId: string; readonly actor: Promise<UnitActor> }>()
  /** Number of commands waiting for a unit's activation to take their turn (U5). */
  readonly #pendingTurns = new Counts<string>()
  /** Units that could not be recovered when they were last asked for, because what is stored of them is damaged. */
  readonly #damaged = new Set<string>()
  /** Events applied since the start, by agency; none for an agency without any. */
  readonly #applied = new Map<string, number>()
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
    /** What is stored of a unit is damaged. Called once, and again only after it was recovered meanwhile. */
    onDamaged?: (unit: UnitAddress, error: CorruptLedgerError) => void
    /** A unit has come into memory. */
    onActivated?: (agencyId: string, state: UnitState) => void
    /** The end of the log of the agency's shard, as this process knows it (Journal.endOf). */
    endOf: (agencyId: string) => { readonly lastSeq: number }
    /** Which ownership of the agency's shard this is; null while this process does not own it. Left out: it owns all, for good. */
    termOf?: (agencyId: string) => number | null
  }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#limits = options.limits
    this.#onDefect = options.onDefect
    this.#onSnapshotFailure = options.onSnapshotFailure
    this.#onDamaged = options.onDamaged ?? (() => {})
    this.#onActivated = options.onActivated ?? (() => {})
    this.#endOf = options.endOf
    this.#termOf = options.termOf ?? (() => 0)
  }

  get stats(): DirectoryStats {
    let waiting = 0
    let deepest = 0
    for (const { waiting: depth } of this.#busy) {
      waiting += depth
      deepest = Math.max(deepest, depth)
    }
    return {
      resident: this.#resident.size,
      busy: this.#busy.size,
      activating: this.#activating.size,
      damaged: this.#damaged.size,
      waiting,
      deepest,
      refused: this.#refused,
      activations: this.#activations,
      passivations: this.#passivations,
      snapshots: this.#snapshots,
    }
  }

  /** The state of a resident unit, for immediate reading; null when the unit must be activated first. */
  peek(unitId: string): UnitState | null {
    const actor = this.#resident.get(unitId)
    if (actor === undefined) return null
    actor.touched = true
    return actor.state
  }

  /** The state of a unit, for immediate reading. Do not keep it across an await. */
  async read(unit: UnitAddress): Promise<UnitState> {
    return this.peek(unit.unitId) ?? (await this.#actor(unit)).state
  }

  /** As `read`; null for a damaged unit, so that a list of several can continue without it (D1). */
  async readUnlessDamaged(unit: UnitAddress): Promise<UnitState | null> {
    try {
      return await this.read(unit)
    } catch (error) {
      if (error instanceof CorruptLedgerError) return null
      throw error
    }
  }

  /**
   * Makes units resident, many with one statement. A unit that is read later may have been passivated again, if there are more than
   * `residentMax`. Rejects when one of them cannot be activated; the others are nevertheless. Not for a damaged one, which rejects when
   * it is read (D1).
   */
  async activate(units: readonly UnitAddress[]): Promise<void> {
    const isMissing = ({ unitId }: UnitAddress) => !this.#resident.has(unitId) && !this.#activating.has(unitId)
    const cold = units.filter(isMissing)
    for (let i = 0; i < cold.length; i += ACTIVATION_CHUNK) {
      // Meanwhile others may have activated some of them.
      const chunk = cold.slice(i, i + ACTIVATION_CHUNK).filter(isMissing)
      await allActivated(this.#activateTogether(chunk))
    }
    await allActivated(units.map(({ unitId }) => this.#activating.get(unitId)?.actor))
  }

  /**
   * Runs `turn` as the only writer of the unit.
   * @throws MailboxFullError when too many commands are already waiting for the unit; JournalError of kind `not_owner` when another
   *   process of the cluster decides for it
   */
  turn<T>(unit: UnitAddress, turn: (state: UnitState) => Promise<T>): Promise<T> {
    const resident = this.#resident.get(unit.unitId)
    return resident === undefined ? this.#turnOnceActive(unit, turn) : this.#turnOf(resident, turn)
  }

  async #turnOnceActive<T>(unit: UnitAddress, turn: (state: UnitState) => Promise<T>): Promise<T> {
    this.#pendingTurns.add(unit.unitId)
    const term = this.#termOf(unit.agencyId)
    try {
      const activated = await this.#actor(unit)
      if (this.#resident.get(unit.unitId) !== activated) {
        assert(term !== this.#termOf(unit.agencyId), 'Cannot take a turn: the unit was passivated in the meantime')
        throw notOwner()
      }
      // The command enters the mailbox before its pending turn is removed: from then on the actor is busy.
      return this.#turnOf(activated, turn)
    } finally {
      this.#pendingTurns.add(unit.unitId, -1)
    }
  }

  async #turnOf<T>(actor: UnitActor, turn: (state: UnitState) => Promise<T>): Promise<T> {
    actor.touched = true
    if (actor.isFull) this.#refused += 1
    this.#busy.add(actor)
    try {
      const answer = await actor.turn(turn)
      this.#snapshotIfDue(actor)
      return answer
    } finally {
      if (actor.isIdle) this.#busy.delete(actor)
      if (this.#leaving.size > 0) this.#noteLeft(actor)
    }
  }

  /**
   * Runs `turn` as the only writer of all these units (U4), each named once. The mailboxes are acquired in the order of their ids: a turn
   * that waits for one holds only lower ones, so no two turns wait for each other.
   * @param turn gets the states by unit id
   */
  turnOfAll<T>(
    units: readonly UnitAddress[],
    turn: (states: ReadonlyMap<string, UnitState>) => Promise<T>,
  ): Promise<T> {
    const ordered = units.toSorted((a, b) => (a.unitId < b.unitId ? -1 : 1))
    const states = new Map<string, UnitState>()
    const acquire = (i: number): Promise<T> => {
      const unit = ordered[i]
      if (unit === undefined) return turn(states)
      assert(!states.has(unit.unitId), 'Cannot acquire a mailbox: the turn holds it already')
      return this.turn(unit, (state) => {
        states.set(unit.unitId, state)
        return acquire(i + 1)
      })
    }
    return acquire(0)
  }

  /** Counts an event, applied by the holder of the turn: towards the unit's next snapshot, and as a change of its agency. */
  noteApplied(unitId: string): void {
    const actor = this.#resident.get(unitId) ?? this.#leaving.get(unitId)
    assert(actor !== undefined, 'Cannot note an event: its unit is not resident')
    actor.noteApplied()
    this.noteChanged(actor.agencyId)
  }

  /** The agency's units have changed, or may have been changed by another process. */
  noteChanged(agencyId: string): void {
    this.#applied.set(agencyId, this.appliedTo(agencyId) + 1)
  }

  /**
   * How many events were applied to units of the agency since the start. It rises in the same tick as the state changes: as long as
   * it is the same, nothing about the agency's nights and prices has changed.
   */
  appliedTo(agencyId: string): number {
    return this.#applied.get(agencyId) ?? 0
  }

  /**
   * Passivates actors that were idle for `idleMs`, and any above `residentMax`. Called by a timer.
   * @param share of the actors that are looked at, the next ones of all: hundreds of thousands at once would take a tenth of a second
   */
  sweep(share = 1): void {
    const now = this.#clock.monotonicMs()
    for (let left = Math.ceil(this.#resident.size * share); left > 0; left--) {
      const actor = this.#nextToSweep()
      if (actor === null) break
      if (actor.touched) {
        actor.touched = false
        actor.lastTouchedMs = now
      } else if (now - actor.lastTouchedMs >= this.#limits.idleMs && this.#canPassivate(actor)) {
        this.#passivate(actor)
      }
    }
    this.#makeRoom()
  }

  /** After the last one the first one again; null when there is none. */
  #nextToSweep(): UnitActor | null {
    const next = this.#sweeping.next()
    if (!next.done) return next.value
    this.#sweeping = this.#resident.values()
    return this.#sweeping.next().value ?? null
  }

  /** Writes a snapshot of every resident unit that has changed since its last one. For a clean shutdown. */
  async snapshotAll(isIncluded: (agencyId: string) => boolean = () => true): Promise<void> {
    const changed = [...this.#resident.values()].filter(
      ({ tailLength, agencyId }) => tailLength > 0 && isIncluded(agencyId),
    )
    for (let i = 0; i < changed.length; i += SNAPSHOT_CHUNK) await this.#snapshot(changed.slice(i, i + SNAPSHOT_CHUNK))
  }

  /**
   * The units of some agencies take no turn any more, and are no longer read: another process decides for them, or will. Turns that
   * wait are refused as not written; those that run end as they would, which `left` waits for.
   */
  close(isIncluded: (agencyId: string) => boolean): void {
    for (const [unitId, actor] of this.#resident) {
      if (!isIncluded(actor.agencyId)) continue
      this.#resident.delete(unitId)
      if (!actor.isIdle) this.#leaving.set(unitId, actor)
      actor.close(notOwner)
    }
  }

  /** Resolves when no turn of these agencies runs, and none of their units is being activated. */
  async left(isIncluded: (agencyId: string) => boolean): Promise<void> {
    const isOpen = () =>
      [...this.#leaving.values(), ...this.#activating.values()].some(({ agencyId }) => isIncluded(agencyId))
    while (isOpen()) await new Promise<void>((resolve) => this.#onLeft.add(resolve))
  }

  #noteLeft(actor: UnitActor): void {
    if (!actor.isIdle || this.#leaving.get(actor.unitId) !== actor) return
    this.#leaving.delete(actor.unitId)
    this.#tellLeft()
  }

  #tellLeft(): void {
    for (const resolve of this.#onLeft) resolve()
    this.#onLeft.clear()
  }

  #canPassivate(actor: UnitActor): boolean {
    return actor.isIdle && this.#pendingTurns.of(actor.unitId) === 0 && !this.#activating.has(actor.unitId)
  }

  #actor(unit: UnitAddress): Promise<UnitActor> {
    const inProgress = this.#activating.get(unit.unitId)
    if (inProgress !== undefined) return inProgress.actor
    if (!this.#isServed(unit.agencyId)) return Promise.reject(notOwner())
    return this.#activation(unit, recoverUnit(this.#store, unit, this.#onDefect))
  }

  #isServed(agencyId: string): boolean {
    return this.#termOf(agencyId) !== null
  }

  #activateTogether(units: readonly UnitAddress[]): Promise<UnitActor>[] {
    if (units.some(({ agencyId }) => !this.#isServed(agencyId))) return [Promise.reject(notOwner())]
    const recovered = units.length === 0 ? [] : recoverTogether(this.#store, units, this.#onDefect)
    return recovered.flatMap((found, i) => {
      const unit = units[i]
      return unit === undefined ? [] : [this.#activation(unit, found)]
    })
  }

  #activation(unit: UnitAddress, recovered: Promise<RecoveredUnit>): Promise<UnitActor> {
    const { agencyId, unitId } = unit
    const term = this.#termOf(agencyId)
    const actor = recovered
      .then((found) => {
        // What was read may be older than what another process has written since.
        if (this.#termOf(agencyId) !== term || term === null) throw notOwner()
        // S3
        if (found.state.seq > this.#endOf(agencyId).lastSeq) throw notOwner()
        return this.#admit(unit, found)
      })
      .catch((error: unknown) => {
        if (error instanceof CorruptLedgerError) this.#noteDamaged(unit, error)
        throw error
      })
      .finally(() => {
        this.#activating.delete(unitId)
        this.#tellLeft()
      })
    this.#activating.set(unitId, { agencyId, actor })
    return actor
  }

  #noteDamaged(unit: UnitAddress, error: CorruptLedgerError): void {
    if (this.#damaged.has(unit.unitId)) return
    this.#damaged.add(unit.unitId)
    this.#onDamaged(unit, error)
  }

  #admit(unit: UnitAddress, { state, tailLength }: RecoveredUnit): UnitActor {
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
    this.#damaged.delete(unit.unitId)
    this.#onActivated(unit.agencyId, state)
    this.#makeRoom()
    return actor
  }

  /** Second-chance eviction: a touched actor is skipped once; an idle, untouched one is passivated. */
  #makeRoom(): void {
    let passes = 2 * this.#resident.size
    for (const [unitId, actor] of this.#resident) {
      if (this.#resident.size <= this.#limits.residentMax || passes === 0) return
      passes -= 1
      if (actor.touched || !this.#canPassivate(actor)) {
        actor.touched = false
        this.#resident.delete(unitId)
        this.#resident.set(unitId, actor)
      } else {
        this.#passivate(actor)
      }
    }
  }

  #passivate(actor: UnitActor): void {
    assert(this.#canPassivate(actor), 'Cannot passivate a unit: it is busy or has a pending turn')
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
   * Encodes the states immediately, so that they belong to durable sequence numbers (S1); only the write is
   * asynchronous. Events whose snapshot is not known to be written remain part of the tail.
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

/** Waits for all of them, also when one fails. @throws what the first failed with, unless that is damage */
async function allActivated(activations: readonly (Promise<UnitActor> | undefined)[]): Promise<void> {
  for (const outcome of await Promise.allSettled(activations))
    if (outcome.status === 'rejected' && !(outcome.reason instanceof CorruptLedgerError)) throw outcome.reason
}
