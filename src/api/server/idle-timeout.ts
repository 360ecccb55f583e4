import { SERVE_OPTIONS } from './serve-options.ts'

/**
 * As `answer` settles. Until then the connection of `request` is not closed, however long nothing passes over it; Bun closes
 * others after `idleTimeout`, those whose request is not answered yet among them.
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
