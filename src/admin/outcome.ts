import type { InvalidChange } from '../core/domain/rejection.ts'

/** The slug is another agency's, or another unit's of the same agency. */
export interface SlugTaken {
  readonly code: 'SLUG_TAKEN'
  readonly slug: string
}

/** Another guest of the agency has the e-mail: guests are matched by it, so it must be unique (docs/design.md#data-outside-units). */
export interface EmailTaken {
  readonly code: 'EMAIL_TAKEN'
  readonly email: string
}

/** The unit no longer has the rates that the change was based on. */
export interface RatesChanged {
  readonly code: 'RATES_CHANGED'
}

/** The booking no longer has the notes that the change was based on. */
export interface NotesChanged {
  readonly code: 'NOTES_CHANGED'
  /** Those that it has. */
  readonly notes: string | null
}

/** Why a change of the agency's own data is refused. A value, never thrown. */
export type AgencyRefusal = SlugTaken | EmailTaken | RatesChanged | NotesChanged | InvalidChange

export type AgencyOutcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'refused'; readonly refusal: AgencyRefusal }
  | { readonly kind: 'not_found' }

export function done<T>(value: T): AgencyOutcome<T> {
  return { kind: 'done', value }
}

export function refused(refusal: AgencyRefusal): Extract<AgencyOutcome<never>, { kind: 'refused' }> {
  return { kind: 'refused', refusal }
}

export const NOT_FOUND = { kind: 'not_found' } as const
