import { SERVE_OPTIONS } from './serve-options.ts'

/**
 * Settles as `answer` does. Until then the connection of `request` is not closed, however long it is idle. Bun closes
 * others after `idleTimeout`, including those whose request has no answer yet.
 */
export async function withoutIdleTimeout<T>(
  server: Pick<Bun.Server<undefined>, 'timeout'>,
  request: Request,
  answer: () => Promise<T>,
): Promise<T> {
  server.timeout(request, 0)
  try {
    return await answer()
  } finally {
    // Otherwise the connection, kept alive, is never closed.
    server.timeout(request, SERVE_OPTIONS.idleTimeout)
  }
}
