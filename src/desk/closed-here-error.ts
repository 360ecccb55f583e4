/** Something that lets others in. */
export type Access = 'key' | 'agency' | 'calendar_address'

/**
 * An access was to be closed: this process refuses it from now on, until it ends, but whether that is stored is not known. The
 * same request again stores it.
 */
export class ClosedHereError extends Error {
  override readonly name = 'ClosedHereError'
  readonly access: Access

  constructor(access: Access, options: { cause: unknown }) {
    super(`Cannot store that access is closed: ${access}`, options)
    this.access = access
  }
}
