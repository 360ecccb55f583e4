/** Signing in and out, and finding out who is signed in. */
import { answerOf, client } from '../api/client.ts'
import { Problem, problemOf } from '../api/problem.ts'
import { type Actor, type Agency, hasSignedIn, session, sessionEnded } from '../api/session.ts'
import { resources } from '../data/resources.ts'
import { toast } from '../design/toast.tsx'
import { nameText } from '../format/texts.ts'
import { proveByPasskey } from './passkey.ts'

/** What opens a session: a token, a passkey, a sign-in link, or an invitation with a new passkey. */
type Proof = Parameters<typeof client.POST<'/portal/session'>>[1]['body']

/** The agency of this tab in `sessionStorage`: the operator's choice, or a sandbox. In `localStorage` the operator's last one, for new tabs. */
const AGENCY_KEY = 'nightledger.agency'
/** Changes in `localStorage` with each sign-in, which tells the other tabs: the browser has another cookie. */
const SIGNED_IN_KEY = 'nightledger.signed-in'

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

/** The ways to sign in, and the challenge for a passkey. @throws Problem */
export function readWays(signal?: AbortSignal) {
  return answerOf(client.POST('/portal/sign-in/options', signal === undefined ? {} : { signal }))
}

/** Signs in with a passkey that the person chooses. @throws Problem */
export async function signInWithPasskey(): Promise<void> {
  // The challenge is valid for a few minutes only, and the page may have been open for days.
  const { options } = await readWays()
  await signIn({ passkey: await proveByPasskey(options) })
}

/**
 * Opens a session. If the agency cannot be read then, it is not the proof that has failed, which may be used up: the page continues with the
 * session once the service answers.
 * @throws Problem when the proof is refused or the service does not answer; also in the latter case when what is on the screen must stay
 */
export async function signIn(proof: Proof): Promise<void> {
  const { actor } = await answerOf(client.POST('/portal/session', { body: proof }))
  hasSignedIn()
  localStorage.setItem(SIGNED_IN_KEY, String(Date.now()))
  try {
    await enter(actor)
  } catch (error) {
    const { value } = session
    const problem = problemOf(error)
    // 401: the session has ended already.
    if (problem.status === 401 || (value.kind === 'signed_in' && value.ended)) throw problem
    session.set({ kind: 'unreachable', problem })
  }
}

/** Continues if somebody has signed in in another tab. Never throws. @returns whether somebody has */
export async function resumeSession(): Promise<boolean> {
  try {
    const { actor } = await answerOf(client.GET('/portal/v1/me'))
    hasSignedIn()
    await enter(actor)
    return true
  } catch {
    // The page keeps asking to sign in.
    return false
  }
}

window.addEventListener('storage', ({ key }) => {
  if (key === SIGNED_IN_KEY) void followSignIn()
})

/** Somebody has signed in in another tab: the session of this one has ended, and what it does is done in their name from now on. */
async function followSignIn(): Promise<void> {
  const before = session.value
  const isResumed = await resumeSession()
  const { value } = session
  if (value.kind !== 'signed_in' || before.kind !== 'signed_in') return
  if (!isResumed) sessionEnded()
  else if (value.actor.kind !== before.actor.kind || value.actor.id !== before.actor.id) {
    const name = value.actor.name === null ? 'the operator' : nameText(value.actor.name)
    toast({ text: `You are now signed in as ${name}` })
  }
}

/** Ends the session at the service. Never throws: when the service does not answer, the session continues, and a toast says so. */
export async function signOut(): Promise<void> {
  try {
    await answerOf(client.DELETE('/portal/session'))
  } catch (error) {
    toast({ tone: 'bad', text: `Signing out was not completed. ${problemOf(error).message}` })
    return
  }
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
