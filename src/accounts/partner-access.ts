/**
 * Who may send requests: the checks that REST and MCP share, in the design's order: key, plan, requests per minute, requests
 * per month. Scopes are the route's. Synchronous, so that nothing changes between the look-up and the answer to it: a revocation
 * holds from the next request on (docs/contract.md#authentication, rule 8), and for one whose body comes after it.
 */

import { KEY_PREFIX } from '../core/catalogue/agency.ts'
import type { Catalogue, KeyHolder } from '../core/catalogue/catalogue.ts'
import { type Clock, sleep } from '../lib/clock.ts'
import { sha256Hex } from '../lib/ids.ts'
import { KeyCounters, type RateDecision, type RateLimiter } from './rate-limit.ts'
import type { UsageMeter } from './usage-meter.ts'

/** A part of a large answer. Writing so much takes 2 to 3 ms of CPU. */
export const ANSWER_CHARS_PER_PART = 32_768
/** Smaller answers are not paced. */
const PARTS_MIN = 1 / 8
/**
 * How far a part keeps the large answers of its agency apart while other agencies are served, ms: so much more than it takes that at
 * most one in a hundred of their requests meets one of its steps.
 */
export const PART_MS = 200
/** The same while no other agency is served. */
export const PART_ALONE_MS = 5
/** So many parts come at once, if the agency has asked for little before: somebody who leafs through a calendar waits for none. */
export const BURST_PARTS = 32
/** An agency is being served for so long after a request. */
export const SERVED_MS = 1_000
/** No answer waits longer, and a request with a key for one that would is refused. */
export const PAUSE_MS_MAX = 10_000

export function partsOf(chars: number): number {
  return chars / ANSWER_CHARS_PER_PART
}

/**
 * The pace of an agency's large answers, with whichever key or token they are asked for: each waits until all but a burst of those before
 * have had their time. So the first ones come at once, a client that reads page after page is slowed down instead of refused, and other
 * agencies meet few of them (A1): steps of an answer that cannot be divided, such as the decoding of its rows, occupy the event loop for a millisecond.
 */
export class AnswerPace {
  readonly #clock: Clock
  /** By agency: how many parts had not had their time yet, and when that was (monotonic). */
  readonly #owed = new Map<string, { readonly parts: number; readonly atMs: number }>()
  /** The agency that was served last, and the last one before it that was another one. */
  #last = NOBODY_SERVED
  #lastOther = NOBODY_SERVED

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A request of the agency is served. */
  noteServed(agencyId: string): void {
    if (agencyId !== this.#last.agencyId) {
      this.#lastOther = this.#last
      this.#last = { agencyId, atMs: 0 }
    }
    this.#last.atMs = this.#clock.monotonicMs()
  }

  /**
   * Takes an answer from the agency's pace.
   * @param parts may be a fraction
   * @returns null when it may be sent at once; otherwise send it when this resolves
   */
  take(agencyId: string, parts: number): Promise<void> | null {
    if (parts < PARTS_MIN) return null
    const partMs = this.#partMs(agencyId)
    const owed = this.#owedNow(agencyId, partMs)
    this.#owed.set(agencyId, { parts: owed + parts, atMs: this.#clock.monotonicMs() })
    const pauseMs = Math.max(0, owed - BURST_PARTS) * partMs
    return pauseMs === 0 ? null : sleep(this.#clock, Math.min(pauseMs, PAUSE_MS_MAX))
  }

  /** Whole seconds until an answer would not have to wait longer than `PAUSE_MS_MAX`; 0 when it would not now. */
  waitS(agencyId: string): number {
    const partMs = this.#partMs(agencyId)
    const pauseMs = (this.#owedNow(agencyId, partMs) - BURST_PARTS) * partMs
    return Math.max(0, Math.ceil((pauseMs - PAUSE_MS_MAX) / 1_000))
  }

  #partMs(agencyId: string): number {
    const other = this.#last.agencyId === agencyId ? this.#lastOther : this.#last
    return this.#clock.monotonicMs() - other.atMs < SERVED_MS ? PART_MS : PART_ALONE_MS
  }

  #owedNow(agencyId: string, partMs: number): number {
    const owed = this.#owed.get(agencyId)
    return owed === undefined ? 0 : Math.max(0, owed.parts - (this.#clock.monotonicMs() - owed.atMs) / partMs)
  }
}

const NOBODY_SERVED = { agencyId: '', atMs: Number.NEGATIVE_INFINITY }

/** Why a request with a valid key is not served. */
export type AccessRefusal =
  | { readonly code: 'FEATURE_DISABLED' }
  | { readonly code: 'RATE_LIMITED'; readonly limit: number; readonly retryAfterS: number }
  /** Too many large answers of the agency wait already. */
  | { readonly code: 'LARGE_ANSWERS'; readonly retryAfterS: number }
  | {
      readonly code: 'QUOTA_EXCEEDED'
      readonly quota: number
      readonly used: number
      /** ISO 8601, UTC. */
      readonly resetsAt: string
      readonly retryAfterS: number
    }

/** A request made with a valid key. `refusal`: why it is nevertheless not served. */
export interface Admission {
  readonly holder: KeyHolder
  readonly rate: RateDecision
  readonly refusal: AccessRefusal | null
}

const FEATURE_DISABLED: AccessRefusal = { code: 'FEATURE_DISABLED' }

/** Requests that were refused since the start. */
export interface AccessStats {
  readonly unauthorized: number
  readonly featureDisabled: number
  readonly rateLimited: number
  readonly quotaExceeded: number
}

type KeyLookup = Pick<Catalogue['keys'], 'holderByHash'>

export class PartnerAccess {
  readonly #keys: KeyLookup
  readonly #clock: Clock
  readonly #limiter: RateLimiter
  readonly #meter: UsageMeter
  /** Of the agencies' large answers, those of the portal included: a plan bounds requests, and an agency can have 200 keys. */
  readonly pace: AnswerPace
  readonly #refused = { unauthorized: 0, featureDisabled: 0, rateLimited: 0, quotaExceeded: 0 }

  constructor(options: {
    keys: KeyLookup
    clock: Clock
    limiter: RateLimiter
    meter: UsageMeter
  }) {
    this.#keys = options.keys
    this.#clock = options.clock
    this.#limiter = options.limiter
    this.#meter = options.meter
    this.pace = new AnswerPace(options.clock)
  }

  get stats(): AccessStats {
    return { ...this.#refused }
  }

  /**
   * Null: 401 (docs/contract.md#authentication, rule 9). `authorization`: the header, null when absent.
   * @param isLarge whether the answer may be large. Only then is it refused for those before it: what would wait for nothing must not be
   *   refused because somebody else of the agency reads too much
   */
  admit(authorization: string | null, isLarge = false): Admission | null {
    const holder = authenticate(authorization, this.#keys, this.#clock.now())
    if (holder === null) {
      this.#refused.unauthorized += 1
      return null
    }
    const { agency, key } = holder
    const { plan } = agency
    this.pace.noteServed(agency.id)
    const kept = countersOf(holder)
    const rate = this.#limiter.take(key.id, plan.requestsPerMinute, kept)
    if (!rate.allowed)
      return { holder, rate, refusal: plan.apiAccess ? this.#rateLimited(rate) : this.#featureDisabled() }
    const waitS = isLarge && plan.apiAccess ? this.pace.waitS(agency.id) : 0
    if (waitS > 0) {
      this.#refused.rateLimited += 1
      return { holder, rate, refusal: { code: 'LARGE_ANSWERS', retryAfterS: waitS } }
    }
    const usage = this.#meter.take(agency.id, plan.requestsPerMonth, kept, key)
    if (!plan.apiAccess) return { holder, rate, refusal: this.#featureDisabled() }
    return { holder, rate, refusal: usage.allowed ? null : this.#quotaExceeded(usage) }
  }

  /**
   * Counts further requests for an admitted one whose answer costs more than one request: all of them, or none. If the plan has no more
   * requests a minute than that, it takes the whole minute. If it is refused, it counts against the minute only, like every 429.
   */
  charge({ holder, rate }: Admission, requests: number): Admission {
    const { agency, key } = holder
    const { requestsPerMinute, requestsPerMonth } = agency.plan
    const kept = countersOf(holder)
    const ofMinute = Math.min(requests, requestsPerMinute - 1)
    const left = requestsPerMinute - ofMinute
    if (this.#limiter.waitS(key.id, left + 1) > 0) {
      this.#meter.giveBack(agency.id)
      // When it comes again it is counted again: there must be room for that too.
      const retryAfterS = this.#limiter.waitS(key.id, left)
      return { holder, rate, refusal: this.#rateLimited({ limit: requestsPerMinute, retryAfterS }) }
    }
    const usage = this.#meter.take(agency.id, requestsPerMonth, kept, null, requests)
    if (!usage.allowed) {
      this.#meter.giveBack(agency.id)
      return { holder, rate, refusal: this.#quotaExceeded(usage) }
    }
    const taken = ofMinute === 0 ? rate : this.#limiter.take(key.id, requestsPerMinute, kept, ofMinute)
    return { holder, rate: taken, refusal: null }
  }

  /** Takes a large answer from the agency's pace. @returns null when it may be sent at once; otherwise when this resolves */
  takeAnswer(agencyId: string, chars: number): Promise<void> | null {
    return this.takeParts(agencyId, partsOf(chars))
  }

  /** The same for work that the length of the answer does not tell. @param parts each about 2 to 3 ms of CPU; may be a fraction */
  takeParts(agencyId: string, parts: number): Promise<void> | null {
    return this.pace.take(agencyId, parts)
  }

  /** The holder of the key of a request that was answered with 401; null when the key is unknown. */
  holderOf(authorization: string | null): KeyHolder | null {
    return keyHolder(authorization, this.#keys)
  }

  /** Whether a request that waits may still be answered: key, agency and plan as they are now. Counts nothing. */
  isServed({ key }: KeyHolder): boolean {
    return validHolder(key.secretSha256, this.#keys, this.#clock.now())?.agency.plan.apiAccess === true
  }

  /**
   * Checks key, agency and plan again when the body of a request has arrived, which may be long after its headers. Does not count
   * against any limit. Null and `refusal` as from `admit`; the same object when nothing has changed.
   */
  readmit(admission: Admission): Admission | null {
    const { holder, rate, refusal } = admission
    const current = validHolder(holder.key.secretSha256, this.#keys, this.#clock.now())
    if (current === null) {
      this.#refused.unauthorized += 1
      return null
    }
    if (!current.agency.plan.apiAccess) return { holder: current, rate, refusal: this.#featureDisabled() }
    return current === holder && refusal === null ? admission : { holder: current, rate, refusal: null }
  }

  #rateLimited({ limit, retryAfterS }: Pick<RateDecision, 'limit' | 'retryAfterS'>): AccessRefusal {
    this.#refused.rateLimited += 1
    return { code: 'RATE_LIMITED', limit, retryAfterS }
  }

  #quotaExceeded({ quota, used, resetsAt, retryAfterS }: ReturnType<UsageMeter['take']>): AccessRefusal {
    this.#refused.quotaExceeded += 1
    return { code: 'QUOTA_EXCEEDED', quota, used, resetsAt, retryAfterS }
  }

  #featureDisabled(): AccessRefusal {
    this.#refused.featureDisabled += 1
    return FEATURE_DISABLED
  }
}

/** Nobody else keeps anything there. */
function countersOf(holder: KeyHolder): KeyCounters {
  holder.counters ??= new KeyCounters(holder.agency.id)
  return holder.counters as KeyCounters
}

/** Our keys have 51 characters. A longer token than this is not even hashed. */
const TOKEN_CHARS_MAX = 256

/** How nearly every request begins it. */
const SCHEME = `Bearer ${KEY_PREFIX}`

/** `Bearer`, in any case, and a token of RFC 6750's characters. Surrounding whitespace has already been removed. */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i
const HEADER_CHARS_MAX = TOKEN_CHARS_MAX + 'Bearer '.length

/**
 * Authenticates a request. Null means 401: a missing or malformed header, an unknown, revoked or expired key, or an
 * agency that is not active (docs/contract.md#authentication, rules 8 and 9).
 *
 * The secret itself is never compared. The key is hashed, and the hash is looked up in a map. The timing of that
 * look-up can reveal something only about the hash of the caller's own guess, and steering that hash towards a stored
 * one, byte by byte, amounts to inverting SHA-256. `bench/secret-timing.ts` measures it.
 *
 * @param authorization the header; null when it is missing
 * @param now wall clock, milliseconds
 */
export function authenticate(authorization: string | null, keys: KeyLookup, now: number): KeyHolder | null {
  return ifValid(keyHolder(authorization, keys), now)
}

/**
 * The holder of the key with this hash; null when the key is unknown, revoked or expired, or its agency is not active.
 */
function validHolder(sha256: string, keys: KeyLookup, now: number): KeyHolder | null {
  return ifValid(keys.holderByHash(sha256), now)
}

function ifValid(holder: KeyHolder | null, now: number): KeyHolder | null {
  if (holder === null) return null
  const { key, agency } = holder
  if (key.revokedAt !== null) return null
  if (key.expiresAt !== null && now > key.expiresAt) return null
  return agency.status === 'active' ? holder : null
}

/**
 * The holder of the key in the header, valid or not; null when the key is unknown. It grants no access: use
 * `authenticate` for that.
 */
function keyHolder(authorization: string | null, keys: KeyLookup): KeyHolder | null {
  const hash = keyHashOf(authorization)
  return hash === null ? null : keys.holderByHash(hash)
}

/** The hash of the key in the header, lower-case hex; null when there is none, or it is malformed. */
export function keyHashOf(authorization: string | null): string | null {
  const token = bearerTokenOf(authorization)
  return token === null ? null : sha256Hex(token)
}

function bearerTokenOf(authorization: string | null): string | null {
  if (authorization === null || authorization.length > HEADER_CHARS_MAX) return null
  // Whether the rest is a token need not be looked at: no other text has the hash of a key.
  if (authorization.startsWith(SCHEME)) return authorization.slice(SCHEME.length - KEY_PREFIX.length)
  return BEARER.exec(authorization)?.[1] ?? null
}
