import { promises as dns } from 'node:dns'
import { withDeadline } from '../../lib/deadline.ts'
import { type AddressRefusal, refusalOfAddress } from './address-class.ts'
import type { Target } from './endpoint-url.ts'

/** A port: looks up the current addresses of a name. */
export interface NameResolver {
  /**
   * All IPv4 and IPv6 addresses of a name, IPv4 first.
   * @returns `timed_out` when no answer came in time; `unresolved` when the name has no address or the DNS servers fail
   */
  resolve(host: string, withinMs: number): Promise<readonly string[] | 'unresolved' | 'timed_out'>
}

type CheckedTarget =
  /** At least one address; all of them passed the check. */
  | { readonly kind: 'addresses'; readonly addresses: readonly string[] }
  | { readonly kind: 'refused'; readonly refusal: AddressRefusal }
  | { readonly kind: 'unresolved' }
  | { readonly kind: 'timed_out' }

/**
 * Resolves a name and refuses it if any of its addresses is refused: a name that also points to an internal address
 * cannot be trusted.
 */
export async function checkTarget(
  target: Target,
  resolver: NameResolver,
  withinMs: number,
  refusalOf: (address: string) => AddressRefusal | null = refusalOfAddress,
): Promise<CheckedTarget> {
  const resolved = target.isLiteral ? [target.host] : await resolver.resolve(target.host, withinMs)
  if (typeof resolved === 'string') return { kind: resolved }
  for (const address of resolved) {
    const refusal = refusalOf(address)
    if (refusal !== null) return { kind: 'refused', refusal }
  }
  return resolved.length === 0 ? { kind: 'unresolved' } : { kind: 'addresses', addresses: resolved }
}

const TRY_MS = 2_000
const TRIES = 3

/**
 * Queries DNS servers directly, so that neither /etc/hosts nor search domains can redirect a request to an internal
 * host.
 */
export class DnsResolver implements NameResolver {
  readonly #resolver = new dns.Resolver({ timeout: TRY_MS, tries: TRIES })

  /** @param servers `address` or `address:port`; the system's servers when empty */
  constructor(servers: readonly string[] = []) {
    if (servers.length > 0) this.#resolver.setServers(servers)
  }

  async resolve(host: string, withinMs: number): Promise<readonly string[] | 'unresolved' | 'timed_out'> {
    const both = Promise.allSettled([this.#resolver.resolve4(host), this.#resolver.resolve6(host)])
    const answers = await withDeadline(both, withinMs).catch(() => null)
    if (answers === null) return 'timed_out'
    // One address family may fail or have no records. The other family's addresses are checked, and only those are
    // connected to.
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    return addresses.length === 0 ? 'unresolved' : addresses
  }
}
