import type { Verification } from './findings.ts'
import type { LiveUnit } from './verify-unit.ts'

/** The argument that makes main.ts run the verification process. */
export const RUN_VERIFICATION = 'run-verification'

/** Everything the verification process needs: its environment and arguments contain no secrets. */
export interface VerifierSettings {
  readonly databaseUrl: string
  /** 64 hexadecimal digits; opens the keys of the chains. */
  readonly secretKeyHex: string
}

/** Messages from the service to the verification process. */
export type ToVerifier =
  | { readonly kind: 'start'; readonly settings: VerifierSettings }
  /** The resident units among those of the last `ask_live`. */
  | { readonly kind: 'live'; readonly units: readonly (readonly [unitId: string, unit: LiveUnit])[] }

/** Messages from the verification process to the service. */
export type FromVerifier =
  /** The process is listening; `start` may be sent. */
  | { readonly kind: 'up' }
  /** Answered with `live`. At most `UNITS_PER_PAGE` ids. */
  | { readonly kind: 'ask_live'; readonly unitIds: readonly string[] }
  | { readonly kind: 'done'; readonly verification: Verification }
  /** `broken`: a bug in this program. */
  | { readonly kind: 'failed' | 'broken'; readonly message: string }
