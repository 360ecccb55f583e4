/** Signing in to the portal's page as a browser does. */
import { type HttpAnswer, type HttpCall, send } from './http-call.ts'

/** The headers that the page's writes have, in a browser that sends `Sec-Fetch-Site`. */
export const FROM_THE_PAGE = { 'x-nightledger-page': '1', 'sec-fetch-site': 'same-origin' } as const

interface SignedIn {
  readonly answer: HttpAnswer
  /** `nightledger_session=…`, as the browser sends it back. */
  readonly cookie: string
}

export async function signIn(baseUrl: string, token: string, headers: HttpCall['headers'] = {}): Promise<SignedIn> {
  const answer = await send(`${baseUrl}/portal/session`, { json: { token }, headers: { ...FROM_THE_PAGE, ...headers } })
  return { answer, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' }
}

export function signOut(baseUrl: string, cookie: string): Promise<HttpAnswer> {
  return send(`${baseUrl}/portal/session`, { method: 'DELETE', headers: { ...FROM_THE_PAGE, cookie } })
}

/** Whether an answer makes the browser forget its session. */
export function isCleared({ headers }: HttpAnswer): boolean {
  return headers.get('set-cookie')?.startsWith('nightledger_session=; Max-Age=0; ') ?? false
}
