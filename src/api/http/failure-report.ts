/** A request that ended in 500, for the log. */
export interface FailureReport {
  readonly error: unknown
  readonly requestId: string
  readonly route: string
  /** A broken invariant: the process must end. */
  readonly isBug: boolean
}
