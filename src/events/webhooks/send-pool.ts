import { assert } from '../../lib/assert.ts'
import { Counts } from '../../lib/counts.ts'

/**
 * A queue in which agencies take turns, and the members of an agency take turns within it. However many members one
 * agency has queued, every other agency gets a turn between two of them.
 */
export class FairTurns<Member extends { readonly agencyId: string }> {
  /** In order of their next turn: a Map keeps insertion order. */
  readonly #agencies = new Map<string, Set<Member>>()

  /** A member that is already queued keeps its place. */
  add(member: Member): void {
    const members = this.#agencies.get(member.agencyId)
    if (members === undefined) this.#agencies.set(member.agencyId, new Set([member]))
    else members.add(member)
  }

  delete(member: Member): void {
    const members = this.#agencies.get(member.agencyId)
    members?.delete(member)
    if (members?.size === 0) this.#agencies.delete(member.agencyId)
  }

  /** Removes and returns the next member of the next agency that `mayGo` accepts, and moves its agency to the end. */
  take(mayGo: (agencyId: string) => boolean): Member | undefined {
    for (const [agencyId, members] of this.#agencies) {
      if (!mayGo(agencyId)) continue
      const [member] = members
      if (member === undefined) continue
      this.#agencies.delete(agencyId)
      members.delete(member)
      if (members.size > 0) this.#agencies.set(agencyId, members)
      return member
    }
    return undefined
  }
}

/**
 * Which pool an attempt counts against. `fast`: it has not been slow so far. `parked`: it was slow, or its endpoint
 * failed or was slow before.
 */
type Place = 'fast' | 'parked' | 'ended'

export interface PoolLimits {
  readonly fastMax: number
  readonly parkedMax: number
  /**
   * Attempts that may start in the parked pool. The rest of `parkedMax` is reserved for attempts that turn out to be
   * slow.
   */
  readonly parkedAtStartMax: number
  /** Attempts of one agency, in both pools together. */
  readonly perAgencyMax: number
}

/** Measured with 500 hanging and 50 healthy endpoints (bench/webhook-fairness.ts). */
export const POOL_LIMITS: PoolLimits = { fastMax: 256, parkedMax: 1_536, parkedAtStartMax: 1_024, perAgencyMax: 128 }

/**
 * So many attempts of a sandbox begin in each of these times: when its clock is moved, thousands fall due at once, and others share the
 * processors and the database with them (measured; bench/sandbox-clock.ts).
 */
export const SANDBOX_BURST = 8
export const SANDBOX_BURST_MS = 50

/** An attempt that takes longer than this is slow and moves out of the fast pool. */
export const PARK_AFTER_MS = 250

/**
 * Bun's limit on concurrent requests: 256 unless set before the process starts. Larger than both pools together, with
 * room for cancelled requests.
 */
export const HTTP_REQUESTS_MAX = 2_048

/** One attempt's slot in a pool. */
export interface Slot {
  /** The attempt is slow. It moves to the parked pool, or stays where it is until the parked pool has room. */
  park(): void
  end(): void
}

/**
 * The two pools of attempts in flight. Slow attempts end up parked, so that the fast pool always has room for fast
 * ones.
 */
export class SendPool {
  readonly #limits: PoolLimits
  readonly #onFree: () => void
  readonly #ofAgency = new Counts<string>()
  /** Slow attempts in the fast pool that wait for room in the parked pool. */
  readonly #waiting = new Set<() => void>()
  #fast = 0
  #parked = 0

  /** @param onFree called synchronously when a slot becomes free */
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
    return this.#ofAgency.of(agencyId) < this.#limits.perAgencyMax
  }

  start(agencyId: string, at: 'fast' | 'parked'): Slot {
    assert(this.hasRoom(at) && this.hasRoomFor(agencyId), `Cannot start an attempt: no ${at} place is free`)
    this.#ofAgency.add(agencyId)
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
        this.#ofAgency.add(agencyId, -1)
        this.#parkOneMore()
        this.#onFree()
      },
    }
  }

  #parkOneMore(): void {
    const [move] = this.#waiting
    if (move === undefined || this.#parked >= this.#limits.parkedMax) return
    this.#waiting.delete(move)
    move()
  }
}
