/**
 * How API keys and access tokens are created and revoked. A revocation takes effect in memory before it is stored, and stays in effect
 * if it cannot be stored: revoking a leaked secret must not have to wait for the database.
 */
import { changeLine } from '../core/bookings/durable-writes.ts'
import { isNotWritten } from '../core/bookings/write-error.ts'
import type { Agency } from '../core/catalogue/agency.ts'
import { type Credential, type Credentials, isLive, LIVE_CREDENTIALS_MAX } from '../core/catalogue/agency.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import type { Caller, ChangeLine, KeepChange } from '../core/journal/record.ts'
import { AssertionError } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { Counts } from '../lib/counts.ts'
import type { IdSource } from '../lib/ids.ts'
import { KeyedTurns } from '../lib/queues.ts'
import type { AgencyStore } from './agency-store.ts'
import { MemoryRefresh } from './memory-refresh.ts'
import {
  type Access,
  type AgencyOutcome,
  done,
  NOT_FOUND,
  RevocationNotStoredError,
  refused,
  StoreRetries,
} from './store-retries.ts'

/** A secret that was just made. */
export interface NewSecret {
  /** The whole of it: shown only once, and not stored. */
  readonly secret: string
  /** The leading part, by which people recognize it. */
  readonly prefix: string
  /** Lower-case hex. The only part of the secret that is stored. */
  readonly sha256: string
}

/** What the commands of API keys and those of access tokens need. */
export interface CredentialOptions {
  readonly catalogue: Catalogue
  readonly store: AgencyStore
  readonly clock: Clock
  readonly newId: IdSource
  /** @param prefix that the secret begins with */
  readonly makeSecret: (prefix: string) => NewSecret
}

/** Credentials of one kind: where they are in memory, and how they are stored (AgencyStore). */
interface CredentialKind<C extends Credential> {
  readonly access: keyof typeof TOO_MANY & Access
  readonly credentials: Pick<Credentials<C, unknown>, 'byId' | 'of' | 'forgetEnded'>
  /** False: another process of the cluster has the agency. */
  isHere(agencyId: string): boolean
  put(credential: C): void
  insert(credential: C, audit: ChangeLine): Promise<void>
  revoke(credential: C, revokedAt: number, audit: ChangeLine): Promise<void>
  load(): Promise<readonly C[]>
  settle(agencyId: string): Promise<void>
}

export class CredentialWrites<C extends Credential> {
  readonly #kind: CredentialKind<C>
  readonly #dependencies: { readonly clock: Clock; readonly newId: IdSource }
  readonly #turns = new KeyedTurns()
  /** How many are on their way into the store, by agency. */
  readonly #making = new Counts<string>()
  /** By agency. */
  readonly #refresh: MemoryRefresh
  /** Revocations, by credential. */
  readonly #storeRetries: StoreRetries

  constructor(kind: CredentialKind<C>, dependencies: { readonly clock: Clock; readonly newId: IdSource }) {
    this.#kind = kind
    this.#dependencies = dependencies
    const read = (agencyId: string) => this.#read(agencyId)
    const isHere = (agencyId: string) => kind.isHere(agencyId)
    this.#refresh = new MemoryRefresh({ clock: dependencies.clock, turns: this.#turns, read, isHere })
    this.#storeRetries = new StoreRetries(dependencies.clock)
  }

  /**
   * Stores a new credential and puts it into memory.
   * @returns refused when the agency has `LIVE_CREDENTIALS_MAX` that are live, with those that are being made
   * @throws what the store throws; the error says what is known about the outcome
   */
  async add(credential: C, caller: Caller, keep?: KeepChange<C>): Promise<AgencyOutcome<C>> {
    const { agencyId } = credential
    const now = this.#dependencies.clock.now()
    const live = this.#kind.credentials.of(agencyId).filter((other) => isLive(other, now)).length
    if (live + this.#making.of(agencyId) >= LIVE_CREDENTIALS_MAX) return refused(TOO_MANY[this.#kind.access])
    this.#making.add(agencyId)
    try {
      await this.#insert(credential, caller, keep)
    } finally {
      this.#making.add(agencyId, -1)
    }
    this.#kind.credentials.forgetEnded(agencyId, now)
    return done(credential)
  }

  async #insert(credential: C, caller: Caller, keep?: KeepChange<C>): Promise<void> {
    const { agencyId } = credential
    try {
      await this.#kind.insert(credential, changeLine(this.#dependencies, caller, keep?.(credential)))
    } catch (error) {
      // Its secret was never returned. But if it is stored, it must be listed, so that it can be revoked.
      if (!isNotWritten(error)) await this.#turns.run(agencyId, () => this.#refresh.now(agencyId))
      throw error
    }
    this.#kind.put(credential)
  }

  /**
   * Permanent, and from this moment on; one that is revoked keeps the time of its first revocation.
   * @throws RevocationNotStoredError when it may not be stored yet: this process refuses the credential anyway, and retries storing it
   */
  async revoke(agency: Agency, id: string, caller: Caller, keep?: KeepChange<C>): Promise<AgencyOutcome<C>> {
    const credential = this.#kind.credentials.byId(agency.id, id)
    if (credential === null) return NOT_FOUND
    const revokedAt = credential.revokedAt ?? this.#dependencies.clock.now()
    const revoked = { ...credential, revokedAt }
    this.#kind.put(revoked)
    // The same line every time, so that it is in the audit trail once.
    const line = changeLine(this.#dependencies, caller, keep?.(revoked))
    const store = async () => {
      await this.#kind.revoke(revoked, revokedAt, line)
      // In a cluster, the agency may have been given up meanwhile, and read again as it was stored then.
      this.#kind.put(revoked)
    }
    try {
      await store()
    } catch (error) {
      if (error instanceof AssertionError) throw error
      this.#storeRetries.later(id, store)
      throw new RevocationNotStoredError(this.#kind.access, { cause: error })
    }
    this.#storeRetries.cancel(id)
    return done(revoked)
  }

  async #read(agencyId: string): Promise<void> {
    await this.#kind.settle(agencyId)
    for (const credential of await this.#kind.load()) if (credential.agencyId === agencyId) this.#kind.put(credential)
  }
}

const TOO_MANY = { key: tooMany('API keys'), access_token: tooMany('access tokens') } as const

function tooMany(what: string) {
  const message = `name cannot be given access: the agency already has ${LIVE_CREDENTIALS_MAX} valid ${what}. Revoke one first`
  return { code: 'VALIDATION', field: 'name', message } as const
}
