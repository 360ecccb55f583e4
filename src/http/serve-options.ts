/**
 * Bun itself refuses larger bodies, with an empty 413. Ours comes first and has the contract's body; it refuses by
 * `Content-Length` alone, and reads no more than it allows of a body without one (src/edge/strict-json.ts).
 */
const BUN_BODY_BYTES_MAX = Number.MAX_SAFE_INTEGER
const IDLE_TIMEOUT_S = 30

/** How Bun serves, whatever answers. */
export const SERVE_OPTIONS = {
  development: false,
  // Two processes on one port would share its requests, and only one of them may write.
  reusePort: false,
  maxRequestBodySize: BUN_BODY_BYTES_MAX,
  idleTimeout: IDLE_TIMEOUT_S,
} as const
