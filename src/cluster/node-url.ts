/**
 * The address of a node, from wherever it is read: NODE_URL, etcd, or another node. Only its origin is ever used, so there must be nothing
 * else: no credentials, no path, no query.
 * @returns an origin, without a slash at its end; null when it is none
 */
export function parseNodeUrl(text: string): string | null {
  const url = URL.parse(text)
  const isOrigin = url !== null && ['http:', 'https:'].includes(url.protocol) && url.href === `${url.origin}/`
  return isOrigin ? url.origin : null
}
