/**
 * Bun refuses larger bodies with an empty 413. Our own limit applies first and answers with the contract's body. It goes by
 * `Content-Length`; of a body without one, it reads no more than the limit (src/api/http/strict-json.ts).
 */
const BUN_BODY_BYTES_MAX = Number.MAX_SAFE_INTEGER
const IDLE_TIMEOUT_S = 30

/** How Bun serves, both before and after the service is ready. */
export const SERVE_OPTIONS = {
  development: false,
  // Two processes on one port would share its requests, and only one of them may write.
  reusePort: false,
  maxRequestBodySize: BUN_BODY_BYTES_MAX,
  idleTimeout: IDLE_TIMEOUT_S,
} as const
