/** What gives others access. */
export type Access = 'key' | 'access_token' | 'agency' | 'calendar_address' | 'session'

/**
 * Access was revoked in this process until it exits, but it is not known whether the revocation is stored. Repeating the request
 * stores it.
 */
export class RevocationNotStoredError extends Error {
  override readonly name = 'RevocationNotStoredError'
  readonly access: Access

  constructor(access: Access, options: { cause: unknown }) {
    super(`Cannot store that access is closed: ${access}`, options)
    this.access = access
  }
}
