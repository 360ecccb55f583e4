/**
 * Repeated writes (docs/design.md#additive-headers): under one scope, API key or token and route and idempotency key, a write
 * happens once.
 *
 * - I1 An answer is kept by the booking's own batch (J2), or in the statement of a change that has no journal entry: there is never a
 *   change without its answer, nor an answer without its change. A sandbox is made or reset by many writes: the answer follows the last of
 *   them, and a repetition that finds none makes it new if this process can tell that it is one (Sandboxes). Only 2xx answers are kept.
 * - I2 One request of a scope executes at a time; the others wait for it. With the fence (J5) no other process
 *   executes meanwhile, so looking up and then executing leaves no gap.
 * - I3 A request looks for a stored answer before it executes, unless another worker has just made its key. If an earlier one failed with
 *   an unknown outcome, a later one that is refused looks again: what refuses it may be the booking of the first, which has become durable
 *   meanwhile. If this process lost the agency after the look, another one may have executed the request since: it is not executed here,
 *   although this process may have got the agency back.
 * - I4 What a caller is told about an outcome holds for the scope: a request that could not look for an answer, or that follows an
 *   unknown outcome, is not told that nothing was changed.
 * - I5 An answer expires when 24 hours have passed by every clock. Setting one clock forward, the process's or the database's,
 *   neither deletes nor hides it: otherwise the write would be made a second time. In a sandbox its own clock decides, which only goes
 *   forward.
 */

import { AlreadyAnsweredError, WriteError } from '../core/bookings/write-error.ts'
import { JournalError, notOwner } from '../core/journal/journal-error.ts'
import type { ChangeAnswer, IdempotencyDraft } from '../core/journal/record.ts'
import { AssertionError, assert } from '../lib/assert.ts'
import { type Clock, DAY_MS, steadyNow } from '../lib/clock.ts'
import { Counts } from '../lib/counts.ts'
import { sha256Hex } from '../lib/ids.ts'

/** How long an answer is replayed. */
export const ANSWER_KEPT_MS = DAY_MS

/** Requests with an idempotency key that are open at once, waiting ones too. */
const OPEN_MAX = 4_096
/** Those of one agency. */
export const OPEN_PER_AGENCY_MAX = OPEN_MAX / 2
/** Scopes remembered in which an execution has failed. */
const DOUBTFUL_MAX = 4_096

export interface IdempotencyScope {
  /** `NO_AGENCY` for a route that belongs to none. */
  readonly agencyId: string
  /** Of the API key or access token; `OPERATOR_ID` for the operator. */
  readonly keyId: string
  /** Method and path template, `POST /partner/v1/bookings`. */
  readonly route: string
  readonly idempotencyKey: string
}

export interface IdempotentRequest extends IdempotencyScope {
  /** Of `requestHashOf`. */
  readonly requestHash: string
  /** Of `hasNewKey`. */
  readonly hasNewKey?: boolean
}

const newKeys = new WeakSet<Request>()

/** Says that another worker has made the key of this request for it (C8), and that no other request was ever sent with it. */
export function markNewKey(request: Request): void {
  newKeys.add(request)
}

/** Whether no answer can be stored under the key of a request: of one that was given up, it is being sent again by now. */
export function hasNewKey(request: Request): boolean {
  return newKeys.has(request) && !request.signal.aborted
}

export interface Answer {
  readonly status: number
  readonly body: string
}

export interface KeptAnswer extends Answer {
  readonly requestHash: string
}

/**
 * Turns the answer of a write into what the booking's record keeps of it. Call it once, with a 2xx answer, and give the draft to
 * the journal: what is kept is what is answered.
 */
export type Keep = (answer: Answer) => IdempotencyDraft & { readonly agencyId: string }

/** The same for an answer whose body only the statement of the change knows (ChangeAnswer). */
export type KeepReturned = (status: number) => ChangeAnswer

/** The outcome of an execution: the answer that was stored, or a refusal, which is not stored. */
export type Execution<R> = { readonly kind: 'answered' } | Refused<R>

interface Refused<R> {
  readonly kind: 'refused'
  readonly refusal: R
}

/**
 * `answered`: what is kept of the answer, null when only the database has it. `replayed`: the first answer again. `reused`: the key belongs
 * to a different request; 422 `IDEMPOTENCY_KEY_REUSED`.
 */
export type IdempotentOutcome<R> = { readonly kind: 'answered'; readonly answer: Answer | null } | Refused<R> | Earlier
type Earlier = { readonly kind: 'replayed'; readonly answer: Answer } | { readonly kind: 'reused' }

/** Finds the answer stored in a scope after `newerThan` (wall clock, or that of the sandbox; exclusive; I5). Null when there is none. */
type FindAnswer = (scope: IdempotencyScope, newerThan: number) => Promise<KeptAnswer | null>

/** Too many requests with an idempotency key are open. This one was not executed: it is safe to retry. */
export class IdempotencyFullError extends Error {
  override readonly name = 'IdempotencyFullError'
}

type Execute<R> = (keep: Keep, keepReturned: KeepReturned) => Promise<Execution<R>>

interface InFlight {
  readonly requestHash: string
  /** False while it looks for a kept answer. */
  executing: boolean
  /** Resolves when it begins to execute, or is over. Never rejects. */
  readonly looked: Promise<void>
  /** Its answer if that is 2xx, null when it was refused or failed, or when it must be looked up. Never rejects. */
  readonly answered: Promise<Answer | null>
}

export class IdempotentWrites {
  readonly #find: FindAnswer
  readonly #now: () => number
  readonly #sandboxNow: (agencyId: string) => number | null
  readonly #termOf: (agencyId: string) => number | null
  readonly #openMax: number
  readonly #openPerAgencyMax: number
  /** By agency. */
  readonly #open = new Counts<string>()
  readonly #inFlight = new Map<string, InFlight>()
  /** Scopes in which an execution failed, and whether any of them failed with an unknown outcome. */
  readonly #doubtful = new Map<string, { readonly agencyId: string; readonly isUnknown: boolean }>()

  /**
   * @param options.sandboxNow what the clock of a sandbox shows; null for any other agency
   * @param options.termOf which ownership of the agency's shard this is; left out: this process has all shards, for good
   */
  constructor(options: {
    find: FindAnswer
    clock: Clock
    sandboxNow?: (agencyId: string) => number | null
    termOf?: (agencyId: string) => number | null
    openMax?: number
    openPerAgencyMax?: number
  }) {
    this.#find = options.find
    this.#now = steadyNow(options.clock)
    this.#sandboxNow = options.sandboxNow ?? (() => null)
    this.#termOf = options.termOf ?? (() => 0)
    this.#openMax = options.openMax ?? OPEN_MAX
    this.#openPerAgencyMax = options.openPerAgencyMax ?? OPEN_PER_AGENCY_MAX
  }

  /** Requests with an idempotency key that are open; for the metrics. */
  get open(): number {
    return this.#open.total
  }

  /**
   * Executes the request unless it was answered within the last 24 hours; a repeated one gets the first answer.
   * @param execute may run after others of the same scope have failed; what it throws is thrown
   * @throws IdempotencyFullError: it was not executed. JournalError of kind `outcome_unknown`: it is not known whether the scope
   *   has an answer
   */
  async run<R>(request: IdempotentRequest, execute: Execute<R>): Promise<IdempotentOutcome<R>> {
    const { agencyId } = request
    const own = this.#open.of(agencyId)
    if (this.#open.total >= this.#openMax || own >= this.#openPerAgencyMax) {
      throw new IdempotencyFullError(
        `Cannot take a request with an Idempotency-Key: ${this.#open.total} are open, ${own} of its agency`,
      )
    }
    this.#open.add(agencyId)
    try {
      const scope = scopeName(request)
      for (;;) {
        const ahead = this.#inFlight.get(scope)
        if (ahead === undefined) return await this.#runFirst(scope, request, execute)
        if (ahead.requestHash === request.requestHash) {
          const answer = await ahead.answered
          if (answer !== null) return { kind: 'replayed', answer }
        } else if (ahead.executing) {
          return { kind: 'reused' }
        } else {
          // It may find that the key belongs to our request, not to its own.
          await ahead.looked
        }
      }
    } finally {
      this.#open.add(agencyId, -1)
    }
  }

  async #runFirst<R>(scope: string, request: IdempotentRequest, execute: Execute<R>): Promise<IdempotentOutcome<R>> {
    const looked = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<Answer | null>()
    const self: InFlight = {
      requestHash: request.requestHash,
      executing: false,
      looked: looked.promise,
      answered: answered.promise,
    }
    this.#inFlight.set(scope, self)
    let outcome: IdempotentOutcome<R> | null = null
    const term = this.#termOf(request.agencyId)
    const isOwnedStill = () => this.#termOf(request.agencyId) === term
    try {
      if (request.hasNewKey !== true) outcome = await this.#lookUp(request)
      if (outcome !== null) return outcome
      self.executing = true
      looked.resolve()
      outcome = await this.#execute(request, execute, isOwnedStill)
      if (outcome.kind === 'refused' && this.#doubtful.has(scope)) outcome = (await this.#lookUp(request)) ?? outcome
      return outcome
    } catch (error) {
      throw this.#doubt(scope, request, error, self.executing)
    } finally {
      if (outcome !== null && 'answer' in outcome) this.#doubtful.delete(scope)
      // Removed before the waiting requests resume: one of them goes first now.
      this.#inFlight.delete(scope)
      looked.resolve()
      answered.resolve(outcome !== null && 'answer' in outcome ? outcome.answer : null)
    }
  }

  async #execute<R>(
    request: IdempotentRequest,
    execute: Execute<R>,
    isOwnedStill: () => boolean,
  ): Promise<IdempotentOutcome<R>> {
    try {
      return await executeKeeping(request, execute, isOwnedStill)
    } catch (error) {
      // An attempt of unknown outcome was still being written when its answer was looked for.
      const earlier = isAlreadyAnswered(error) ? await this.#lookUp(request) : null
      if (earlier === null) throw error
      return earlier
    }
  }

  /** The outcome according to the stored answer; null if the scope has none. */
  async #lookUp(request: IdempotentRequest): Promise<Earlier | null> {
    let kept: KeptAnswer | null
    try {
      kept = await this.#find(request, (this.#sandboxNow(request.agencyId) ?? this.#now()) - ANSWER_KEPT_MS)
    } catch (error) {
      throw outcomeUnknown(error)
    }
    if (kept === null) return null
    if (kept.requestHash !== request.requestHash) return { kind: 'reused' }
    return { kind: 'replayed', answer: { status: kept.status, body: kept.body } }
  }

  /** Remembers the failure. @returns the error that the caller gets (I4) */
  #doubt(scope: string, { agencyId }: IdempotentRequest, error: unknown, wasExecuting: boolean): unknown {
    const wasUnknown = this.#doubtful.get(scope)?.isUnknown === true
    if (wasExecuting) {
      this.#doubtful.delete(scope)
      this.#doubtful.set(scope, { agencyId, isUnknown: wasUnknown || isOutcomeUnknown(error) })
      if (this.#doubtful.size > DOUBTFUL_MAX) this.#forgetOne()
    }
    return wasUnknown && !(error instanceof AssertionError) ? outcomeUnknown(error) : error
  }

  /** The oldest whose outcome is known; if there is none, the oldest of the agency that has most: no other one pays for what it does. */
  #forgetOne(): void {
    const scopesOf = new Map<string, number>()
    for (const [scope, { agencyId, isUnknown }] of this.#doubtful) {
      if (!isUnknown) {
        this.#doubtful.delete(scope)
        return
      }
      scopesOf.set(agencyId, (scopesOf.get(agencyId) ?? 0) + 1)
    }
    const most = Math.max(...scopesOf.values())
    for (const [scope, { agencyId }] of this.#doubtful) {
      if (scopesOf.get(agencyId) !== most) continue
      this.#doubtful.delete(scope)
      return
    }
  }
}

function isOutcomeUnknown(error: unknown): boolean {
  if (error instanceof WriteError) return error.outcome !== 'not_written'
  return error instanceof JournalError && error.kind === 'outcome_unknown'
}

function isAlreadyAnswered(error: unknown): boolean {
  return (
    error instanceof Error && (error instanceof AlreadyAnsweredError || error.cause instanceof AlreadyAnsweredError)
  )
}

function outcomeUnknown(cause: unknown): JournalError {
  return new JournalError('outcome_unknown', 'Cannot tell whether a request with this Idempotency-Key was executed', {
    cause,
  })
}

/** Executes, and checks I1: the answer returned is the answer that was stored. */
async function executeKeeping<R>(
  request: IdempotentRequest,
  execute: Execute<R>,
  isOwnedStill: () => boolean,
): Promise<IdempotentOutcome<R>> {
  const kept: (Answer | null)[] = []
  const draft = (status: number, answer: Answer | null) => {
    if (!isOwnedStill()) throw notOwner()
    assert(kept.length === 0, 'Cannot keep an answer: another one is kept already')
    assert(status >= 200 && status < 300, 'Cannot keep an answer: it is not 2xx')
    kept.push(answer)
    const { agencyId, keyId, route, idempotencyKey, requestHash } = request
    return { agencyId, keyId, route, idempotencyKey, requestHash, status }
  }
  const execution = await execute(
    (answer) => ({ ...draft(answer.status, answer), body: answer.body }),
    (status) => ({ ...draft(status, null), body: null }),
  )
  if (execution.kind === 'refused') return execution
  const [answer] = kept
  assert(answer !== undefined, 'Cannot answer a request with an Idempotency-Key: its answer was not kept')
  return { kind: 'answered', answer }
}

/** None of the parts has a line end. */
function scopeName({ agencyId, keyId, route, idempotencyKey }: IdempotencyScope): string {
  return `${agencyId}\n${keyId}\n${route}\n${idempotencyKey}`
}

type IdempotencyKey =
  | { readonly kind: 'none' }
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'malformed'; readonly message: string }

const KEY_CHARS_MAX = 255

/** A string of RFC 8941, section 3.3.3: printable ASCII in double quotes, `\"` and `\\` its only escapes. */
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/
/** Visible ASCII. A quote in it is more likely half of a quoted key than meant. */
const BARE = /^[\x21\x23-\x7e]+$/

/**
 * Reads an `Idempotency-Key` header (docs/design.md#additive-headers): quoted or bare, 1 to 255 characters without the quotes
 * and escapes. `"abc"` and `abc` are the same key.
 * @param header null when it is missing; several headers come joined with a comma and a space, which no key may contain
 */
export function idempotencyKeyOf(header: string | null): IdempotencyKey {
  if (header === null) return { kind: 'none' }
  const text = header.trim()
  const quoted = QUOTED.exec(text)?.[1]?.replaceAll(/\\(["\\])/g, '$1')
  const key = quoted ?? (BARE.test(text) ? text : null)
  if (key === null) return malformed('a string in double quotes, or visible ASCII characters without quotes')
  if (key.length === 0) return malformed('at least 1 character long')
  if (key.length > KEY_CHARS_MAX) return malformed(`at most ${KEY_CHARS_MAX} characters long`)
  return { kind: 'key', key }
}

function malformed(wanted: string): IdempotencyKey {
  return { kind: 'malformed', message: `Idempotency-Key must be ${wanted}` }
}

/**
 * What distinguishes requests with the same key: SHA-256, lower-case hex, of method, path and body.
 * @param path as it was called, not its template: cancelling another booking is another request
 * @param body its canonical JSON text, or what the caller sent; empty when there is none
 */
export function requestHashOf(method: string, path: string, body: string): string {
  // Neither a method nor a path contains a space or a line end, so no two requests give the same text.
  return sha256Hex(`${method} ${path}\n${body}`)
}

/**
 * A text that is the same for bodies that mean the same: members in the order of their names.
 * @param body parsed JSON; undefined for a request without a body
 */
export function canonicalJson(body: unknown): string {
  return body === undefined ? '' : JSON.stringify(ordered(body))
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(members.map(([name, member]) => [name, ordered(member)]))
}
