/** Where etcd is, and who asks. */
export interface EtcdEndpoints {
  /** Origins, without a slash at the end. */
  readonly origins: readonly string[]
  readonly user: { readonly name: string; readonly password: string } | null
}

const PORT = '2379'
const ENDPOINTS_MAX = 9

/**
 * Reads CLUSTER_ETCD, such as `http://a:2379,b:2379` or `https://user:password@a,b`. Scheme and user are those of the first endpoint.
 * @returns null when it is none
 */
export function parseEtcdEndpoints(text: string): EtcdEndpoints | null {
  const [scheme] = /^https?:\/\//.exec(text) ?? []
  if (scheme === undefined) return null
  const parts = text.slice(scheme.length).split(',')
  const urls = parts.map((part) => URL.parse(`${scheme}${part.trim().replace(/^https?:\/\//, '')}`))
  if (urls.length > ENDPOINTS_MAX || !urls.every((url) => url !== null && isOrigin(url))) return null
  const [first] = urls
  if (first == null || urls.slice(1).some((url) => url?.username !== '')) return null
  const [name, password] = [decoded(first.username), decoded(first.password)]
  if (name === null || password === null) return null
  return {
    origins: urls.map((url) => `${scheme}${url?.hostname}:${url?.port || defaultPort(parts, url)}`),
    user: name === '' ? null : { name, password },
  }
}

/** Null: a `%` in it is not encoded. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

function isOrigin({ pathname, search, hash, hostname }: URL): boolean {
  return pathname === '/' && search === '' && hash === '' && hostname !== ''
}

/** `URL` drops a port that is the scheme's own. */
function defaultPort(parts: readonly string[], url: URL | null): string {
  const own = url?.protocol === 'https:' ? '443' : '80'
  return parts.some((part) => part.trim().replace(/\/$/, '').endsWith(`:${own}`) && part.includes(url?.hostname ?? ''))
    ? own
    : PORT
}
