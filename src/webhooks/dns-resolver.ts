import { promises as dns } from 'node:dns'
import { withDeadline } from '../lib/deadline.ts'
import type { NameResolver } from './name-resolver.ts'

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
