/** Answers to requests that no route answers: there is none, or it has thrown. And what becomes of every failure. */
import type { Admission } from '../accounts/partner-access.ts'
import { JournalError } from '../core/journal/journal-error.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { traceIdIn } from '../lib/traceparent.ts'
import { type RequestStats, UNKNOWN_ROUTE } from '../observability/request-stats.ts'
import type { FailureReport } from './answer.ts'
import { plainHeaders, problemAnswer } from './answer.ts'
import { keyHeaders } from './key-admission.ts'
import { failureOf } from './problem-of.ts'
import { notFound } from './problems.ts'
import { requestIdOf, targetOf } from './request.ts'

/** Where the service logs failures: pino's shape. */
interface ErrorLog {
  error(fields: object, message: string): void
}

/** Who is told of failures. */
export interface FailureWatch {
  readonly log: ErrorLog
  /** An invariant is broken: the process must end. Called once the answer is on its way. */
  onBug(error: unknown): void
  /** A write that does not go through the journal was fenced out. */
  onFenced?(): void
}

interface FallbackAnswers {
  /** Logs a failure, and ends the process if it is a bug or a fence. */
  onFailure(report: FailureReport): void
  /** 404. `admission`: the key that the request came with, whose budget the answer then tells. */
  notFound(request: Request, admission: Admission | null): Response
  /** The answer to a request whose handler has thrown. */
  fault(request: Request, error: unknown): Response
}

/** Long enough for the answer to leave the process. */
const BUG_ANSWER_MS = 20

export function fallbackAnswers(
  { newId, clock }: { newId: IdSource; clock: Clock },
  requestStats: RequestStats,
  { log, onBug, onFenced = () => {} }: FailureWatch,
): FallbackAnswers {
  const unknown = requestStats.route(UNKNOWN_ROUTE)
  const requestIdFor = (request: Request) => requestIdOf(request.headers.get('x-request-id'), newId)

  const onFailure = ({ error, isBug, ...fields }: FailureReport) => {
    log.error({ err: error, ...fields }, isBug ? 'bug met' : 'request failed')
    if (isBug) clock.after(BUG_ANSWER_MS, () => onBug(error))
    else if (isFenced(error)) onFenced()
  }

  return {
    onFailure,
    notFound: (request, admission) => {
      const arrivedMs = unknown.arrived(request)
      const requestId = requestIdFor(request)
      const headers = admission === null ? plainHeaders(requestId) : keyHeaders(requestId, admission, clock.now())
      const response = problemAnswer(notFound('route'), requestId, headers)
      unknown.answered({ request, arrivedMs, requestId, admission }, response.status)
      return response
    },
    fault: (request, error) => {
      const arrivedMs = unknown.arrived(request)
      const { problem, isBug } = failureOf(error, { isWrite: request.method !== 'GET' && request.method !== 'HEAD' })
      const requestId = requestIdFor(request)
      const route = `${request.method} ${targetOf(request.url).path}`
      onFailure({ error, isBug, requestId, ...traceIdIn(request), route })
      unknown.answered({ request, arrivedMs, requestId, admission: null }, problem.status)
      return problemAnswer(problem, requestId, plainHeaders(requestId), request)
    },
  }
}

function isFenced(error: unknown): boolean {
  if (error instanceof JournalError) return error.kind === 'fenced'
  return error instanceof Error && error.cause instanceof JournalError && error.cause.kind === 'fenced'
}
