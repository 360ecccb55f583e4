import { assert } from '../lib/assert.ts'

/** Where an attempt counts. `fast`: it may still be quick. `parked`: it was slow, or its endpoint is not to be trusted. */
type Place = 'fast' | 'parked' | 'ended'

export interface PoolLimits {
  readonly fastMax: number
  readonly parkedMax: number
  /** Attempts that begin parked; the rest of `parkedMax` is for those that turn out slow. */
  readonly parkedAtStartMax: number
  /** Attempts of one agency, in both. */
  readonly perAgencyMax: number
}

/** Measured with 500 endpoints that hang beside 50 healthy ones (bench/webhook-fairness.ts). */
export const POOL_LIMITS: PoolLimits = { fastMax: 256, parkedMax: 1_536, parkedAtStartMax: 1_024, perAgencyMax: 128 }

/** An attempt older than this is slow: it leaves the fast pool to others. */
export const PARK_AFTER_MS = 250

/** Bun's own cap on requests, 256 unless set before the process starts; above both pools, and room for what is called off. */
export const HTTP_REQUESTS_MAX = 2_048

/** One attempt's place. */
export interface Slot {
  /** It is slow now. When no parked place is free it waits for one, where it is. */
  park(): void
  end(): void
}

/** The two pools of attempts in flight: what hangs ends up parked, so that what is quick always finds a place. */
export class SendPool {
  readonly #limits: PoolLimits
  readonly #onFree: () => void
  readonly #ofAgency = new Map<string, number>()
  /** Slow ones in the fast pool that wait for a parked place. */
  readonly #waiting = new Set<() => void>()
  #fast = 0
  #parked = 0

  /** @param onFree a place is free; called in the same turn */
  constructor(limits: PoolLimits, onFree: () => void) {
    this.#limits = limits
    this.#onFree = onFree
  }

  get fast(): number {
    return this.#fast
  }

  get parked(): number {
    return this.#parked
  }

  hasRoom(place: 'fast' | 'parked'): boolean {
    return place === 'fast' ? this.#fast < this.#limits.fastMax : this.#parked < this.#limits.parkedAtStartMax
  }

  hasRoomFor(agencyId: string): boolean {
    return (this.#ofAgency.get(agencyId) ?? 0) < this.#limits.perAgencyMax
  }

  start(agencyId: string, at: 'fast' | 'parked'): Slot {
    assert(this.hasRoom(at) && this.hasRoomFor(agencyId), `Cannot start an attempt: no ${at} place is free`)
    this.#ofAgency.set(agencyId, (this.#ofAgency.get(agencyId) ?? 0) + 1)
    if (at === 'fast') this.#fast += 1
    else this.#parked += 1
    let place: Place = at
    const move = () => {
      place = 'parked'
      this.#fast -= 1
      this.#parked += 1
    }
    return {
      park: () => {
        if (place !== 'fast') return
        if (this.#parked >= this.#limits.parkedMax) {
          this.#waiting.add(move)
          return
        }
        move()
        this.#onFree()
      },
      end: () => {
        assert(place !== 'ended', 'Cannot end an attempt: it has ended')
        this.#waiting.delete(move)
        if (place === 'fast') this.#fast -= 1
        else this.#parked -= 1
        place = 'ended'
        this.#leaveAgency(agencyId)
        this.#parkOneMore()
        this.#onFree()
      },
    }
  }

  #leaveAgency(agencyId: string): void {
    const left = (this.#ofAgency.get(agencyId) ?? 0) - 1
    if (left <= 0) this.#ofAgency.delete(agencyId)
    else this.#ofAgency.set(agencyId, left)
  }

  #parkOneMore(): void {
    const [move] = this.#waiting
    if (move === undefined || this.#parked >= this.#limits.parkedMax) return
    this.#waiting.delete(move)
    move()
  }
}
