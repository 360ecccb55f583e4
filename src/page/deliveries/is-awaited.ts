import type { Delivery } from './delivery-looks.ts'

/** A later attempt is not waited for: whoever asks for it again and again would keep the session alive all day. */
const SOON_MS = 90_000

/** Whether something is about to happen to one of these. */
export function isAwaited(deliveries: readonly Delivery[], now: number = Date.now()): boolean {
  return deliveries.some(({ nextAttemptAt }) => nextAttemptAt !== null && Date.parse(nextAttemptAt) < now + SOON_MS)
}
