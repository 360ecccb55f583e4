/** Nobody can listen where the service is told to. The message says what to do. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
}

export interface Address {
  readonly host: string
  readonly port: number
}

const REASONS: Record<string, string> = {
  EADDRINUSE:
    'another program listens there, perhaps a nightledger that still runs. Stop it, or set PORT to another port',
  EACCES: 'the port needs rights that this user does not have. Set PORT to one above 1023',
  EADDRNOTAVAIL: 'this machine does not have that address. Set HOST to one that it has, or to 0.0.0.0',
}

export function listenError({ host, port }: Address, cause: unknown): ListenError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const reason = REASONS[code] ?? `${cause instanceof Error ? cause.message : cause}. Check HOST and PORT`
  return new ListenError(`Cannot listen on ${host}:${port}: ${reason}.`, { cause })
}
