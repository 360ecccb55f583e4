/**
 * The requests of the last minute made durable, so that a new process does not grant a key a second budget (contract,
 * Limits: 60 a minute, rolling). Time is cut into slots of half a second; a slot holds how many requests of each key
 * passed in it.
 *
 * - R1 A request counts from the end of its slot: later than it was made, so never in the caller's favour. With the slot's
 *   length that is half a second at most.
 * - R2 The age of a slot is the smallest that any clock shared by both processes gives. Each clock may jump, and one that
 *   jumps forward must not free a budget. One that jumps back delays a key by a minute at most, because an age is never
 *   negative. A boot clock that is behind what was written began anew with its container, and is ignored.
 * - R3 A crash forgets the requests since the last write: less than a second while the database answers. Stored counts
 *   never shrink: the counts of a slot only grow.
 */
import type { BootTime } from '../lib/boot-clock.ts'
import type { Clock } from '../lib/clock.ts'
import { COUNTERS_FLUSH_MS, FlushTimer } from './flush-timer.ts'
import type { PassedRequests } from './rate-limit.ts'
import { WINDOW_MS } from './rolling-minute.ts'

const SLOT_MS = 500
/** A slot that is followed by this many others is a minute old, whatever the position in the current one. */
const SLOTS_MAX = WINDOW_MS / SLOT_MS + 1

/** How far a clock reading may lag: `/proc/uptime` has a resolution of 10 ms. If in doubt, a slot ends later (R1). */
const CLOCK_STEP_MS = 10

/** A slot as it is written. */
export interface RateSlot {
  /** Counts from the writer's start. */
  readonly slot: number
  /** Since its end; 0 while it lasts. */
  readonly ageMs: number
  /** Its end, by the process's wall clock. */
  readonly wallMs: number
  /** Its end, by the machine's boot clock; null where there is none. */
  readonly bootId: string | null
  readonly bootMs: number | null
  /** Requests, all keys together. */
  readonly total: number
  /** Requests by key. */
  readonly counts: Readonly<Record<string, number>>
}

/** A slot as it is read: `ageMs` by the database's clock. */
export type StoredRateSlot = Pick<RateSlot, 'ageMs' | 'wallMs' | 'bootId' | 'bootMs' | 'counts'>

export interface RateSlotsToKeep {
  readonly slots: readonly RateSlot[]
  /** Slots of this writer before it are a minute old. */
  readonly keepFrom: number
  /** Every slot of earlier writers is a minute old. */
  readonly dropEarlier: boolean
}

interface Open {
  readonly counts: Map<string, number>
  total: number
  isDirty: boolean
}

/** Counts admitted requests, and writes the counts every half second in which there were any. */
export class RateSlots {
  readonly #clock: Clock
  readonly #bootTime: () => BootTime | null
  readonly #persist: (keep: RateSlotsToKeep) => Promise<void>
  readonly #timer: FlushTimer
  readonly #since: number
  readonly #slots = new Map<number, Open>()
  /** The slot of `#current`; the newest. */
  #slot = 0
  #current: Open

  constructor(options: {
    clock: Clock
    bootTime: () => BootTime | null
    /** Makes slots durable; sending one twice does no harm. */
    persist: (keep: RateSlotsToKeep) => Promise<void>
    onFailure: (error: unknown) => void
  }) {
    this.#clock = options.clock
    this.#bootTime = options.bootTime
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

  /** Slots in memory: those of the last minute that are not written, and the current one. */
  get held(): number {
    return this.#slots.size
  }

  /** Counts an admitted request of the key. `atMs`: now, by the monotonic clock. */
  count(keyId: string, atMs: number): void {
    const slot = Math.floor((atMs - this.#since) / SLOT_MS)
    if (slot !== this.#slot) this.#turnTo(slot)
    const current = this.#current
    current.counts.set(keyId, (current.counts.get(keyId) ?? 0) + 1)
    current.total += 1
    current.isDirty = true
    this.#timer.wake()
  }

  /**
   * Makes everything counted so far durable.
   * @throws what `persist` threw; it is tried again
   */
  flush(): Promise<void> {
    return this.#timer.flush()
  }

  /**
   * The last flush, for a clean end.
   * @throws what `persist` threw
   */
  stop(): Promise<void> {
    return this.#timer.stop()
  }

  #open(slot: number): Open {
    const open: Open = { counts: new Map(), total: 0, isDirty: false }
    this.#slots.set(slot, open)
    return open
  }

  /** Forgets what is written or a minute old, so that memory stays bounded while the database is away. */
  #turnTo(slot: number): void {
    for (const [held, { isDirty }] of this.#slots) if (!isDirty || held < slot - SLOTS_MAX) this.#slots.delete(held)
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
    const dirty = [...this.#slots].filter(([, { isDirty }]) => isDirty)
    const slots = dirty.map(([slot, { total, counts }]): RateSlot => {
      const ageMs = Math.max(0, now - this.#since - (slot + 1) * SLOT_MS)
      return {
        slot,
        ageMs,
        wallMs: wallMs - ageMs,
        bootId: boot?.bootId ?? null,
        bootMs: boot === null ? null : boot.ms + CLOCK_STEP_MS - ageMs,
        total,
        counts: Object.fromEntries(counts),
      }
    })
    const newest = Math.floor((now - this.#since) / SLOT_MS)
    await this.#persist({ slots, keepFrom: newest - SLOTS_MAX, dropEarlier: newest > SLOTS_MAX })
    dirty.forEach(([, open], i) => {
      if (open.total === slots[i]?.total) open.isDirty = false
    })
  }
}

/** The admitted requests that stored slots stand for, as seen by a process that reads them now (R1, R2). */
export function passedRequests(
  stored: readonly StoredRateSlot[],
  now: { wallMs: number; boot: BootTime | null },
): PassedRequests[] {
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
