/**
 * The people of an agency, as the portal changes them (docs/design.md#people). A change takes effect in memory before it is stored, and stays
 * in effect if it cannot be stored: removing a person, or taking a role away, must not have to wait for the database.
 *
 * - H3 Both hold from the next request on, and end the sessions of the person.
 */
import { changeLine } from '../core/bookings/durable-writes.ts'
import { isNotWritten } from '../core/bookings/write-error.ts'
import { type Agency, LIVE_CREDENTIALS_MAX, type Role } from '../core/catalogue/agency.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import type { Person } from '../core/catalogue/people.ts'
import type { Caller, KeepChange } from '../core/journal/record.ts'
import { AssertionError } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { withDeadline } from '../lib/deadline.ts'
import type { IdSource } from '../lib/ids.ts'
import { KeyedTurns } from '../lib/queues.ts'
import type { AgencyStore } from './agency-store.ts'
import { MemoryRefresh } from './memory-refresh.ts'
import type { PersonChanges } from './person-changes.ts'
import { INVITATION_MS, type LinkSecrets, type PersonLink } from './person-links.ts'
import type { Ended, PersonRows } from './person-rows.ts'
import { type AgencyOutcome, done, NOT_FOUND, refused } from './store-retries.ts'

interface PersonDraft {
  readonly name: string
  readonly email: string | null
  readonly role: Role
}

/** A new link, and its secret: in this answer and nowhere else. */
interface NewInvitation {
  readonly link: PersonLink
  readonly secret: string
}

interface Invited extends NewInvitation {
  readonly person: Person
}

interface MadePerson {
  readonly person: Person
  /** Null: only the provider lets people in. */
  readonly invitation: NewInvitation | null
}

/** How long a change waits to learn who else can sign in. Until it is made, the person keeps their access. */
const OWNERS_WAIT_MS = 500

interface PeopleDependencies {
  readonly catalogue: Catalogue
  readonly rows: PersonRows
  readonly store: Pick<AgencyStore, 'settle' | 'loadPeople'>
  readonly changes: PersonChanges
  readonly clock: Clock
  readonly newId: IdSource
  readonly links: Pick<LinkSecrets, 'make'>
  /** People with an e-mail address can sign in with it. Null: there is none. */
  readonly provider: { readonly isOnly: boolean } | null
}

export class PeopleCommands {
  readonly #dependencies: PeopleDependencies
  /** Reads of an agency's people. */
  readonly #turns = new KeyedTurns()
  /** E-mail addresses of people on their way into the store, each with its agency; those without one too. */
  readonly #making = new Set<{ readonly agencyId: string; readonly email: string | null }>()
  /** By agency. */
  readonly #refresh: MemoryRefresh

  constructor(dependencies: PeopleDependencies) {
    const { catalogue, clock, store } = dependencies
    this.#dependencies = dependencies
    this.#refresh = new MemoryRefresh({
      clock,
      turns: this.#turns,
      isHere: (agencyId) => catalogue.termOf(agencyId) !== null,
      read: async (agencyId) => {
        await store.settle(agencyId)
        for (const person of await store.loadPeople()) if (person.agencyId === agencyId) catalogue.putPerson(person)
      },
    })
  }

  /**
   * Makes a person, with an invitation unless only the provider lets people in.
   * @returns refused when the agency has `LIVE_CREDENTIALS_MAX` people, or another one has the e-mail address
   * @throws what the store throws; the error says what is known about the outcome
   */
  async create(
    { id: agencyId }: Agency,
    draft: PersonDraft,
    caller: Caller,
    keep?: KeepChange<MadePerson>,
  ): Promise<AgencyOutcome<MadePerson>> {
    const { catalogue, rows, clock, newId, provider } = this.#dependencies
    const making = [...this.#making].filter((other) => other.agencyId === agencyId).length
    if (catalogue.peopleOf(agencyId).length + making >= LIVE_CREDENTIALS_MAX) return refused(TOO_MANY)
    const { email } = draft
    if (email !== null && this.#isTaken(agencyId, email, null)) return refused({ code: 'EMAIL_TAKEN', email })
    const person: Person = {
      id: newId('per'),
      agencyId,
      ...draft,
      createdAt: clock.now(),
      removedAt: null,
      revision: 0,
    }
    const invitation = provider?.isOnly === true ? null : this.#newInvitation(person)
    const made = { person, invitation }
    const reserved = { agencyId, email }
    this.#making.add(reserved)
    try {
      const line = changeLine(this.#dependencies, caller, keep?.(made))
      const written = await rows.insertPerson(person, invitation?.link ?? null, line)
      if (written === 'email_taken') return refused({ code: 'EMAIL_TAKEN', email: email ?? '' })
    } catch (error) {
      // The link was never returned. But if the person is stored, they must be listed, so that they can be removed.
      if (!isNotWritten(error)) await this.#turns.run(agencyId, () => this.#refresh.now(agencyId))
      throw error
    } finally {
      this.#making.delete(reserved)
    }
    catalogue.putPerson(person)
    return done(made)
  }

  /** Makes another invitation, which replaces an unused one, when what was changed of the person before is stored. @throws as `create` */
  async invite(
    { id: agencyId }: Agency,
    personId: string,
    caller: Caller,
    keep?: KeepChange<Invited>,
  ): Promise<AgencyOutcome<Invited>> {
    if (this.#present(agencyId, personId) === null) return NOT_FOUND
    // Otherwise a change that ends invitations could end this one, too, or be too early to end it.
    return this.#dependencies.changes.between(personId, async () => {
      const person = this.#present(agencyId, personId)
      if (person === null) return NOT_FOUND
      const invited = { person, ...this.#newInvitation(person) }
      const line = changeLine(this.#dependencies, caller, keep?.(invited))
      await this.#dependencies.rows.insertInvitation(invited.link, line)
      return done(invited)
    })
  }

  /**
   * A new role holds from this moment on, and ends the sessions of the person. Another e-mail address does, too, and ends the links that were
   * sent to the former one.
   * @returns refused when another person has the e-mail address, or, for anybody but the operator, when no owner would be left who can sign in
   * @throws RevocationNotStoredError when it may not be stored yet
   */
  async update(
    { id: agencyId }: Agency,
    personId: string,
    change: Partial<PersonDraft>,
    caller: Caller,
    keep?: KeepChange<Person>,
  ): Promise<AgencyOutcome<Person>> {
    const mayLoseOwner = (change.role !== undefined && change.role !== 'owner') || change.email === null
    const withPasskeys = mayLoseOwner ? await this.#peopleWithPasskeys(agencyId, personId, caller) : null
    // From here on nothing is waited for: two owners may be demoting each other.
    const person = this.#present(agencyId, personId)
    if (person === null) return NOT_FOUND
    const { email = null } = change
    if (email !== null && this.#isTaken(agencyId, email, personId)) return refused({ code: 'EMAIL_TAKEN', email })
    const isNewRole = change.role !== undefined && change.role !== person.role
    // Member by member: the caller may have sent others.
    const { name = person.name, role = person.role } = change
    const changed = { ...person, name, role, email: change.email === undefined ? person.email : email }
    if (mayLoseOwner && this.#isLastOwner(person, changed, withPasskeys, caller)) return refused({ code: 'LAST_OWNER' })
    const ends = isReplaced(person.email, changed.email) ? 'links' : isNewRole ? 'sessions' : 'nothing'
    return this.#change(changed, ends, caller, keep)
  }

  /** Permanent, and from this moment on. Otherwise as `update`. */
  async remove(
    { id: agencyId }: Agency,
    personId: string,
    caller: Caller,
    keep?: KeepChange<Person>,
  ): Promise<AgencyOutcome<Person>> {
    const { changes, clock } = this.#dependencies
    const withPasskeys = await this.#peopleWithPasskeys(agencyId, personId, caller)
    const person = changes.personById(agencyId, personId)
    if (person === null) return NOT_FOUND
    // Again if it may not have been stored. The name stays, for the audit trail; the address is of no more use.
    const removed = { ...person, email: null, removedAt: person.removedAt ?? clock.now() }
    if (this.#isLastOwner(person, removed, withPasskeys, caller)) return refused({ code: 'LAST_OWNER' })
    return this.#change(removed, 'everything', caller, keep)
  }

  async #change(
    changed: Person,
    ends: Ended,
    caller: Caller,
    keep?: KeepChange<Person>,
  ): Promise<AgencyOutcome<Person>> {
    const person = { ...changed, revision: changed.revision + 1 }
    await this.#dependencies.changes.make(person, ends, changeLine(this.#dependencies, caller, keep?.(person)))
    return done(person)
  }

  /**
   * Whether a change would leave the agency without an owner who can sign in. The operator can make another one.
   * @param withPasskeys who has a passkey; null: everybody may
   */
  #isLastOwner(before: Person, after: Person, withPasskeys: ReadonlySet<string> | null, { actor }: Caller): boolean {
    const { catalogue, provider } = this.#dependencies
    const isAble = ({ id, email, role, removedAt }: Person) => {
      if (role !== 'owner' || removedAt !== null) return false
      const hasPasskey = provider?.isOnly !== true && (withPasskeys?.has(id) ?? true)
      return hasPasskey || (provider !== null && email !== null)
    }
    if (actor.kind === 'portal' || !isAble(before) || isAble(after)) return false
    return catalogue.peopleOf(before.agencyId).every((other) => other.id === before.id || !isAble(other))
  }

  /** To know whether a person is the last owner. Null: the database does not say in time, or it does not matter. */
  async #peopleWithPasskeys(
    agencyId: string,
    personId: string,
    { actor }: Caller,
  ): Promise<ReadonlySet<string> | null> {
    const { catalogue, rows, clock } = this.#dependencies
    if (actor.kind === 'portal' || catalogue.personById(agencyId, personId)?.role !== 'owner') return null
    try {
      return new Set(await withDeadline(rows.peopleWithPasskeys(agencyId), OWNERS_WAIT_MS, clock))
    } catch (error) {
      if (error instanceof AssertionError) throw error
      return null
    }
  }

  #present(agencyId: string, personId: string): Person | null {
    const person = this.#dependencies.changes.personById(agencyId, personId)
    return person?.removedAt === null ? person : null
  }

  #isTaken(agencyId: string, email: string, exceptId: string | null): boolean {
    const wanted = email.toLowerCase()
    const isSame = (other: { readonly email: string | null }) => other.email?.toLowerCase() === wanted
    return (
      this.#dependencies.catalogue.peopleOf(agencyId).some((other) => other.id !== exceptId && isSame(other)) ||
      [...this.#making].some((other) => other.agencyId === agencyId && isSame(other))
    )
  }

  #newInvitation({ agencyId, id: personId }: Person): NewInvitation {
    const { clock, links } = this.#dependencies
    return links.make({ agencyId, personId, kind: 'invitation' }, { now: clock.now(), lifetimeMs: INVITATION_MS })
  }
}

/** Whether an address no longer stands for the person. */
function isReplaced(before: string | null, after: string | null): boolean {
  return before !== null && before.toLowerCase() !== after?.toLowerCase()
}

const TOO_MANY = {
  code: 'VALIDATION',
  field: 'name',
  message: `name cannot be given access: the agency already has ${LIVE_CREDENTIALS_MAX} people. Remove one first`,
} as const
