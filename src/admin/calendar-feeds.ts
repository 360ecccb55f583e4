/**
 * The secret addresses under which channels read a unit's blocked nights as iCalendar. A channel sends no headers, so the secret is
 * in the URL. It is derived: HMAC-SHA-256 of agency, unit and a version, keyed with `SECRET_KEY`, so that nothing secret is
 * stored; only the version is, from the first change of the address on. It reads one unit's blocked nights and nothing else.
 *
 * A change closes the old address in memory before the new one is stored. If storing it fails, the old address stays closed: a leaked
 * address must not stay open while the database is away.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { changeLine } from '../core/bookings/audit-lines.ts'
import type { Agency } from '../core/catalogue/agency.ts'
import type { Unit } from '../core/domain/unit.ts'
import type { Caller, ChangeLine, KeepChange } from '../core/journal/record.ts'
import { AssertionError } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { RevocationNotStoredError } from './revocation-not-stored-error.ts'

export interface CalendarFeedRows {
  /** How often the unit's address was changed; 0 for a unit without a row. */
  version(agencyId: string, unitId: string): Promise<number>
  /** Increments the version, with its line of the audit trail in the same statement. */
  raiseVersion(agencyId: string, unitId: string, audit: ChangeLine): Promise<number>
}

/** Versions in memory: the one process that writes them serves them too. */
const KNOWN_MAX = 50_000

export class CalendarFeeds {
  readonly #rows: CalendarFeedRows
  readonly #secretKey: Uint8Array
  readonly #dependencies: { readonly clock: Clock; readonly newId: IdSource }
  readonly #known = new Map<string, number>()
  /**
   * Units whose change of address may not be stored: this version and older ones are closed. Null: the next version that is
   * read is closed.
   */
  readonly #closed = new Map<string, number | null>()

  constructor(options: { rows: CalendarFeedRows; secretKey: Uint8Array; clock: Clock; newId: IdSource }) {
    this.#rows = options.rows
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
    const closed = this.#closed.get(unit.id)
    if (closed !== undefined && closed !== null && isSame(given, this.#tokenOf(agency, unit, closed))) return false
    const version = await this.#version(agency, unit)
    return isSame(given, this.#tokenOf(agency, unit, version)) && !this.#isClosed(unit, version)
  }

  /**
   * The old address answers 404 immediately.
   * @throws RevocationNotStoredError when the new one may not be stored: this process refuses the old one anyway
   */
  async change(agency: Agency, unit: Unit, caller: Caller, keep?: KeepChange<Unit>): Promise<string> {
    const closed = this.#known.get(unit.id) ?? this.#closed.get(unit.id) ?? null
    this.#closed.set(unit.id, closed)
    try {
      const line = changeLine(this.#dependencies, caller, keep?.(unit))
      const version = await this.#rows.raiseVersion(agency.id, unit.id, line)
      this.#closed.delete(unit.id)
      this.#remember(unit.id, version)
      return this.#tokenOf(agency, unit, version)
    } catch (error) {
      // The next caller reads what is stored.
      this.#closed.set(unit.id, closed ?? this.#closed.get(unit.id) ?? null)
      this.#known.delete(unit.id)
      if (error instanceof AssertionError) throw error
      throw new RevocationNotStoredError('calendar_address', { cause: error })
    }
  }

  #isClosed(unit: Unit, version: number): boolean {
    const closed = this.#closed.get(unit.id)
    return closed !== undefined && (closed === null || version <= closed)
  }

  async #version(agency: Agency, unit: Unit): Promise<number> {
    const known = this.#known.get(unit.id)
    if (known !== undefined) return known
    const version = await this.#rows.version(agency.id, unit.id)
    // A change that finished meanwhile takes precedence.
    const newer = this.#known.get(unit.id) ?? version
    if (this.#closed.get(unit.id) === null) this.#closed.set(unit.id, newer)
    // While the address is closed, a newer version may be stored at any moment, so do not cache this one.
    if (!this.#isClosed(unit, newer)) this.#remember(unit.id, newer)
    return newer
  }

  #remember(unitId: string, version: number): void {
    if (this.#known.size >= KNOWN_MAX) this.#known.clear()
    this.#known.set(unitId, Math.max(version, this.#known.get(unitId) ?? 0))
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
