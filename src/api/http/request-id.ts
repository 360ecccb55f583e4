import type { IdSource } from '../../lib/ids.ts'

/**
 * What is accepted as a caller's own request id: 1 to 128 letters, digits and `. _ : + / = -`, so that UUIDs, ULIDs,
 * trace ids and base64 pass. No space, quote, angle bracket or control character: the id is written into headers, logs,
 * error bodies and the audit trail as it is.
 */
const SANE = /^[A-Za-z0-9._:+/=-]{1,128}$/

/** The caller's `X-Request-Id` if it is acceptable, otherwise a new one (docs/design.md#additive-headers). `header`: null when absent. */
export function requestIdOf(header: string | null, newId: IdSource): string {
  return header !== null && SANE.test(header) ? header : newId('req')
}
