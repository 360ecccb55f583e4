import type { AttemptOutcome } from './attempt-outcome.ts'

/** Everything that may take up to the answer's headers: name, connection, TLS, request (contract, Delivery rule 1). */
export const ATTEMPT_MS_MAX = 10_000

/**
 * A port: one POST, once, to whatever the URL's name is now. Never rejects; settles within `ATTEMPT_MS_MAX` and what the
 * answer's body may take.
 */
export type PostOnce = (
  url: string,
  message: { readonly headers: Record<string, string>; readonly body: string },
) => Promise<PostResult>

/** `durationMs`: until the answer's headers were there, or until it was clear that they would not come. */
export interface PostResult {
  readonly outcome: AttemptOutcome
  readonly durationMs: number
}
