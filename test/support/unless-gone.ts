/** How Bun's `fetch` fails when the process at the other end has ended. */
const GONE: ReadonlySet<unknown> = new Set(['ConnectionRefused', 'ConnectionClosed', 'ECONNREFUSED', 'ECONNRESET'])

/**
 * What a process answers that another one has taken over from. It may have found that out before the request, by its heartbeat or when it
 * wrote what it had counted, and be gone.
 * @returns null when it is gone
 */
export async function unlessGone<T>(params: Promise<T>): Promise<T | null> {
  try {
    return await params
  } catch (error) {
    if (GONE.has((error as { code?: unknown }).code)) return null
    throw error
  }
}
