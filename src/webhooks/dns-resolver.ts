import { promises as dns } from 'node:dns'
import { withDeadline } from '../lib/deadline.ts'
import type { NameResolver } from './name-resolver.ts'

const TRY_MS = 2_000
const TRIES = 3

/** The machine's DNS servers, asked directly: neither /etc/hosts nor search domains can send us inside. */
export class DnsResolver implements NameResolver {
  readonly #resolver = new dns.Resolver({ timeout: TRY_MS, tries: TRIES })

  /** @param servers `address` or `address:port`; the machine's own when there are none */
  constructor(servers: readonly string[] = []) {
    if (servers.length > 0) this.#resolver.setServers(servers)
  }

  async resolve(host: string, withinMs: number): Promise<readonly string[] | 'unresolved' | 'timed_out'> {
    const both = Promise.allSettled([this.#resolver.resolve4(host), this.#resolver.resolve6(host)])
    const answers = await withDeadline(both, withinMs).catch(() => null)
    if (answers === null) return 'timed_out'
    // One family may fail or be missing: what the other has is judged, and nothing else is connected to.
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    return addresses.length === 0 ? 'unresolved' : addresses
  }
}
