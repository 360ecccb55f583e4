/** A new key for `Idempotency-Key`. `crypto.randomUUID` is missing where the page is read over plain HTTP. */
export function newIdempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
