/**
 * The link that the page was opened with: `#/join/SECRET`, or `#/choose/SECRET.SECRET` when the e-mail address of the person signing in
 * belongs to people of several agencies. Loaded before the router, so that the secret leaves the address and the history before anything reads them.
 */
import { Store } from '../lib/store.ts'
import { parseHash } from '../route/route.ts'

const LINK = /^h[lb]_[\w-]{72}$/
/** As many as the sign-in with a provider makes. Anybody can send somebody an address with more. */
const LINKS_MAX = 20

/** One secret, or several to choose from; none: what the page was opened with is no link. Null: there is no link, or it has been dealt with. */
export const openedLink = new Store<readonly string[] | null>(null)

function take(): void {
  const [kind, secrets] = parseHash(location.hash).path
  if ((kind !== 'join' && kind !== 'choose') || secrets === undefined) return
  history.replaceState(null, '', '#/')
  openedLink.set(
    secrets
      .split('.')
      .filter((secret) => LINK.test(secret))
      .slice(0, LINKS_MAX),
  )
}

take()
addEventListener('hashchange', take)
