/**
 * The secret addresses under which channels read a unit's blocked nights as iCalendar. A channel sends no headers, so the secret is
 * in the URL. It is derived: HMAC-SHA-256 of agency, unit and a version, keyed with `SECRET_KEY`, so that nothing secret is
 * stored; only the version is, from the first change of the address on. It reads one unit's blocked nights and nothing else.
 *
 * A change closes the old address in memory before the new one is stored. If storing it fails, the old address stays closed: a leaked
 * address must not stay open while the database is away.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { changeLine } from '../core/bookings/durable-writes.ts'
import type { Agency } from '../core/catalogue/agency.ts'
import type { Unit } from '../core/domain/unit.ts'
import type { Caller, ChangeLine, KeepChange } from '../core/journal/record.ts'
import { AssertionError } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { RevocationNotStoredError } from './store-retries.ts'

export interface CalendarFeedRows {
  /** How often the unit's address was changed; 0 for a unit without a row. */
  version(agencyId: string, unitId: string): Promise<number>
  /** Increments the version, with its line of the audit trail in the same statement. */
  raiseVersion(agencyId: string, unitId: string, audit: ChangeLine): Promise<number>
}

/** Versions in memory: the one process that writes them serves them too, as long as it has the agency. */
const KNOWN_MAX = 50_000

interface KnownVersion {
  readonly version: number
  /** Of `termOf` when it was read. */
  readonly term: number | null
}

export class CalendarFeeds {
  readonly #rows: CalendarFeedRows
  readonly #secretKey: Uint8Array
  readonly #dependencies: { readonly clock: Clock; readonly newId: IdSource }
  readonly #termOf: (agencyId: string) => number | null
  readonly #known = new Map<string, KnownVersion>()
  /**
   * Units whose change of address may not be stored: this version and older ones are closed. Null: the next version that is
   * read in the same term is closed. In a later one, another process may have changed the address since.
   */
  readonly #closed = new Map<string, { readonly version: number | null; readonly term: number | null }>()

  /** @param options.termOf in a cluster: which ownership of the agency's shard this is; another process may write in between */
  constructor(options: {
    rows: CalendarFeedRows
    secretKey: Uint8Array
    clock: Clock
    newId: IdSource
    termOf?: (agencyId: string) => number | null
  }) {
    this.#rows = options.rows
    this.#termOf = options.termOf ?? (() => null)
    this.#secretKey = options.secretKey
    this.#dependencies = options
  }

  /**
   * 43 characters of base64url.
   * @throws RevocationNotStoredError when the address is closed and no new one is stored
   */
  async token(agency: Agency, unit: Unit): Promise<string> {
    const version = await this.#version(agency, unit)
    if (this.#isClosed(unit, version)) throw new RevocationNotStoredError('calendar_address', { cause: null })
    return this.#tokenOf(agency, unit, version)
  }

  /** Compares in constant time. Refuses a closed address without asking the database. */
  async isToken(agency: Agency, unit: Unit, given: string): Promise<boolean> {
    const closed = this.#closed.get(unit.id)?.version ?? null
    if (closed !== null && isSame(given, this.#tokenOf(agency, unit, closed))) return false
    const version = await this.#version(agency, unit)
    return isSame(given, this.#tokenOf(agency, unit, version)) && !this.#isClosed(unit, version)
  }

  /**
   * The old address answers 404 immediately.
   * @throws RevocationNotStoredError when the new one may not be stored: this process refuses the old one anyway
   */
  async change(agency: Agency, unit: Unit, caller: Caller, keep?: KeepChange<Unit>): Promise<string> {
    const term = this.#termOf(agency.id)
    const closedNow = () => this.#closed.get(unit.id)?.version ?? null
    const closed = this.#knownOf(agency, unit) ?? closedNow()
    this.#closed.set(unit.id, { version: closed, term })
    try {
      const line = changeLine(this.#dependencies, caller, keep?.(unit))
      const version = await this.#rows.raiseVersion(agency.id, unit.id, line)
      this.#closed.delete(unit.id)
      this.#remember(agency, unit, { version, term })
      return this.#tokenOf(agency, unit, version)
    } catch (error) {
      // The next caller reads what is stored.
      this.#closed.set(unit.id, { version: closed ?? closedNow(), term })
      this.#known.delete(unit.id)
      if (error instanceof AssertionError) throw error
      throw new RevocationNotStoredError('calendar_address', { cause: error })
    }
  }

  #isClosed(unit: Unit, version: number): boolean {
    const closed = this.#closed.get(unit.id)
    return closed !== undefined && (closed.version === null || version <= closed.version)
  }

  async #version(agency: Agency, unit: Unit): Promise<number> {
    const known = this.#knownOf(agency, unit)
    if (known !== undefined) return known
    const term = this.#termOf(agency.id)
    const version = await this.#rows.version(agency.id, unit.id)
    // A change that finished meanwhile takes precedence.
    const newer = this.#knownOf(agency, unit) ?? version
    const closed = this.#closed.get(unit.id)
    if (closed?.version === null && closed.term === term) this.#closed.set(unit.id, { version: newer, term })
    else if (closed?.version === null) this.#closed.delete(unit.id)
    // While the address is closed, a newer version may be stored at any moment, so do not cache this one.
    if (!this.#isClosed(unit, newer)) this.#remember(agency, unit, { version: newer, term })
    return newer
  }

  #knownOf(agency: Agency, unit: Unit): number | undefined {
    const known = this.#known.get(unit.id)
    return known?.term === this.#termOf(agency.id) ? known.version : undefined
  }

  #remember(agency: Agency, unit: Unit, { version, term }: KnownVersion): void {
    if (this.#known.size >= KNOWN_MAX) this.#known.clear()
    this.#known.set(unit.id, { version: Math.max(version, this.#knownOf(agency, unit) ?? 0), term })
  }

  #tokenOf(agency: Agency, unit: Unit, version: number): string {
    return createHmac('sha256', this.#secretKey)
      .update(`calendar feed\n${agency.id}\n${unit.id}\n${version}`)
      .digest('base64url')
  }
}

function isSame(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)]
  return a.length === b.length && timingSafeEqual(a, b)
}
