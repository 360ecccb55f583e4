/** Who is signed in, and to which agency. The secret of the session is only in the HttpOnly cookie. */
import { Store } from '../lib/store.ts'
import type { Problem } from './problem.ts'
import type { Schema } from './schema.ts'

export type Actor = Schema<'Actor'>
export type Agency = Schema<'Agency'>
export type Role = Actor['role']

type Session =
  /** Not yet known. */
  | { readonly kind: 'opening' }
  | { readonly kind: 'signed_out' }
  /** Not known: the service cannot be reached. */
  | { readonly kind: 'unreachable'; readonly problem: Problem }
  /** The operator, who has still to choose. */
  | { readonly kind: 'choosing'; readonly actor: Actor }
  /** `ended`: the service no longer accepts the session; what is on the screen stays until the person signs in again. */
  | { readonly kind: 'signed_in'; readonly actor: Actor; readonly agency: Agency; readonly ended: boolean }

export const session = new Store<Session>({ kind: 'opening' })

let lastSignInAt = 0

/** When somebody last signed in here, on the clock of `performance.now`. */
export function signedInAt(): number {
  return lastSignInAt
}

/** Somebody has signed in: the browser has another cookie from now on. */
export function hasSignedIn(): void {
  lastSignInAt = performance.now()
}

/** The service has answered 401. */
export function sessionEnded(): void {
  const { value } = session
  if (value.kind === 'signed_in') {
    if (!value.ended) session.set({ ...value, ended: true })
  } else session.set({ kind: 'signed_out' })
}

/** Calls `listener` each time somebody has signed in again to what is on the screen. @returns ends that */
export function onSignedInAgain(listener: () => void): () => void {
  let before = session.value
  return session.subscribe(() => {
    const had = before
    before = session.value
    if (had.kind === 'signed_in' && had.ended && before.kind === 'signed_in' && !before.ended) listener()
  })
}

const ORDER: readonly Role[] = ['viewer', 'desk', 'manager', 'owner', 'operator']

/** Whether a role includes another one. The service decides; the page only hides what would be refused. */
export function suffices(role: Role, least: Role): boolean {
  return ORDER.indexOf(role) >= ORDER.indexOf(least)
}
