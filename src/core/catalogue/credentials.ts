import type { Agency } from './agency.ts'

/** What gives access to an agency, and is recognized by the hash of its secret. */
export interface Credential {
  readonly id: string
  readonly agencyId: string
  /** SHA-256 of the secret, lower-case hex. */
  readonly secretSha256: string
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

/** Of one agency and kind. One that is revoked or has expired takes no place: an agency with more has lost track of them. */
export const LIVE_CREDENTIALS_MAX = 200

/** Of one agency and kind: the newest that are revoked or have expired stay in memory. Older ones are only in the database. */
export const ENDED_CREDENTIALS_KEPT_MAX = 1_000

/** Whether it is neither revoked nor expired at `now`. */
export function isLive({ expiresAt, revokedAt }: Credential, now: number): boolean {
  return revokedAt === null && (expiresAt === null || now <= expiresAt)
}

/**
 * The credentials of one kind in memory, of all agencies: those that are live, and the newest that have ended. `H`: what is found by a
 * hash: a credential together with its agency.
 */
export class Credentials<C extends Credential, H> {
  readonly #holderOf: (credential: C, agency: Agency) => H
  readonly #holderByHash = new Map<string, H>()
  /** By agency, then by id. */
  readonly #byAgency = new Map<string, Map<string, C>>()

  constructor(holderOf: (credential: C, agency: Agency) => H) {
    this.#holderOf = holderOf
  }

  /** Null for an unknown hash. */
  holderByHash(sha256: string): H | null {
    return this.#holderByHash.get(sha256) ?? null
  }

  /** Oldest first. */
  of(agencyId: string): C[] {
    return this.#allOf(agencyId).sort((a, b) => a.createdAt - b.createdAt)
  }

  byId(agencyId: string, id: string): C | null {
    return this.#byAgency.get(agencyId)?.get(id) ?? null
  }

  /** One that is revoked here stays revoked, whatever is put later. */
  put(given: C, agency: Agency): void {
    const known = this.byId(agency.id, given.id)
    const credential = { ...given, revokedAt: given.revokedAt ?? known?.revokedAt ?? null }
    const own = this.#byAgency.get(agency.id) ?? new Map<string, C>()
    this.#byAgency.set(agency.id, own.set(credential.id, credential))
    this.#holderByHash.set(credential.secretSha256, this.#holderOf(credential, agency))
  }

  /** Forgets those of an agency that had ended long ago at `now`. */
  forgetEnded(agencyId: string, now: number): void {
    const own = this.#byAgency.get(agencyId)
    if (own === undefined || own.size <= ENDED_CREDENTIALS_KEPT_MAX) return
    const ended = this.#allOf(agencyId).filter((credential) => !isLive(credential, now))
    for (const { id, secretSha256 } of ended.sort(newestEndFirst).slice(ENDED_CREDENTIALS_KEPT_MAX)) {
      own.delete(id)
      this.#holderByHash.delete(secretSha256)
    }
  }

  /** Forgets all credentials of an agency. */
  forget(agencyId: string): void {
    for (const { secretSha256 } of this.#allOf(agencyId)) this.#holderByHash.delete(secretSha256)
    this.#byAgency.delete(agencyId)
  }

  /** Puts the agency as it is now beside its credentials. */
  putAgency(agency: Agency): void {
    for (const credential of this.#allOf(agency.id))
      this.#holderByHash.set(credential.secretSha256, this.#holderOf(credential, agency))
  }

  #allOf(agencyId: string): C[] {
    return [...(this.#byAgency.get(agencyId)?.values() ?? [])]
  }
}

function newestEndFirst(a: Credential, b: Credential): number {
  return endOf(b) - endOf(a)
}

function endOf({ expiresAt, revokedAt }: Credential): number {
  return Math.min(expiresAt ?? Number.MAX_VALUE, revokedAt ?? Number.MAX_VALUE)
}
