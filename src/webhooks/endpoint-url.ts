import ipaddr from 'ipaddr.js'
import type { AddressRefusal } from './address-class.ts'

export const URL_LENGTH_MAX = 2_048

/** Why an endpoint's URL is not accepted, however its name resolves. */
export type UrlRefusal = 'not_a_url' | 'too_long' | 'not_https' | 'credentials' | 'bad_host' | 'port_zero'

/** Where to send. `host` has no brackets. */
export interface Target {
  /** Normalised, without a fragment. */
  readonly url: string
  readonly host: string
  readonly port: number
  /** True when `host` is an address: nothing is to be resolved. */
  readonly isLiteral: boolean
  /** True for a development receiver that the address and https rules do not bind (WEBHOOK_ALLOW_HOSTS). */
  readonly isExempt: boolean
}

/**
 * Reads an endpoint's URL. `new URL` writes every spelling of an IPv4 address (0x7f.1, 2130706433) in four decimals, so
 * that the address classes see it.
 * @param allowHosts `host:port` in lower case
 */
export function parseEndpointUrl(text: string, allowHosts: readonly string[]): Target | UrlRefusal {
  if (text.length > URL_LENGTH_MAX) return 'too_long'
  const url = URL.parse(text)
  if (url === null || url.hostname === '') return 'not_a_url'
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  const isExempt = allowHosts.includes(`${url.hostname}:${port}`)
  if (url.protocol !== 'https:' && !(isExempt && url.protocol === 'http:')) return 'not_https'
  if (url.username !== '' || url.password !== '') return 'credentials'
  if (port === 0) return 'port_zero'
  url.hash = ''
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isLiteral = ipaddr.isValid(host)
  if (!isLiteral && !HOST_NAME.test(host)) return 'bad_host'
  return { url: url.href, host, port, isLiteral, isExempt }
}

/** Letters, digits, hyphens and underscores between dots, as a resolver and a certificate understand them. */
const HOST_NAME =
  /^(?=.{1,253}\.?$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.?$/

/** Everything that can be said against an endpoint when it is registered. */
export type EndpointRefusal = UrlRefusal | AddressRefusal | 'does_not_resolve'

const SENTENCES: Record<UrlRefusal | 'does_not_resolve', string> = {
  not_a_url: 'url must be an absolute URL',
  too_long: `url must have at most ${URL_LENGTH_MAX} characters`,
  not_https: 'url must begin with https://',
  credentials: 'url must not carry a user name or password',
  bad_host: 'url must name a host or an address',
  port_zero: 'url must name a port from 1 to 65535',
  does_not_resolve: 'url names a host that does not resolve',
}

/** The sentence for the agency. All address classes share the contract's one: what is behind a name stays with us. */
export function refusalSentence(refusal: EndpointRefusal): string {
  return refusal in SENTENCES
    ? SENTENCES[refusal as keyof typeof SENTENCES]
    : 'endpoint address is not publicly routable'
}
