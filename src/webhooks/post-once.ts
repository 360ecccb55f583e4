import type { AttemptOutcome } from './attempt-outcome.ts'

/**
 * Deadline for everything up to the response headers: name look-up, connection, TLS, request
 * (docs/contract.md#delivery, rule 1).
 */
export const ATTEMPT_MS_MAX = 10_000

/**
 * A port: sends one POST, without retries, to the current address of the URL's host. Never rejects. Settles within
 * `ATTEMPT_MS_MAX` plus the time allowed for the response body.
 */
export type PostOnce = (
  url: string,
  message: { readonly headers: Record<string, string>; readonly body: string },
) => Promise<PostResult>

/** `durationMs`: until the response headers arrived, or the attempt failed. */
export interface PostResult {
  readonly outcome: AttemptOutcome
  readonly durationMs: number
}
