/**
 * Which agencies may have a webhook endpoint. A booking of any other agency need not wake the sender: a wake that finds
 * nothing costs the database as much as the booking (measured; docs/decisions.md#webhooks).
 *
 * The set errs on one side only. An agency is never removed, is added before its first endpoint is stored, and until
 * the stored endpoints are loaded every agency may have one. The sender also polls on its own.
 */
export class AgenciesWithEndpoints {
  readonly #agencies = new Set<string>()
  #isLoaded = false

  /** Adds the agencies that have stored endpoints. */
  load(agencyIds: Iterable<string>): void {
    for (const agencyId of agencyIds) this.#agencies.add(agencyId)
    this.#isLoaded = true
  }

  add(agencyId: string): void {
    this.#agencies.add(agencyId)
  }

  mayInclude(agencyId: string): boolean {
    return !this.#isLoaded || this.#agencies.has(agencyId)
  }
}

/** Agencies that may have new entries in the journal. */
export type WokenAgencies = readonly string[] | 'all'

/** Beyond this many, looking at all agencies costs no more than looking at each of these. */
export const WOKEN_MAX = 1_000

/** Collects the agencies of wakes until they are looked at. */
export class WakeCollector {
  #agencies = new Set<string>()
  #isAll = false

  add(agencies: WokenAgencies): void {
    if (this.#isAll) return
    if (agencies !== 'all') for (const agencyId of agencies) this.#agencies.add(agencyId)
    if (agencies === 'all' || this.#agencies.size > WOKEN_MAX) {
      this.#isAll = true
      this.#agencies.clear()
    }
  }

  /** Empties it. @returns null when it was empty */
  take(): WokenAgencies | null {
    const woken = this.#isAll ? 'all' : [...this.#agencies]
    this.#isAll = false
    this.#agencies = new Set()
    return woken.length === 0 ? null : woken
  }
}
