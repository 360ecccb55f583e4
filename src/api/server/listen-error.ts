/** The service cannot listen on its address. The message says what to do. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
}

export interface Address {
  readonly host: string
  readonly port: number
}

/** The variables that an address comes from. */
export interface AddressVariables {
  readonly host: string
  readonly port: string
}

const REASONS: Record<string, (variables: AddressVariables) => string> = {
  EADDRINUSE: (set) =>
    `another program is listening there, perhaps another nightledger. Stop it, or set ${set.port} to a different port`,
  EACCES: (set) => `permission denied for this port. Set ${set.port} to a port above 1023`,
  EADDRNOTAVAIL: (set) =>
    `this machine does not have that address. Set ${set.host} to one of its addresses, or to 0.0.0.0`,
}

export function listenError({ host, port }: Address, variables: AddressVariables, cause: unknown): ListenError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const reason =
    REASONS[code]?.(variables) ??
    `${cause instanceof Error ? cause.message : cause}. Check ${variables.host} and ${variables.port}`
  return new ListenError(`Cannot listen on ${host}:${port}: ${reason}.`, { cause })
}
