/**
 * Which agencies may have a webhook endpoint. A booking of any other is nothing that the sender must be woken for: measured, a
 * wake that finds nothing cost the database as much as the booking (docs/decisions.md). It errs on one side only: an
 * agency is never taken out, is put in before its first endpoint is stored, and until the stored ones are read all may have
 * some. Besides, the sender looks by itself.
 */
export class EndpointHolders {
  readonly #agencies = new Set<string>()
  #isLoaded = false

  /** Takes over those that are stored. */
  load(agencyIds: Iterable<string>): void {
    for (const agencyId of agencyIds) this.#agencies.add(agencyId)
    this.#isLoaded = true
  }

  add(agencyId: string): void {
    this.#agencies.add(agencyId)
  }

  mayHave(agencyId: string): boolean {
    return !this.#isLoaded || this.#agencies.has(agencyId)
  }
}
