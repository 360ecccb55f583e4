/**
 * Sandboxes (docs/design.md#sandbox): where partners try out everything. Each is an agency of its own with invented guests and stays, a
 * copy of the units and fees of a live agency, and its own time. Nothing that the live agency knows of people is in it.
 *
 * - E2 A key opens a live agency or its sandbox, never both, and nothing that the live agency knows of people is in the sandbox. In the
 *   portal, owners of the live agency open both.
 */
import type { BookingCommands } from '../core/bookings/booking-commands.ts'
import { changeLine, successLine } from '../core/bookings/durable-writes.ts'
import { isNotWritten, WriteError, type WriteOutcome } from '../core/bookings/write-error.ts'
import { type Agency, isSandbox } from '../core/catalogue/agency.ts'
import type { SandboxClock } from '../core/catalogue/agency-time.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import type { Instant } from '../core/domain/booking.ts'
import type { Unit } from '../core/domain/unit.ts'
import { notOwner } from '../core/journal/journal-error.ts'
import type { Caller, ChangeAnswer, ChangeLine, KeepChange } from '../core/journal/record.ts'
import { idInShard, shardOf } from '../core/journal/shard.ts'
import { AssertionError } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { KeyedTurns } from '../lib/queues.ts'
import type { AgencyCommands } from './agency-commands.ts'
import type { AgencyStore } from './agency-store.ts'
import type { FeeCommands } from './fee-commands.ts'
import { inventedStays } from './invented-stays.ts'
import { MemoryRefresh } from './memory-refresh.ts'
import { type AgencyOutcome, done, NOT_FOUND, refused } from './store-retries.ts'

/** Requests a month that a sandbox is good for (docs/partner-additions.md). */
const REQUESTS_PER_MONTH = 10_000
/** Units copied at the same time. */
const UNITS_AT_ONCE = 50
/** Units that have an invented stay. */
const UNITS_WITH_STAYS = 12
const SLUG_CHARS_MAX = 60

/** The port through which sandboxes end. */
export interface SandboxRows {
  /** The first moment after `after` at which a hold expires or a failed delivery is due. */
  nextMoment(agencyId: string, after: Instant): Promise<Instant | null>
  /**
   * Ends a sandbox: erases what is personal in it. Its keys and endpoints pass to `successor`, which takes its place; null: they end too.
   * @returns false: there was none
   * @throws WriteError, JournalError
   */
  end(
    sandbox: Agency,
    successor: { readonly id: string; readonly at: number } | null,
    audit: ChangeLine,
  ): Promise<boolean>
  /**
   * Keeps the answer to a request for a sandbox, once that is filled.
   * @throws as `end`
   */
  keepAnswer(liveId: string, answer: ChangeAnswer, at: Instant): Promise<void>
}

interface SandboxesOptions {
  readonly catalogue: Catalogue
  readonly agencies: Pick<AgencyCommands, 'create' | 'change'>
  readonly fees: Pick<FeeCommands, 'create'>
  readonly commands: Pick<BookingCommands, 'book' | 'setUnit' | 'sandboxWrites'>
  readonly rows: SandboxRows
  readonly store: Pick<AgencyStore, 'settle' | 'loadAgencies' | 'loadKeys'>
  readonly clock: Clock
  readonly newId: IdSource
  /** Called when a sandbox has ended: nothing reads its changes any more. */
  readonly onEnded: (agencyId: string) => void
  /**
   * Called when a sandbox has taken the place of another one, whose keys and endpoints it has now.
   * @param formerId null: it is not known which
   */
  readonly onReplaced: (formerId: string | null, id: string) => void
}

/** An agency that is a sandbox. */
export type Sandbox = Agency & { readonly clock: SandboxClock }

/** A live agency, and which ownership of it the request came in. */
interface Held {
  readonly live: Agency
  readonly term: number | null
}

export class Sandboxes {
  readonly #options: SandboxesOptions
  readonly #turns = new KeyedTurns()
  /** By live agency. */
  readonly #refresh: MemoryRefresh
  /**
   * Live agencies for which a sandbox is being made, or its making was cut short: the request is to be repeated, and then completes it. For
   * any other, it is a sandbox like others, in which people may work. With the ownership in which it began, as another process may have
   * completed it since.
   */
  readonly #unfilled = new Map<string, { readonly request: string | null; readonly term: number | null } | undefined>()

  constructor(options: SandboxesOptions) {
    this.#options = options
    const read = (liveId: string) => this.#read(liveId)
    const isHere = (liveId: string) => options.catalogue.termOf(liveId) !== null
    this.#refresh = new MemoryRefresh({ clock: options.clock, turns: this.#turns, read, isHere })
  }

  /** Null: the agency has none. A sandbox is its own. */
  of(agency: Agency): Sandbox | null {
    const sandbox = isSandbox(agency) ? agency : this.#options.catalogue.sandboxOf(agency.id)
    return sandbox?.clock === undefined ? null : { ...sandbox, clock: sandbox.clock }
  }

  /**
   * Writes to the sandbox of an agency once it is not being made, reset or deleted; it is not until that is written. By the path of the
   * sandbox itself, the turn is another one: such a write is among those that the end waits for, and must not wait for the end.
   * @returns null: it has none
   */
  write<T>(agency: Agency, write: (sandbox: Sandbox) => Promise<T>): Promise<T | null> {
    return this.#turns.run(agency.id, async () => {
      const sandbox = this.of(agency)
      return sandbox === null ? null : write(sandbox)
    })
  }

  /** When the next hold expires or the next failed webhook is sent again, by its clock; null when nothing waits. */
  nextMoment({ id, clock }: Sandbox): Promise<Instant | null> {
    return this.#options.rows.nextMoment(id, clock.now)
  }

  /**
   * The live agency that a sandbox belongs to; a live agency is its own.
   * @throws JournalError `not_owner`: another process has the two
   */
  liveOf(agency: Agency): Agency {
    const { sandboxOf = null } = agency
    if (sandboxOf === null) return agency
    const live = this.#options.catalogue.agencyById(sandboxOf)
    if (live === null) throw notOwner()
    return live
  }

  /**
   * Makes the sandbox of a live agency, with the units and fees that the agency has now. One whose making was cut short is made new.
   * @param keep called once it is filled: a request that is repeated before has something to complete
   * @param request the same for a repetition; null: it cannot be told, so it completes nothing
   * @returns refused when it has one, or is a sandbox itself
   */
  make(
    live: Agency,
    caller: Caller,
    keep?: KeepChange<Agency>,
    request: string | null = null,
  ): Promise<AgencyOutcome<Agency>> {
    return this.#inTurn(live, async (held) => {
      const { agencies, clock, newId } = this.#options
      if (this.#refresh.isDoubtful(live.id)) await this.#current(live, 'not_written')
      const begun = this.#unfilled.get(live.id)
      const isRepeated = request !== null && begun?.request === request && begun.term === held.term
      const foundAs = (existing: Sandbox) =>
        isRepeated
          ? this.#renew(held, existing, caller, keep)
          : refused({ code: 'SANDBOX_EXISTS', slug: existing.slug })
      const existing = this.of(live)
      if (existing !== null) return foundAs(existing)
      const now = clock.now()
      const draft = {
        ...settingsOf(live),
        currency: live.currency,
        timezone: live.timezone,
        sandboxOf: live.id,
        clock: { now, target: now },
      }
      const id = idInShard(shardOf(live.id), newId)
      this.#unfilled.set(live.id, { request, term: held.term })
      // The slugs of agencies that other processes have are known to the database only.
      for (const taken = new Set<string>(); ; this.#checkHeld(held)) {
        const slug = this.#freeSlug(live.slug, taken)
        const outcome = await agencies.create({ ...draft, slug }, caller, undefined, id)
        if (outcome.kind === 'done') return this.#fill(live, outcome.value, caller, keep)
        // What has the slug may be what an earlier attempt made without being told.
        const found = this.of(live)
        if (found !== null) {
          this.#unfilled.set(live.id, begun)
          return foundAs(found)
        }
        taken.add(slug)
      }
    })
  }

  /**
   * Makes the sandbox new, with the limits that the live agency has now. Keys and endpoints survive; stays, guests, the feed and the time do
   * not.
   * @param keep as for `make`
   */
  async reset(agency: Agency, caller: Caller, keep?: KeepChange<Agency>): Promise<AgencyOutcome<Agency>> {
    const live = this.liveOf(agency)
    return this.#inTurn(live, async (held) => {
      const sandbox = this.of(live)
      return sandbox === null ? NOT_FOUND : this.#renew(held, sandbox, caller, keep)
    })
  }

  /** @throws JournalError `not_owner` */
  #inTurn<T>(live: Agency, change: (held: Held) => Promise<T>): Promise<T> {
    const held = { live, term: this.#options.catalogue.termOf(live.id) }
    return this.#turns.run(live.id, async () => {
      this.#checkHeld(held)
      return change(held)
    })
  }

  /**
   * A request that has waited while the agency was elsewhere is not made here: the other process may have made it, and people may work in
   * the sandbox since.
   */
  #checkHeld({ live, term }: Held): void {
    if (this.#options.catalogue.termOf(live.id) !== term) throw notOwner()
  }

  async #renew(
    held: Held,
    { id: formerId }: Sandbox,
    caller: Caller,
    keep: KeepChange<Agency> | undefined,
  ): Promise<AgencyOutcome<Agency>> {
    const { sandboxWrites } = this.#options.commands
    const made = await sandboxWrites.end(formerId, () => this.#replace(held, formerId, caller))
    return made === null ? NOT_FOUND : this.#fill(held.live, made, caller, keep)
  }

  /** @returns the empty sandbox that has taken the place of the former one; null: there was none */
  async #replace(held: Held, formerId: string, caller: Caller): Promise<Agency | null> {
    const { catalogue, clock, newId, rows, onEnded, onReplaced } = this.#options
    const { live } = held
    this.#checkHeld(held)
    // As the writes that were waited for have left it.
    const former = catalogue.agencyById(formerId)
    if (former === null) return null
    const at = clock.now()
    const id = idInShard(shardOf(live.id), newId)
    const line = successLine(this.#options, caller)
    if (!(await this.#known(live, rows.end(former, { id, at }, line)))) return null
    // It may have been suspended meanwhile.
    const { status } = catalogue.agencyById(formerId) ?? former
    const made: Agency = { ...former, id, status, createdAt: at, clock: { now: at, target: at } }
    const keys = catalogue.keys.of(former.id)
    catalogue.forget(former.id)
    catalogue.putAgency(made)
    for (const key of keys) catalogue.putKey({ ...key, agencyId: id })
    onEnded(former.id)
    onReplaced(former.id, id)
    return made
  }

  /** Removes the sandbox with its keys and endpoints. */
  async remove(agency: Agency, caller: Caller, keep?: KeepChange<Agency>): Promise<AgencyOutcome<Agency>> {
    const live = this.liveOf(agency)
    return this.#inTurn(live, async () => {
      const { catalogue, commands, rows } = this.#options
      const sandbox = this.of(live)
      if (sandbox === null) return NOT_FOUND
      const line = changeLine(this.#options, caller, keep?.(sandbox))
      const isEnded = await commands.sandboxWrites.end(sandbox.id, async () => {
        const isKnown = await this.#known(live, rows.end(sandbox, null, line))
        if (isKnown) catalogue.forget(sandbox.id)
        return isKnown
      })
      if (!isEnded) return NOT_FOUND
      this.#options.onEnded(sandbox.id)
      return done(sandbox)
    })
  }

  /**
   * Unless it is known that nothing was written, what is stored takes the place of what is in memory.
   * @throws WriteError `started`: the sandbox was another one already, which the next attempt finds
   */
  async #known(live: Agency, ending: Promise<boolean>): Promise<boolean> {
    const isEnded = await ending.catch(async (error: unknown) => {
      if (!isNotWritten(error)) await this.#refresh.now(live.id)
      throw error
    })
    if (isEnded) return true
    await this.#current(live, 'unknown')
    if (this.of(live) === null) return false
    throw new WriteError('started', 'Cannot end a sandbox: an earlier attempt has replaced it')
  }

  /** @throws WriteError with the outcome when what is stored cannot be read */
  async #current(live: Agency, outcome: WriteOutcome): Promise<void> {
    if (await this.#refresh.now(live.id)) return
    throw new WriteError(outcome, 'Cannot change a sandbox: what is stored of it cannot be read')
  }

  async #read(liveId: string): Promise<void> {
    const { catalogue, store, onEnded, onReplaced } = this.#options
    const term = catalogue.termOf(liveId)
    await store.settle(liveId)
    // Both before the catalogue changes, so that a failed read changes nothing.
    const agencies = await store.loadAgencies()
    const keys = await store.loadKeys()
    if (term === null || term !== catalogue.termOf(liveId)) return
    const next = agencies.find(({ sandboxOf }) => sandboxOf === liveId)
    const known = catalogue.sandboxOf(liveId)
    if (next?.id === known?.id) return
    // A revocation applies before it is stored, and so does a suspension.
    const revokedAt = new Map(catalogue.keys.of(known?.id ?? '').map((key) => [key.id, key.revokedAt]))
    if (known !== null) {
      catalogue.forget(known.id)
      onEnded(known.id)
    }
    if (next === undefined) return
    catalogue.putAgency(known?.status === 'suspended' ? { ...next, status: known.status } : next, term)
    for (const key of keys)
      if (key.agencyId === next.id)
        catalogue.putKey({ ...key, revokedAt: key.revokedAt ?? revokedAt.get(key.id) ?? null })
    onReplaced(known?.id ?? null, next.id)
  }

  #freeSlug(slug: string, taken: ReadonlySet<string>): string {
    for (let n = 1; ; n++) {
      const suffix = n === 1 ? '-sandbox' : `-sandbox-${n}`
      const wanted = `${slug.slice(0, SLUG_CHARS_MAX - suffix.length).replace(/-$/, '')}${suffix}`
      if (!taken.has(wanted) && this.#options.catalogue.agencyBySlug(wanted) === null) return wanted
    }
  }

  /** @throws WriteError `started`: the sandbox is there, and the repeated request or a reset completes it */
  async #fill(
    live: Agency,
    empty: Agency,
    caller: Caller,
    keep: KeepChange<Agency> | undefined,
  ): Promise<AgencyOutcome<Agency>> {
    const { rows, clock } = this.#options
    let sandbox: Agency
    try {
      sandbox = await this.#withSettings(live, empty, caller)
      await this.#copy(live, sandbox, caller)
      if (keep !== undefined) await rows.keepAnswer(live.id, keep(sandbox), clock.now())
    } catch (cause) {
      if (cause instanceof AssertionError) throw cause
      throw new WriteError('started', 'Cannot fill a sandbox: a copy was not written', { cause })
    }
    this.#unfilled.delete(live.id)
    return done(sandbox)
  }

  /** A sandbox that was reset has those of the former one. It may be suspended only in memory, and is then so in the database too. */
  async #withSettings(live: Agency, sandbox: Agency, caller: Caller): Promise<Agency> {
    const { name, defaultHoldHours, plan, status } = sandbox
    const settings = settingsOf(live)
    if (status === 'active' && Bun.deepEquals(settings, { name, defaultHoldHours, plan })) return sandbox
    const change = status === 'suspended' ? { ...settings, status } : settings
    const changed = await this.#options.agencies.change(sandbox.id, change, caller)
    if (changed.kind !== 'done') throw new WriteError('not_written', 'Cannot change a sandbox: it has ended')
    return changed.value
  }

  async #copy(live: Agency, sandbox: Agency, caller: Caller): Promise<void> {
    const { catalogue, commands, fees, newId } = this.#options
    const { feeTypes, listed } = await catalogue.inventory(live.id)
    for (const { id: _, ...feeType } of feeTypes) await fees.create(sandbox, feeType, caller)
    const units = listed.map((unit): Unit => ({ ...unit, id: newId('unt') }))
    for (let i = 0; i < units.length; i += UNITS_AT_ONCE) {
      const next = units.slice(i, i + UNITS_AT_ONCE)
      await Promise.all(next.map((unit) => commands.setUnit(sandbox, unit.id, () => unit, caller)))
    }
    for (const request of inventedStays(units.slice(0, UNITS_WITH_STAYS), sandbox))
      await commands.book(sandbox, request, caller)
  }
}

/** What a sandbox has of its live agency: the same limit per minute, so that a partner can try out what it does. */
function settingsOf({ name, defaultHoldHours, plan }: Agency): Pick<Agency, 'name' | 'defaultHoldHours' | 'plan'> {
  const { requestsPerMinute } = plan
  return {
    name: `${name} (sandbox)`,
    defaultHoldHours,
    plan: { apiAccess: true, requestsPerMinute, requestsPerMonth: REQUESTS_PER_MONTH },
  }
}
