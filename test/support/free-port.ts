/** Each process of a run has ports of its own; all are below what systems give to those who ask for any port (32768 on Linux). */
const COUNT = 2_500
/** From 11,000 on: a browser refuses some of those below. */
const FIRST = 11_000 + (Number(process.env['JEST_WORKER_ID'] ?? 0) % 8) * COUNT

let next = Math.floor(Math.random() * COUNT)

/**
 * A port of 127.0.0.1 for a server that must be told one. It is given once in a run, and is none that the system picks for a server or an
 * outgoing connection: those may take, in the meantime, a port that was free a moment ago.
 */
export function freePort(): number {
  for (let tried = 0; tried < COUNT; tried++) {
    const port = FIRST + (next++ % COUNT)
    try {
      Bun.listen({ hostname: '127.0.0.1', port, data: undefined, socket: { data: () => {} } }).stop(true)
      return port
    } catch {
      // Somebody listens there.
    }
  }
  throw new Error('No port is free')
}
