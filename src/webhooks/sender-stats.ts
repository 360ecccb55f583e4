/** The sender's counters since it started, and where it stands; a plain object for the metrics page. */
export interface SenderStats {
  term: number
  attempts: number
  /** Of all attempts, until the answer's headers. */
  attemptMsTotal: number
  delivered: number
  /** By cause: `status` is the receiver's own, the others are ours. */
  failures: Readonly<Record<string, number>>
  dead: number
  switchedOff: number
  /** Not sent, as the secret could not be opened. */
  postponed: number
  claims: number
  claimFailures: number
  recordFailures: number
  /** How late the newest claimed delivery was claimed. */
  claimLagMsLast: number
  /** Claimed and not recorded yet. */
  claimed: number
  inFlightFast: number
  inFlightParked: number
  /** Endpoints in memory. */
  endpoints: number
}

export function newStats(term: number): SenderStats {
  return {
    term,
    attempts: 0,
    attemptMsTotal: 0,
    delivered: 0,
    failures: {},
    dead: 0,
    switchedOff: 0,
    postponed: 0,
    claims: 0,
    claimFailures: 0,
    recordFailures: 0,
    claimLagMsLast: 0,
    claimed: 0,
    inFlightFast: 0,
    inFlightParked: 0,
    endpoints: 0,
  }
}
