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
    const taken = this.#isAll ? 'all' : [...this.#agencies]
    this.#isAll = false
    this.#agencies = new Set()
    return taken.length === 0 ? null : taken
  }
}
