/**
 * The link that the page was opened with: `#/join/SECRET`, or `#/choose/SECRET.SECRET` when the e-mail address of somebody signing in
 * belongs to several agencies. Loaded before the router, so that the secret leaves the address and the history before anything reads them.
 */
import { Store } from '../lib/store.ts'
import { parseHash } from '../route/route.ts'

/** One secret, or several to choose from. Null: no link, or it is done with. */
export const openedLink = new Store<readonly string[] | null>(null)

function take(): void {
  const [kind, secrets] = parseHash(location.hash).path
  if ((kind !== 'join' && kind !== 'choose') || secrets === undefined) return
  history.replaceState(null, '', '#/')
  openedLink.set(secrets.split('.'))
}

take()
addEventListener('hashchange', take)
