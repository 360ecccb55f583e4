import ipaddr from 'ipaddr.js'
import type { AddressRefusal } from './address-class.ts'

export const URL_LENGTH_MAX = 2_048

/** Why an endpoint's URL is rejected, regardless of how its name resolves. */
export type UrlRefusal = 'not_a_url' | 'too_long' | 'not_https' | 'credentials' | 'bad_host' | 'port_zero'

/** Where to send. `host` has no brackets. */
export interface Target {
  /** Normalized, without a fragment. */
  readonly url: string
  readonly host: string
  readonly port: number
  /** True when `host` is an IP address, so there is nothing to resolve. */
  readonly isLiteral: boolean
  /** True for a development receiver, which is exempt from the address and https rules (WEBHOOK_ALLOW_HOSTS). */
  readonly isExempt: boolean
}

/**
 * Parses an endpoint's URL. `new URL` normalizes every notation of an IPv4 address (0x7f.1, 2130706433) to dotted
 * decimal, so the address checks see all of them.
 * @param allowHosts `host:port` in lower case
 */
export function parseEndpointUrl(text: string, allowHosts: readonly string[]): Target | UrlRefusal {
  const url = URL.parse(text)
  if (url === null || url.hostname === '') return 'not_a_url'
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  const isExempt = allowHosts.includes(`${url.hostname}:${port}`)
  if (url.protocol !== 'https:' && !(isExempt && url.protocol === 'http:')) return 'not_https'
  if (url.username !== '' || url.password !== '') return 'credentials'
  if (port === 0) return 'port_zero'
  url.hash = ''
  // As it is stored and sent: a letter can become nine characters, and an address that grew beyond the limit would be refused by every attempt.
  if (url.href.length > URL_LENGTH_MAX) return 'too_long'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isLiteral = ipaddr.isValid(host)
  if (!isLiteral && !HOST_NAME.test(host)) return 'bad_host'
  return { url: url.href, host, port, isLiteral, isExempt }
}

/** Letters, digits, hyphens and underscores between dots: what resolvers and certificates accept. */
const HOST_NAME =
  /^(?=.{1,253}\.?$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.?$/

/** Why an endpoint is rejected at registration. */
export type EndpointRefusal = UrlRefusal | AddressRefusal | 'does_not_resolve'

const SENTENCES: Record<UrlRefusal | 'does_not_resolve', string> = {
  not_a_url: 'url must be an absolute URL',
  too_long: `url must have at most ${URL_LENGTH_MAX} characters, with what is not ASCII written as %XX`,
  not_https: 'url must begin with https://',
  credentials: 'url must not carry a user name or password',
  bad_host: 'url must name a host or an address',
  port_zero: 'url must name a port from 1 to 65535',
  does_not_resolve: 'url names a host that does not resolve',
}

/**
 * The message for the agency. All address refusals share the contract's wording, so that nothing is revealed about the
 * network behind a name.
 */
export function refusalSentence(refusal: EndpointRefusal): string {
  return refusal in SENTENCES
    ? SENTENCES[refusal as keyof typeof SENTENCES]
    : 'endpoint address is not publicly routable'
}
