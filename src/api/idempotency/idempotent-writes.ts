/**
 * Repeated writes (docs/design.md#additive-headers): under one scope, API key and route and idempotency key, a write happens
 * once.
 *
 * - I1 An answer is kept by the booking's own batch (J2): there is never a booking without its answer, nor an answer
 *   without its booking. Only 2xx answers are kept.
 * - I2 One request of a scope executes at a time; the others wait for it. With the fence (J5) no other process
 *   executes meanwhile, so looking up and then executing leaves no gap.
 * - I3 A request looks for a stored answer before it executes. If an earlier one failed with an unknown outcome, a later one
 *   that is refused looks again: what refuses it may be the booking of the first, which has become durable meanwhile.
 * - I4 What a caller is told about an outcome holds for the scope: a request that could not look for an answer, or that follows an
 *   unknown outcome, is not told that nothing was changed.
 * - I5 An answer expires when 24 hours have passed by every clock. Setting one clock forward, the process's or the database's,
 *   neither deletes nor hides it: otherwise the write would be made a second time.
 */
import { JournalError } from '../../core/journal/journal-error.ts'
import type { IdempotencyDraft } from '../../core/journal/record.ts'
import { AssertionError, assert } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { DAY_MS } from '../../lib/duration.ts'
import { steadyNow } from '../../lib/steady-now.ts'

/** How long an answer is replayed. */
export const ANSWER_KEPT_MS = DAY_MS

/** Requests with an idempotency key that are open at once, waiting ones too. */
const OPEN_MAX = 4_096
/** Scopes remembered in which an execution has failed; the oldest is forgotten first. */
const DOUBTFUL_MAX = 4_096

export interface IdempotencyScope {
  readonly agencyId: string
  readonly keyId: string
  /** Method and path template, `POST /partner/v1/bookings`. */
  readonly route: string
  readonly idempotencyKey: string
}

export interface IdempotentRequest extends IdempotencyScope {
  /** Of `requestHashOf`. */
  readonly requestHash: string
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
export type Keep = (answer: Answer) => IdempotencyDraft

/** The outcome of an execution: the answer that was stored, or a refusal, which is not stored. */
export type Execution<R> = { readonly kind: 'answered' } | Refused<R>

interface Refused<R> {
  readonly kind: 'refused'
  readonly refusal: R
}

/** `replayed`: the first answer again. `reused`: the key belongs to a different request; 422 `IDEMPOTENCY_KEY_REUSED`. */
export type IdempotentOutcome<R> = { readonly kind: 'answered'; readonly answer: Answer } | Refused<R> | Earlier
type Earlier = { readonly kind: 'replayed'; readonly answer: Answer } | { readonly kind: 'reused' }

/** Finds the answer stored in a scope after `newerThan` (wall clock, exclusive; I5). Null when there is none. */
export type FindAnswer = (scope: IdempotencyScope, newerThan: number) => Promise<KeptAnswer | null>

/** Too many requests with an idempotency key are open. This one was not executed: it is safe to retry. */
export class IdempotencyFullError extends Error {
  override readonly name = 'IdempotencyFullError'
}

interface InFlight {
  readonly requestHash: string
  /** False while it looks for a kept answer. */
  executing: boolean
  /** Resolves when it begins to execute, or is over. Never rejects. */
  readonly looked: Promise<void>
  /** Its answer if that is 2xx, null when it was refused or failed. Never rejects. */
  readonly answered: Promise<Answer | null>
}

export class IdempotentWrites {
  readonly #find: FindAnswer
  readonly #now: () => number
  readonly #openMax: number
  readonly #inFlight = new Map<string, InFlight>()
  /** Scopes in which an execution failed, and whether any of them failed with an unknown outcome. */
  readonly #doubtful = new Map<string, { readonly isUnknown: boolean }>()
  #open = 0

  constructor(options: { find: FindAnswer; clock: Clock; openMax?: number }) {
    this.#find = options.find
    this.#now = steadyNow(options.clock)
    this.#openMax = options.openMax ?? OPEN_MAX
  }

  /** Requests with an idempotency key that are open; for the metrics. */
  get open(): number {
    return this.#open
  }

  /**
   * Executes the request unless it was answered within the last 24 hours; a repeated one gets the first answer.
   * @param execute may run after others of the same scope have failed; what it throws is thrown
   * @throws IdempotencyFullError: it was not executed. JournalError of kind `outcome_unknown`: it is not known whether the scope
   *   has an answer
   */
  async run<R>(
    request: IdempotentRequest,
    execute: (keep: Keep) => Promise<Execution<R>>,
  ): Promise<IdempotentOutcome<R>> {
    if (this.#open >= this.#openMax) {
      throw new IdempotencyFullError(`Cannot take a request with an Idempotency-Key: ${this.#open} are open`)
    }
    this.#open += 1
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
      this.#open -= 1
    }
  }

  async #runFirst<R>(
    scope: string,
    request: IdempotentRequest,
    execute: (keep: Keep) => Promise<Execution<R>>,
  ): Promise<IdempotentOutcome<R>> {
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
    try {
      outcome = await this.#lookUp(request)
      if (outcome !== null) return outcome
      self.executing = true
      looked.resolve()
      outcome = await executeKeeping(request, execute)
      if (outcome.kind === 'refused' && this.#doubtful.has(scope)) outcome = (await this.#lookUp(request)) ?? outcome
      return outcome
    } catch (error) {
      throw this.#doubt(scope, error, self.executing)
    } finally {
      // Removed before the waiting requests resume: one of them goes first now.
      this.#inFlight.delete(scope)
      looked.resolve()
      answered.resolve(outcome !== null && 'answer' in outcome ? outcome.answer : null)
    }
  }

  /** The outcome according to the stored answer; null if the scope has none. */
  async #lookUp(request: IdempotentRequest): Promise<Earlier | null> {
    let kept: KeptAnswer | null
    try {
      kept = await this.#find(request, this.#now() - ANSWER_KEPT_MS)
    } catch (error) {
      throw outcomeUnknown(error)
    }
    if (kept === null) return null
    if (kept.requestHash !== request.requestHash) return { kind: 'reused' }
    return { kind: 'replayed', answer: { status: kept.status, body: kept.body } }
  }

  /** Remembers the failure. @returns the error that the caller gets (I4) */
  #doubt(scope: string, error: unknown, wasExecuting: boolean): unknown {
    const wasUnknown = this.#doubtful.get(scope)?.isUnknown === true
    const isUnknown = wasUnknown || (wasExecuting && error instanceof JournalError && error.kind === 'outcome_unknown')
    this.#doubtful.delete(scope)
    this.#doubtful.set(scope, { isUnknown })
    for (const oldest of this.#doubtful.keys()) {
      if (this.#doubtful.size <= DOUBTFUL_MAX) break
      this.#doubtful.delete(oldest)
    }
    return wasUnknown && !(error instanceof AssertionError) ? outcomeUnknown(error) : error
  }
}

function outcomeUnknown(cause: unknown): JournalError {
  return new JournalError('outcome_unknown', 'Cannot tell whether a request with this Idempotency-Key was executed', {
    cause,
  })
}

/** Executes, and checks I1: the answer returned is the answer that was stored. */
async function executeKeeping<R>(
  request: IdempotentRequest,
  execute: (keep: Keep) => Promise<Execution<R>>,
): Promise<IdempotentOutcome<R>> {
  let kept: Answer | null = null
  const execution = await execute((answer) => {
    assert(kept === null, 'Cannot keep an answer: another one is kept already')
    assert(answer.status >= 200 && answer.status < 300, 'Cannot keep an answer: it is not 2xx')
    kept = answer
    const { keyId, route, idempotencyKey, requestHash } = request
    return { keyId, route, idempotencyKey, requestHash, status: answer.status, body: answer.body }
  })
  if (execution.kind === 'refused') return execution
  assert(kept !== null, 'Cannot answer a request with an Idempotency-Key: its answer was not kept')
  return { kind: 'answered', answer: kept }
}

/** None of the parts has a line end. */
function scopeName({ agencyId, keyId, route, idempotencyKey }: IdempotencyScope): string {
  return `${agencyId}\n${keyId}\n${route}\n${idempotencyKey}`
}
