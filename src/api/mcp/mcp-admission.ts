/**
 * Admission to the tool endpoint, the same as to REST: key → plan → requests per minute → requests per month, with REST's bodies and
 * headers.
 */

import type { Admission, PartnerAccess } from '../../access/partner-access.ts'
import type { Clock } from '../../lib/clock.ts'
import { plainHeaders, problemAnswer, rateHeaders } from '../http/answer.ts'
import { problemOfAccess, UNAUTHORIZED } from '../problems/problem-of-access.ts'

/** Whether a request may go on. `admission` is null without a valid key. */
export type Entry =
  | { readonly kind: 'admitted'; readonly admission: Admission }
  | { readonly kind: 'refused'; readonly admission: Admission | null; readonly answer: Response }

export class McpAdmission {
  readonly #access: PartnerAccess
  readonly #clock: Clock

  constructor({ access, clock }: { access: PartnerAccess; clock: Clock }) {
    this.#access = access
    this.#clock = clock
  }

  /** Costs one request of the budget. */
  admit(request: Request, requestId: string): Entry {
    return this.#entry(this.#access.admit(request.headers.get('authorization')), requestId)
  }

  /** Once the body is there: the key may have been revoked while it was arriving. Costs nothing. */
  readmit(admission: Admission, requestId: string): Entry {
    return this.#entry(this.#access.readmit(admission), requestId)
  }

  /**
   * For a batch whose first request is admitted. Each further request costs as much as if it had come alone. If the budget is too small
   * for all of them, none is served.
   */
  admitBatch(request: Request, requestId: string, admission: Admission, requests: number): Entry {
    let entry: Entry = { kind: 'admitted', admission }
    for (let paid = 1; paid < requests && entry.kind === 'admitted'; paid++) entry = this.admit(request, requestId)
    return entry
  }

  #entry(admission: Admission | null, requestId: string): Entry {
    if (admission === null) {
      const answer = problemAnswer(UNAUTHORIZED, requestId, plainHeaders(requestId))
      return { kind: 'refused', admission, answer }
    }
    const { refusal, rate } = admission
    if (refusal === null) return { kind: 'admitted', admission }
    const headers = rateHeaders(requestId, rate, this.#clock.now())
    return { kind: 'refused', admission, answer: problemAnswer(problemOfAccess(refusal), requestId, headers) }
  }
}
