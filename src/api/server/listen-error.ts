/** The service cannot listen on its address. The message says what to do. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
}

export interface Address {
  readonly host: string
  readonly port: number
}

const REASONS: Record<string, string> = {
  EADDRINUSE:
    'another program is listening there, perhaps another nightledger. Stop it, or set PORT to a different port',
  EACCES: 'permission denied for this port. Set PORT to a port above 1023',
  EADDRNOTAVAIL: 'this machine does not have that address. Set HOST to one of its addresses, or to 0.0.0.0',
}

export function listenError({ host, port }: Address, cause: unknown): ListenError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const reason = REASONS[code] ?? `${cause instanceof Error ? cause.message : cause}. Check HOST and PORT`
  return new ListenError(`Cannot listen on ${host}:${port}: ${reason}.`, { cause })
}
