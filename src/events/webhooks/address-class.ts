import ipaddr from 'ipaddr.js'

/** Why the service does not send to an address. `unparsable`: the text is not an IP address. */
export type AddressRefusal =
  | 'unspecified'
  | 'loopback'
  | 'private'
  | 'carrier_grade_nat'
  | 'link_local'
  | 'cloud_platform'
  | 'multicast'
  | 'documentation'
  | 'benchmarking'
  | 'reserved'
  | 'unparsable'

type Refused<Range> = readonly (readonly [Range, AddressRefusal])[]

/** Not publicly routable, or not a host on the Internet. Source: IANA special-purpose registries. */
export const REFUSED_IPV4: Refused<string> = [
  ['0.0.0.0/8', 'unspecified'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'carrier_grade_nat'],
  ['127.0.0.0/8', 'loopback'],
  // Reachable only inside Azure, where it serves platform data that must not leak.
  ['168.63.129.16/32', 'cloud_platform'],
  ['169.254.0.0/16', 'link_local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'reserved'],
  ['192.0.2.0/24', 'documentation'],
  ['192.31.196.0/24', 'reserved'],
  ['192.52.193.0/24', 'reserved'],
  ['192.88.99.0/24', 'reserved'],
  ['192.168.0.0/16', 'private'],
  ['192.175.48.0/24', 'reserved'],
  ['198.18.0.0/15', 'benchmarking'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved'],
]

/** Ranges worth a specific name. Every other address outside `GLOBAL_IPV6` is `reserved`. */
const NAMED_IPV6: Refused<string> = [
  ['::/128', 'unspecified'],
  ['::1/128', 'loopback'],
  ['fc00::/7', 'private'],
  ['fe80::/10', 'link_local'],
  ['fec0::/10', 'private'],
  ['ff00::/8', 'multicast'],
]

/** The only IPv6 range allocated as global unicast, and the special-purpose ranges within it. */
const GLOBAL_IPV6 = '2000::/3'
export const REFUSED_IN_GLOBAL_IPV6: Refused<string> = [
  // Teredo, ORCHID and other protocol assignments; 6to4 carries an IPv4 address of any kind.
  ['2001::/23', 'reserved'],
  ['2001:db8::/32', 'documentation'],
  ['2002::/16', 'reserved'],
  ['3fff::/20', 'documentation'],
  ['2620:4f:8000::/48', 'reserved'],
]

type Cidr = ReturnType<typeof ipaddr.parseCIDR>
const parsed = (ranges: Refused<string>): Refused<Cidr> =>
  ranges.map(([range, refusal]) => [ipaddr.parseCIDR(range), refusal])

const IPV4 = parsed(REFUSED_IPV4)
const IPV6 = parsed(NAMED_IPV6)
const IN_GLOBAL_IPV6 = parsed(REFUSED_IN_GLOBAL_IPV6)
const GLOBAL = ipaddr.parseCIDR(GLOBAL_IPV6)

/**
 * Whether the service may send to an address. An IPv4-mapped IPv6 address (`::ffff:10.0.0.1`) gets the refusal of the
 * IPv4 address, but is refused in any case, like everything outside 2000::/3.
 * @param text an address as a resolver or a URL's host writes it, without brackets
 * @returns null when the address is publicly routable
 */
export function refusalOfAddress(text: string): AddressRefusal | null {
  // ipaddr.js also accepts 0x7f.1 and zone ids. No resolver returns either, so both are refused.
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return refusedIn(IPV4, ipaddr.IPv4.parse(text))
  if (text.includes('%') || !ipaddr.IPv6.isValid(text)) return 'unparsable'
  const address = ipaddr.IPv6.parse(text)
  if (address.match(GLOBAL as [ipaddr.IPv6, number])) return refusedIn(IN_GLOBAL_IPV6, address)
  if (address.isIPv4MappedAddress()) return refusedIn(IPV4, address.toIPv4Address()) ?? 'reserved'
  return refusedIn(IPV6, address) ?? 'reserved'
}

function refusedIn(ranges: Refused<Cidr>, address: ipaddr.IPv4 | ipaddr.IPv6): AddressRefusal | null {
  for (const [range, refusal] of ranges) {
    if (address.match(range as [never, number])) return refusal
  }
  return null
}
