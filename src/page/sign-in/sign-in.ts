/** Signing in and out, and finding out who is signed in. */
import { answerOf, client } from '../api/client.ts'
import { Problem, problemOf } from '../api/problem.ts'
import { type Actor, type Agency, hasSignedIn, session } from '../api/session.ts'
import { resources } from '../data/resources.ts'

/** The agency of this tab in `sessionStorage`: the operator's choice, or a sandbox. In `localStorage` the operator's last one, for new tabs. */
const AGENCY_KEY = 'nightledger.agency'

/** Reads who is signed in by the cookie. Never throws. */
export async function openSession(): Promise<void> {
  try {
    const { actor } = await answerOf(client.GET('/portal/v1/me'))
    await enter(actor)
  } catch (error) {
    if (error instanceof Problem && error.status !== 401) session.set({ kind: 'unreachable', problem: error })
    else session.set({ kind: 'signed_out' })
  }
}

/**
 * Exchanges a token for a session.
 * @throws Problem when the token is refused or the service does not answer
 */
export async function signIn(token: string): Promise<void> {
  const { actor } = await answerOf(client.POST('/portal/session', { body: { token } }))
  hasSignedIn()
  await enter(actor)
}

/** Ends the session at the service. @throws Problem when it does not answer: the session then continues */
export async function signOut(): Promise<void> {
  await answerOf(client.DELETE('/portal/session'))
  sessionStorage.removeItem(AGENCY_KEY)
  resources.clear()
  session.set({ kind: 'signed_out' })
}

async function enter(actor: Actor): Promise<void> {
  const own = actor.agency ?? localStorage.getItem(AGENCY_KEY)
  for (const slug of new Set([sessionStorage.getItem(AGENCY_KEY), own])) {
    if (slug === null) continue
    try {
      return show(actor, await agencyOf(slug))
    } catch (error) {
      if (slug === actor.agency || !(error instanceof Problem) || error.status !== 404) throw error
    }
  }
  session.set({ kind: 'choosing', actor })
}

async function agencyOf(slug: string): Promise<Agency> {
  const { agency } = await answerOf(
    client.GET('/portal/v1/agencies/{agencySlug}', { params: { path: { agencySlug: slug } } }),
  )
  return agency
}

/** Goes to the sandbox, in this tab. */
export function openSandbox(actor: Actor, sandbox: Agency): void {
  resources.clear()
  show(actor, sandbox)
}

/** Goes back to the live agency. Never throws. */
export async function leaveSandbox(actor: Actor): Promise<void> {
  sessionStorage.removeItem(AGENCY_KEY)
  try {
    await enter(actor)
  } catch (error) {
    session.set({ kind: 'unreachable', problem: problemOf(error) })
  }
}

/** The operator goes to an agency. */
export function chooseAgency(actor: Actor, agency: Agency): void {
  localStorage.setItem(AGENCY_KEY, agency.slug)
  resources.clear()
  show(actor, agency)
}

/** The operator leaves the agency, to choose another one. */
export function leaveAgency(): void {
  const { value } = session
  if (value.kind !== 'signed_in') return
  sessionStorage.removeItem(AGENCY_KEY)
  localStorage.removeItem(AGENCY_KEY)
  resources.clear()
  session.set({ kind: 'choosing', actor: value.actor })
}

function show(actor: Actor, agency: Agency): void {
  sessionStorage.setItem(AGENCY_KEY, agency.slug)
  const { value } = session
  const isSame = value.kind === 'signed_in' && value.agency.slug === agency.slug
  // What is on the screen may be another agency's.
  if (!isSame) resources.clear()
  session.set({ kind: 'signed_in', actor, agency, ended: false })
  if (isSame) resources.invalidate('')
}
