/**
 * Repeated writes (design, Additive headers): under one scope, API key and route and idempotency key, a write happens
 * once.
 *
 * - I1 An answer is kept by the booking's own batch (J2): there is never a booking without its answer, nor an answer
 *   without its booking. Only 2xx answers are kept.
 * - I2 One request of a scope executes at a time; the others wait for it. With the fence (J5) no other process
 *   executes meanwhile, so looking up and then executing leaves no gap.
 * - I3 Whoever executes has looked first. After a failure whose outcome nobody knew, a later one that is refused looks
 *   again: what refuses it may be the first one's own booking, which has become durable meanwhile.
 * - I4 What a caller is told about an outcome holds for the scope: a request that could not look for an answer, or that follows an
 *   unknown outcome, is not told that nothing was changed.
 * - I5 An answer expires when 24 hours have passed by every clock. Setting one clock forward, the process's or the database's,
 *   neither deletes nor hides it: otherwise the write would be made a second time.
 */
export { idempotencyKeyOf, requestHashOf } from './idempotency-key.ts'

import { JournalError } from '../../core/journal/journal-error.ts'
import type { IdempotencyDraft } from '../../core/journal/record.ts'
import { AssertionError, assert } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { DAY_MS } from '../../lib/duration.ts'
import { steadyNow } from '../../lib/steady-now.ts'

/** Within which an answer is given again. */
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
 * Turns the answer into what the booking's record keeps of it. To be called when the answer is 2xx, and given to the
 * journal.
 */
export type Keep = (answer: Answer) => IdempotencyDraft

/** `reused`: the key stands for another request; 422 `IDEMPOTENCY_KEY_REUSED`. */
export type IdempotentAnswer = ({ readonly kind: 'fresh' | 'replayed' } & Answer) | { readonly kind: 'reused' }

/** Finds the answer stored in a scope after `newerThan` (wall clock, exclusive; I5). Null when there is none. */
export type FindAnswer = (scope: IdempotencyScope, newerThan: number) => Promise<KeptAnswer | null>

/** Too many requests with an idempotency key are open. Surely not executed: safe to retry. */
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
  async run(request: IdempotentRequest, execute: (keep: Keep) => Promise<Answer>): Promise<IdempotentAnswer> {
    if (this.#open >= this.#openMax) {
      throw new IdempotencyFullError(`Cannot take a request with an Idempotency-Key: ${this.#open} are open`)
    }
    this.#open += 1
    try {
      return await this.#runInTurn(request, execute)
    } finally {
      this.#open -= 1
    }
  }

  async #runInTurn(request: IdempotentRequest, execute: (keep: Keep) => Promise<Answer>): Promise<IdempotentAnswer> {
    const scope = scopeName(request)
    for (;;) {
      const ahead = this.#inFlight.get(scope)
      if (ahead === undefined) return this.#runFirst(scope, request, execute)
      if (ahead.requestHash === request.requestHash) {
        const answer = await ahead.answered
        if (answer !== null) return replayed(answer)
      } else if (ahead.executing) {
        return { kind: 'reused' }
      } else {
        // It may find that the key stands for our request, not for its own.
        await ahead.looked
      }
    }
  }

  async #runFirst(
    scope: string,
    request: IdempotentRequest,
    execute: (keep: Keep) => Promise<Answer>,
  ): Promise<IdempotentAnswer> {
    const looked = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<Answer | null>()
    const self: InFlight = {
      requestHash: request.requestHash,
      executing: false,
      looked: looked.promise,
      answered: answered.promise,
    }
    this.#inFlight.set(scope, self)
    let answer: Answer | null = null
    try {
      const kept = await this.#lookUp(request)
      if (kept !== null && kept.requestHash !== request.requestHash) return { kind: 'reused' }
      if (kept !== null) {
        answer = kept
        return replayed(kept)
      }
      self.executing = true
      looked.resolve()
      const given = await executeKeeping(request, execute)
      if (isSuccess(given)) answer = given
      if (answer !== null || !this.#doubtful.has(scope)) return { kind: 'fresh', ...given }
      const late = await this.#lookUp(request)
      if (late === null) return { kind: 'fresh', ...given }
      if (late.requestHash !== request.requestHash) return { kind: 'reused' }
      answer = late
      return replayed(late)
    } catch (error) {
      throw this.#doubt(scope, error, self.executing)
    } finally {
      // First out of the way, then told: one of those who wait is the next first.
      this.#inFlight.delete(scope)
      looked.resolve()
      answered.resolve(answer)
    }
  }

  async #lookUp(request: IdempotentRequest): Promise<KeptAnswer | null> {
    try {
      return await this.#find(request, this.#now() - ANSWER_KEPT_MS)
    } catch (error) {
      throw outcomeUnknown(error)
    }
  }

  /** @returns what the caller is told (I4) */
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

/** Executes, and holds I1: what is answered with 2xx is what was given away to be kept. */
async function executeKeeping(request: IdempotentRequest, execute: (keep: Keep) => Promise<Answer>): Promise<Answer> {
  let kept: Answer | null = null
  const given = await execute((answer) => {
    assert(isSuccess(answer), 'Cannot keep an answer: it is not 2xx')
    kept = answer
    const { keyId, route, idempotencyKey, requestHash } = request
    return { keyId, route, idempotencyKey, requestHash, status: answer.status, body: answer.body }
  })
  if (isSuccess(given)) assertSame(kept, given)
  return given
}

function assertSame(kept: Answer | null, given: Answer): void {
  assert(kept !== null, 'Cannot answer a request with an Idempotency-Key: its answer was not kept')
  assert(
    kept.status === given.status && kept.body === given.body,
    'Cannot answer a request with an Idempotency-Key: another answer was kept',
  )
}

function isSuccess({ status }: Answer): boolean {
  return status >= 200 && status < 300
}

function replayed({ status, body }: Answer): IdempotentAnswer {
  return { kind: 'replayed', status, body }
}

/** None of the parts has a line end. */
function scopeName({ agencyId, keyId, route, idempotencyKey }: IdempotencyScope): string {
  return `${agencyId}\n${keyId}\n${route}\n${idempotencyKey}`
}
