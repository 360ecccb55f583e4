import type { Agency } from './agency.ts'

/** What gives access to an agency, and is recognized by the hash of its secret. */
export interface Credential {
  readonly id: string
  readonly agencyId: string
  /** SHA-256 of the secret, lower-case hex. */
  readonly secretSha256: string
  readonly createdAt: number
  readonly revokedAt: number | null
}

/**
 * The credentials of one kind in memory, of all agencies and in every state. `H`: what is found by a hash: a credential together with
 * its agency.
 */
export class Credentials<C extends Credential, H> {
  readonly #holderOf: (credential: C, agency: Agency) => H
  readonly #holderByHash = new Map<string, H>()
  readonly #byAgency = new Map<string, readonly C[]>()

  constructor(holderOf: (credential: C, agency: Agency) => H) {
    this.#holderOf = holderOf
  }

  /** Null for an unknown hash. */
  holderByHash(sha256: string): H | null {
    return this.#holderByHash.get(sha256) ?? null
  }

  /** Oldest first. */
  of(agencyId: string): C[] {
    return this.#byAgency.get(agencyId)?.toSorted((a, b) => a.createdAt - b.createdAt) ?? []
  }

  byId(agencyId: string, id: string): C | null {
    return this.#byAgency.get(agencyId)?.find((credential) => credential.id === id) ?? null
  }

  /** One that is revoked here stays revoked, whatever is put later. */
  put(given: C, agency: Agency): void {
    const known = this.byId(agency.id, given.id)
    const credential = { ...given, revokedAt: given.revokedAt ?? known?.revokedAt ?? null }
    const others = this.#byAgency.get(agency.id)?.filter((other) => other !== known) ?? []
    this.#byAgency.set(agency.id, [...others, credential])
    this.#holderByHash.set(credential.secretSha256, this.#holderOf(credential, agency))
  }

  /** Forgets all credentials of an agency. */
  forget(agencyId: string): void {
    for (const { secretSha256 } of this.#byAgency.get(agencyId) ?? []) this.#holderByHash.delete(secretSha256)
    this.#byAgency.delete(agencyId)
  }

  /** Puts the agency as it is now beside its credentials. */
  putAgency(agency: Agency): void {
    for (const credential of this.#byAgency.get(agency.id) ?? [])
      this.#holderByHash.set(credential.secretSha256, this.#holderOf(credential, agency))
  }
}
