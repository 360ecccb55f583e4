import type { Tracer } from '../../lib/tracer.ts'

/** The counters of the sender since its start, and its current state. A plain object, for the metrics page. */
export interface SenderStats {
  term: number
  attempts: number
  /** Total duration of all attempts, until the response headers. */
  attemptMsTotal: number
  delivered: number
  /** By cause. `status`: the receiver's response was not 2xx. All others are internal causes. */
  failures: Readonly<Record<string, number>>
  dead: number
  /** Of the dead ones, those whose event could not be read. */
  unreadable: number
  switchedOff: number
  /** Not sent, because the secret could not be decrypted. */
  postponed: number
  /** Deliveries made from the journal. */
  made: number
  makeFailures: number
  claims: number
  claimFailures: number
  recordFailures: number
  /** Delay between due time and claim, for the most recently claimed delivery. */
  claimLagMsLast: number
  /** Claimed, and the outcome not yet recorded. */
  claimed: number
  inFlightFast: number
  inFlightParked: number
  /** Endpoints in memory. */
  endpoints: number
  /** As in `Tracer`. */
  spans: Tracer['stats'] | null
}

export function newStats(term: number): SenderStats {
  return {
    term,
    attempts: 0,
    attemptMsTotal: 0,
    delivered: 0,
    failures: {},
    dead: 0,
    unreadable: 0,
    switchedOff: 0,
    postponed: 0,
    made: 0,
    makeFailures: 0,
    claims: 0,
    claimFailures: 0,
    recordFailures: 0,
    claimLagMsLast: 0,
    claimed: 0,
    inFlightFast: 0,
    inFlightParked: 0,
    endpoints: 0,
    spans: null,
  }
}
