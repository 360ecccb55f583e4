/**
 * The link that the page was opened with: `#/join/SECRET`, or `#/choose/SECRET.SECRET` when the e-mail address of the person signing in
 * belongs to people of several agencies. Loaded before the router, so that the secret leaves the address and the history before anything reads them.
 */
import { Store } from '../lib/store.ts'
import { parseHash } from '../route/route.ts'

/** One secret, or several to choose from. Null: there is no link, or it has been dealt with. */
export const openedLink = new Store<readonly string[] | null>(null)

function take(): void {
  const [kind, secrets] = parseHash(location.hash).path
  if ((kind !== 'join' && kind !== 'choose') || secrets === undefined) return
  history.replaceState(null, '', '#/')
  openedLink.set(secrets.split('.'))
}

take()
addEventListener('hashchange', take)
