import { problem } from './problems.ts'

/** The answer to another request with an `Idempotency-Key` that has been used (docs/design.md#additive-headers). */
export const IDEMPOTENCY_KEY_REUSED = problem(
  'IDEMPOTENCY_KEY_REUSED',
  'This Idempotency-Key was already used for a different request: use a new key',
  {},
)
