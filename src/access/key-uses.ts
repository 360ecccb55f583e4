import type { ApiKey } from '../core/catalogue/agency.ts'
import { MINUTE_MS } from '../lib/duration.ts'

export interface KeyUse {
  readonly agencyId: string
  readonly keyId: string
  /** The start of a minute, wall clock, ms. */
  readonly usedAt: number
}

/**
 * When keys were last used, to the minute: noting a request is a comparison or two, but for the first of a minute. Of each key the latest use
 * is in memory, with the key (`ApiKey.lastUsedAt`); here are those that are still to be written.
 */
export class KeyUses {
  readonly #unwritten = new Map<string, KeyUse>()

  /** @param now wall clock, ms */
  note(key: ApiKey, now: number): void {
    const { lastUsedAt } = key
    // No remainder of a division: that would cost as much as counting the request.
    if (lastUsedAt !== null && now >= lastUsedAt && now < lastUsedAt + MINUTE_MS) return
    const usedAt = now - (now % MINUTE_MS)
    key.lastUsedAt = usedAt
    this.#unwritten.set(key.id, { agencyId: key.agencyId, keyId: key.id, usedAt })
  }

  get size(): number {
    return this.#unwritten.size
  }

  unwritten(): readonly KeyUse[] {
    return [...this.#unwritten.values()]
  }

  forget(isAsked: (agencyId: string) => boolean): void {
    for (const { agencyId, keyId } of this.#unwritten.values()) if (isAsked(agencyId)) this.#unwritten.delete(keyId)
  }

  written(uses: readonly KeyUse[]): void {
    for (const use of uses) if (this.#unwritten.get(use.keyId) === use) this.#unwritten.delete(use.keyId)
  }
}
