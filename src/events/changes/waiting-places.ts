/**
 * The requests that wait for changes, and the open streams: how many there may be, and when they must end (docs/partner-additions.md#4-get-changes-nothing-missed).
 * Nothing here costs anything per request while it waits: keys and sessions are looked at twice a second, each once, however many
 * wait with it.
 */
import type { Clock } from '../../lib/clock.ts'
import { Counts } from '../../lib/counts.ts'

/** Of one API key or access token. */
export const WAITING_PER_KEY_MAX = 20
/** Of one agency, all its keys and tokens together: no agency has the places of the others. */
export const WAITING_PER_AGENCY_MAX = 500
/** Of the process. */
export const WAITING_MAX = 5_000
/** At most this long after its key was revoked or has expired, its session has ended, or the agency was suspended, a request ends. */
const CHECK_EVERY_MS = 500

/** Who waits. */
export interface Waiting {
  /** Whose share the place is of: the agency's, or the operator's. */
  readonly ownerId: string
  /** Of the API key or access token. */
  readonly keyId: string
  /** Of the session that stands for the token; null or left out for the key or token itself. */
  readonly sessionId?: string | null | undefined
  readonly kind: 'request' | 'stream'
  /** Whether the key, or the session, still opens the feed. */
  isServed(): boolean
}

export type NoPlace = 'key_full' | 'agency_full' | 'process_full'

export interface WaitingStats {
  readonly requests: number
  readonly streams: number
}

/** The place of one request. It is taken until `release`. */
export class Place {
  readonly #release: (place: Place) => void
  readonly waiting: Waiting
  #isEnded = false
  /** Called once when the request must end. */
  onEnd: (() => void) | null = null

  constructor(waiting: Waiting, release: (place: Place) => void) {
    this.waiting = waiting
    this.#release = release
  }

  /** The request must end, or nobody reads its answer any more. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.onEnd?.()
  }

  /** Can be called more than once. */
  release(): void {
    this.#release(this)
  }
}

export class WaitingPlaces {
  readonly #clock: Clock
  readonly #byKey = new Map<string, Set<Place>>()
  /** How many places are taken, by owner. */
  readonly #byOwner = new Counts<string>()
  readonly #taken = { request: 0, stream: 0 }
  #state: 'open' | 'paused' | 'ended' = 'open'
  #isChecking = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get stats(): WaitingStats {
    return { requests: this.#taken.request, streams: this.#taken.stream }
  }

  /** After `endAll`, and during a pause, the place has ended already. */
  take(waiting: Waiting): Place | NoPlace {
    const { ownerId, keyId, kind } = waiting
    const places = this.#byKey.get(keyId) ?? new Set()
    if (places.size >= WAITING_PER_KEY_MAX) return 'key_full'
    if (this.#byOwner.of(ownerId) >= WAITING_PER_AGENCY_MAX) return 'agency_full'
    if (this.#byOwner.total >= WAITING_MAX) return 'process_full'
    const place = new Place(waiting, (released) => this.#release(released))
    if (this.#state !== 'open') {
      place.end()
      return place
    }
    this.#byKey.set(keyId, places.add(place))
    this.#byOwner.add(ownerId)
    this.#taken[kind] += 1
    this.#check()
    return place
  }

  /** The process stops serving: all requests end now, and later ones at once. */
  endAll(): void {
    this.#state = 'ended'
    this.#endThese()
  }

  /** The process cannot tell whether what it knows is current (P3): all requests end now, and new ones at once, until it can. */
  pause(isPaused: boolean): void {
    if (this.#state === 'ended') return
    this.#state = isPaused ? 'paused' : 'open'
    if (isPaused) this.#endThese()
  }

  #endThese(): void {
    for (const places of this.#byKey.values()) for (const place of [...places]) place.end()
  }

  #release(place: Place): void {
    const { ownerId, keyId, kind } = place.waiting
    const places = this.#byKey.get(keyId)
    if (places?.delete(place) !== true) return
    if (places.size === 0) this.#byKey.delete(keyId)
    this.#byOwner.add(ownerId, -1)
    this.#taken[kind] -= 1
  }

  #check(): void {
    if (this.#isChecking) return
    this.#isChecking = true
    this.#clock.after(CHECK_EVERY_MS, () => {
      this.#isChecking = false
      for (const places of this.#byKey.values()) endUnserved(places)
      if (this.#byKey.size > 0) this.#check()
    })
  }
}

/** @param places of one key */
function endUnserved(places: ReadonlySet<Place>): void {
  const isServed = new Map<string | null, boolean>()
  for (const place of [...places]) {
    const { sessionId = null } = place.waiting
    const served = isServed.get(sessionId) ?? place.waiting.isServed()
    isServed.set(sessionId, served)
    if (!served) place.end()
  }
}
