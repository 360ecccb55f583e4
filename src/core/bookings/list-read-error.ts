/**
 * A page of a list that could not be read.
 * - `busy`: not sent, because the agency's share of the list connections is in use.
 * - `slow`: given up, because it took longer than a caller waits.
 */
export type ListReadErrorKind = 'busy' | 'slow'

export class ListReadError extends Error {
  override readonly name = 'ListReadError'
  readonly kind: ListReadErrorKind

  constructor(kind: ListReadErrorKind, message: string, options?: { cause: unknown }) {
    super(message, options)
    this.kind = kind
  }
}
