/**
 * The address of the client that sent a request. Behind a proxy, the peer of the connection is the proxy, and the client is in
 * `X-Forwarded-For`, to which each proxy appends the address of its own peer. A client can send the header too, so only what
 * trusted proxies have appended is believed: the client is the right-most address that is not a trusted proxy's.
 */
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Network = readonly [Address, number]

/** What is known of a request's sender before its headers are believed. */
interface Sender {
  /** The other end of the connection; null when it has gone. */
  readonly peer: string | null
  /** The header `X-Forwarded-For`; null when it is missing. Several headers are joined by commas. */
  readonly forwardedFor: string | null
}

/** All senders whose address is not known: their connection is closed already, so they see no answer. */
const UNKNOWN = 'unknown'
const IPV6_NETWORK_BITS = 64
/** Of an IPv4 address in an IPv6 one. */
const MAPPED_BITS = 96

export class ClientAddresses {
  readonly #trusted: readonly Network[]

  /** @param trusted as `parseNetworks` takes them */
  constructor(trusted: readonly string[]) {
    const networks = parseNetworks(trusted)
    if (networks === null) throw new Error('Cannot trust proxies: one of them is not an address or a network')
    this.#trusted = networks
  }

  /**
   * The client's address in its usual spelling, IPv4 also where the socket is an IPv6 one. An entry of the header that is not an
   * address ends the search: the client is then the last trusted proxy before it.
   */
  of({ peer, forwardedFor }: Sender): string {
    let client = peer === null ? null : addressOf(peer)
    if (client === null) return UNKNOWN
    const entries = forwardedFor === null ? [] : forwardedFor.split(',')
    while (this.#isTrusted(client)) {
      const entry = entries.pop()
      const before: Address | null = entry === undefined ? null : addressOf(withoutPort(entry.trim()))
      if (before === null) break
      client = before
    }
    return client.toString()
  }

  #isTrusted(address: Address): boolean {
    return this.#trusted.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits))
  }
}

/**
 * The addresses that one client is likely to have: an IPv4 address alone, and the /64 of an IPv6 address, of which a client can
 * use every address. `address`: as `ClientAddresses` returns it.
 */
export function clientNetworkOf(address: string): string {
  if (!address.includes(':')) return address
  return ipaddr.IPv6.networkAddressFromCIDR(`${address}/${IPV6_NETWORK_BITS}`).toString()
}

/** Where an address is, in words: what it says without asking anybody. */
export function placeOf(address: string): string {
  const range = ipaddr.isValid(address) ? ipaddr.parse(address).range() : UNKNOWN
  if (range === 'loopback') return 'this machine'
  return range === 'private' || range === 'uniqueLocal' || range === 'linkLocal' ? 'the local network' : address
}

/** Reads addresses and networks in CIDR notation. @returns null when one is neither, or is the network of all addresses */
export function parseNetworks(texts: readonly string[]): readonly Network[] | null {
  const networks = texts.map(networkOf)
  return networks.every((network) => network !== null) ? networks : null
}

function networkOf(text: string): Network | null {
  const [, addressText = '', bitsText] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const given = strictAddressOf(addressText)
  if (given === null) return null
  const bitsMax = given.kind() === 'ipv4' ? 32 : 128
  const bits = bitsText === undefined ? bitsMax : Number(bitsText)
  // Of /0, every address of a header would be a proxy's, and a client could choose its own.
  if (bits < 1 || bits > bitsMax) return null
  const address = unmapped(given)
  if (address === given) return [address, bits]
  return bits > MAPPED_BITS ? [address, bits - MAPPED_BITS] : null
}

/** Some proxies write `1.2.3.4:567` and `[::1]:567`. */
function withoutPort(entry: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(entry)?.[1]
  if (bracketed !== undefined) return bracketed
  return /^[\d.]+:\d+$/.test(entry) ? entry.slice(0, entry.indexOf(':')) : entry
}

/** Null when the text is not an address. Without the zone of a link-local address. */
function addressOf(text: string): Address | null {
  const address = strictAddressOf(text.split('%', 1)[0] ?? '')
  return address === null ? null : unmapped(address)
}

/** ipaddr.js reads 127.1 and 0x7f.0.0.1 as well. */
function strictAddressOf(text: string): Address | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  return !text.includes('%') && ipaddr.IPv6.isValid(text) ? ipaddr.IPv6.parse(text) : null
}

/** `::ffff:1.2.3.4` is how a socket for both families shows an IPv4 peer. */
function unmapped(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}
