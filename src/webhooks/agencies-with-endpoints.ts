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
