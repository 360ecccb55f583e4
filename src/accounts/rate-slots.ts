/**
 * Makes the requests of the last minute durable, so that a new process does not grant a key a second budget
 * (docs/contract.md#limits: 60 a minute, rolling). Time is divided into slots of half a second. A slot holds the number of
 * admitted requests per key.
 *
 * - R1 A request counts from the end of its slot: later than it was made, by half a second at most, and so never in the
 *   caller's favor.
 * - R2 The age of a slot is the smallest that any clock shared by both processes gives. Each clock may jump, and a
 *   forward jump must not free a budget. A backward jump delays a key by a minute at most, because an age is never
 *   negative. A boot clock that is behind the stored value restarted with its container, and is ignored.
 * - R3 A crash loses the requests since the last write: less than a second's worth while the database answers. Stored
 *   counts never shrink: the counts of a slot only grow.
 */
import type { BootTime, Clock } from '../lib/clock.ts'
import { COUNTERS_FLUSH_MS, FlushTimer } from './flush-timer.ts'
import type { AdmittedRequests, KeyCounters, SlotCount } from './rate-limit.ts'
import { WINDOW_MS } from './rate-limit.ts'

const SLOT_MS = 500
/** A slot followed by this many others is at least a minute old, wherever in the current slot we are. */
const SLOTS_MAX = WINDOW_MS / SLOT_MS + 1

/** Of a slot that is not divided by shard, or whose keys' shards are not known. */
export const ANY_SHARD = -1

/** How far a clock reading may lag: `/proc/uptime` has a resolution of 10 ms. When in doubt, a slot ends later (R1). */
const CLOCK_STEP_MS = 10

/** A slot as written; of a node of several, the part of it that belongs to one shard. */
export interface RateSlot {
  /** Number of the slot, counted from the start of its writer. */
  readonly slot: number
  /** Or ANY_SHARD. */
  readonly shard: number
  /** Milliseconds since its end; 0 while it is the current slot. */
  readonly ageMs: number
  /** Its end, by the process's wall clock. */
  readonly wallMs: number
  /** Its end, by the machine's boot clock; null where there is none. */
  readonly bootId: string | null
  readonly bootMs: number | null
  /** Requests of its keys together. */
  readonly total: number
  /** Requests by key. */
  readonly counts: Readonly<Record<string, number>>
}

/** A slot as read: `ageMs` is by the database's clock. */
export type StoredRateSlot = Pick<RateSlot, 'ageMs' | 'wallMs' | 'bootId' | 'bootMs' | 'counts'>

export interface RateSlotsToKeep {
  readonly slots: readonly RateSlot[]
  /** Slots of this writer before this one are at least a minute old. */
  readonly keepFrom: number
  /** All slots of earlier writers are at least a minute old. */
  readonly dropEarlier: boolean
}

interface Open {
  readonly slot: number
  readonly counts: Map<string, SlotCount>
  total: number
  isDirty: boolean
}

/** Counts admitted requests, and writes the counts every half second in which there were any. */
export class RateSlots {
  readonly #clock: Clock
  readonly #bootTime: () => BootTime | null
  readonly #shardOf: (agencyId: string) => number
  readonly #persist: (keep: RateSlotsToKeep) => Promise<void>
  readonly #timer: FlushTimer
  readonly #since: number
  readonly #slots = new Map<number, Open>()
  /** The number of `#current`, the newest slot. */
  #slot = 0
  #current: Open

  constructor(options: {
    clock: Clock
    bootTime: () => BootTime | null
    /** Given: each slot is written by shard, so that whoever takes one reads no more than that. */
    shardOf?: (agencyId: string) => number
    /** Makes slots durable. Idempotent. */
    persist: (keep: RateSlotsToKeep) => Promise<void>
    onFailure: (error: unknown) => void
  }) {
    this.#clock = options.clock
    this.#bootTime = options.bootTime
    this.#shardOf = options.shardOf ?? (() => ANY_SHARD)
    this.#persist = options.persist
    this.#since = options.clock.monotonicMs()
    this.#current = this.#open(0)
    this.#timer = new FlushTimer({
      flushed: { isDirty: () => this.#isDirty(), write: () => this.#write() },
      clock: options.clock,
      everyMs: COUNTERS_FLUSH_MS,
      onFailure: options.onFailure,
    })
  }

  /** Slots in memory: the unwritten ones of the last minute, and the current one. */
  get slotCount(): number {
    return this.#slots.size
  }

  /** Counts an admitted request of the key. `atMs`: the current monotonic time. `kept`: the key's own, or null. */
  count(keyId: string, atMs: number, kept: KeyCounters | null = null): void {
    const slot = Math.floor((atMs - this.#since) / SLOT_MS)
    if (slot !== this.#slot) this.#advanceTo(slot)
    const current = this.#current
    let count = kept?.slotCount ?? null
    if (count === null || count.slot !== slot) {
      count = countIn(current, slot, keyId, kept?.agencyId ?? null)
      if (kept !== null) kept.slotCount = count
    }
    count.requests += 1
    current.total += 1
    if (current.isDirty) return
    current.isDirty = true
    this.#timer.wake()
  }

  /**
   * Makes everything counted so far durable.
   * @throws what `persist` threw; it is retried
   */
  flush(): Promise<void> {
    return this.#timer.flush()
  }

  /**
   * The last flush, for a clean shutdown.
   * @throws what `persist` threw
   */
  stop(): Promise<void> {
    return this.#timer.stop()
  }

  #open(slot: number): Open {
    const open: Open = { slot, counts: new Map(), total: 0, isDirty: false }
    this.#slots.set(slot, open)
    return open
  }

  /** Drops slots that are written or a minute old, so that memory stays bounded while the database is unavailable. */
  #advanceTo(slot: number): void {
    for (const [old, { isDirty }] of this.#slots) if (!isDirty || old < slot - SLOTS_MAX) this.#slots.delete(old)
    this.#slot = slot
    this.#current = this.#open(slot)
  }

  #isDirty(): boolean {
    for (const { isDirty } of this.#slots.values()) if (isDirty) return true
    return false
  }

  async #write(): Promise<void> {
    const now = this.#clock.monotonicMs()
    const wallMs = this.#clock.now() + CLOCK_STEP_MS
    const boot = this.#bootTime()
    const dirty = [...this.#slots.values()].filter(({ isDirty }) => isDirty)
    const totals = dirty.map(({ total }) => total)
    const slots = dirty.flatMap(({ slot, counts }) => {
      const ageMs = Math.max(0, now - this.#since - (slot + 1) * SLOT_MS)
      const end = {
        slot,
        ageMs,
        wallMs: wallMs - ageMs,
        bootId: boot?.bootId ?? null,
        bootMs: boot === null ? null : boot.ms + CLOCK_STEP_MS - ageMs,
      }
      return this.#byShard(counts).map((part): RateSlot => ({ ...end, ...part }))
    })
    const newest = Math.floor((now - this.#since) / SLOT_MS)
    await this.#persist({ slots, keepFrom: newest - SLOTS_MAX, dropEarlier: newest > SLOTS_MAX })
    dirty.forEach((open, i) => {
      if (open.total === totals[i]) open.isDirty = false
    })
  }

  #byShard(counts: ReadonlyMap<string, SlotCount>): Pick<RateSlot, 'shard' | 'total' | 'counts'>[] {
    const parts = new Map<number, { shard: number; total: number; counts: Record<string, number> }>()
    for (const [keyId, { agencyId, requests }] of counts) {
      const shard = agencyId === null ? ANY_SHARD : this.#shardOf(agencyId)
      const part = parts.get(shard) ?? { shard, total: 0, counts: {} }
      part.total += requests
      part.counts[keyId] = requests
      parts.set(shard, part)
    }
    return [...parts.values()]
  }
}

function countIn({ counts }: Open, slot: number, keyId: string, agencyId: string | null): SlotCount {
  const known = counts.get(keyId)
  if (known !== undefined) return known
  const count = { slot, agencyId, requests: 0 }
  counts.set(keyId, count)
  return count
}

/** The admitted requests in the stored slots, at present (R1, R2). */
export function admittedRequests(
  stored: readonly StoredRateSlot[],
  now: { wallMs: number; boot: BootTime | null },
): AdmittedRequests[] {
  return stored.flatMap((slot) => {
    const ages = [slot.ageMs, now.wallMs - slot.wallMs]
    if (slot.bootMs !== null && slot.bootId === now.boot?.bootId) {
      const bootAgeMs = now.boot.ms - slot.bootMs
      if (bootAgeMs > -2 * CLOCK_STEP_MS) ages.push(bootAgeMs)
    }
    const ageMs = Math.max(0, Math.min(...ages))
    if (ageMs >= WINDOW_MS) return []
    return Object.entries(slot.counts).map(([keyId, requests]) => ({ keyId, requests, ageMs }))
  })
}
