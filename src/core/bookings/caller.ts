import type { Actor } from '../journal/record.ts'

/** On whose behalf a write is done; what the audit trail says about it. */
export interface Caller {
  readonly actor: Actor
  /** Method and path template, `POST /partner/v1/bookings`. */
  readonly route: string
  readonly requestId: string | null
}
