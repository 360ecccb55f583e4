import type { Verification } from './findings.ts'
import type { LiveUnit } from './verify-unit.ts'

/** The argument of main.ts that makes it the process which verifies. */
export const RUN_VERIFICATION = 'run-verification'

/** From the service to the verification process, which gets no environment variables with secrets. */
export type ToVerifier =
  | { readonly kind: 'start'; readonly databaseUrl: string }
  /** Of the units last asked for, those that are resident. */
  | { readonly kind: 'live'; readonly units: readonly (readonly [unitId: string, unit: LiveUnit])[] }

/** From the process that verifies to the service. */
export type FromVerifier =
  /** It listens; `start` may be sent. */
  | { readonly kind: 'up' }
  /** Answered by `live`; never more than `UNITS_PER_PAGE`. */
  | { readonly kind: 'ask_live'; readonly unitIds: readonly string[] }
  | { readonly kind: 'done'; readonly verification: Verification }
  /** `broken`: a bug. */
  | { readonly kind: 'failed' | 'broken'; readonly message: string }
