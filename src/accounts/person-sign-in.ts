/**
 * How a person shows who they are: with a link, or with a passkey; and the passkeys of one's own.
 *
 * - H2 A link lets in once, and a challenge too: both are used up in the statement that also writes the line of the audit trail.
 */
import { changeLine } from '../core/bookings/durable-writes.ts'
import { isNotWritten } from '../core/bookings/write-error.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import type { Person } from '../core/catalogue/people.ts'
import type { Caller, KeepChange } from '../core/journal/record.ts'
import { type Clock, MINUTE_MS } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { KeyedTurns } from '../lib/queues.ts'
import {
  PASSKEYS_PER_PERSON_MAX,
  type Passkey,
  type PasskeyAnswer,
  type Passkeys,
  type PersonMember,
} from './passkeys.ts'
import type { PersonChanges } from './person-changes.ts'
import { isOfAddress, type LinkSecrets, linkHash, type PersonLink } from './person-links.ts'
import type { PersonRows } from './person-rows.ts'
import type { PortalSessions, Session } from './portal-sessions.ts'
import { RateLimiter } from './rate-limit.ts'
import { isMemberValid } from './secrets.ts'
import { type AgencyOutcome, done, NOT_FOUND, refused } from './store-retries.ts'
import type { OverBudget } from './token-rate-limit.ts'

/** A link that can be used, and whom it lets in. */
export interface FoundLink {
  readonly link: PersonLink
  readonly member: PersonMember
}

/** A passkey whose signature was verified. */
interface VerifiedPasskey {
  readonly passkey: Passkey
  readonly challengedAt: number
  readonly signCount: number
}

/** What the browser has made, and what its person calls it. */
export interface PasskeyDraft {
  readonly name: string
  readonly passkey: Parameters<Passkeys['verifyNew']>[1]
}

interface SignInDependencies {
  readonly catalogue: Pick<Catalogue, 'member' | 'agencyById'>
  readonly rows: PersonRows
  readonly passkeys: Passkeys
  readonly changes: Pick<PersonChanges, 'isEnding'>
  readonly sessions: Pick<PortalSessions, 'endAllOf' | 'isOpen'>
  readonly clock: Clock
  readonly newId: IdSource
  readonly links: LinkSecrets
}

/** Agencies that somebody can choose from who works for many. */
const LINKS_OF_EMAIL_MAX = 20
/** Whoever has a link has not signed in, and may no longer be welcome. The page reads it three times until the person is in. */
export const LINK_READS_PER_MINUTE = 20
/** The browser opens it immediately, and somebody may have to choose. */
export const LINK_OF_EMAIL_MS = MINUTE_MS

export class PersonSignIn {
  readonly #dependencies: SignInDependencies
  /**
   * By person: so that the number of passkeys is known when one is added or removed, and none is added in a session that an invitation has
   * ended.
   */
  readonly #turns = new KeyedTurns()
  /** By secret. */
  readonly #linkReads: RateLimiter

  constructor(dependencies: SignInDependencies) {
    this.#dependencies = dependencies
    this.#linkReads = new RateLimiter(dependencies.clock)
  }

  /**
   * Makes a link that signs a person in.
   * @param browser as for `LinkSecrets.make`
   * @returns its secret: in this answer and nowhere else
   */
  async makeSignInLink(
    { agencyId, id: personId }: Pick<Person, 'agencyId' | 'id'>,
    lifetimeMs: number,
    browser: string | null = null,
  ): Promise<string> {
    const { rows, clock, links } = this.#dependencies
    const { link, secret } = links.make(
      { agencyId, personId, kind: 'sign_in' },
      { now: clock.now(), lifetimeMs, browser },
    )
    await rows.insertSignInLink(link)
    return secret
  }

  /**
   * Links that sign in at once, for each person of an active agency who has the address.
   * @param email one that was verified to be of whoever gets the links
   * @param browser that the links are bound to: `browserOf` the address
   */
  async linksOf(email: string, browser: string): Promise<readonly string[]> {
    const people = await this.#dependencies.rows.peopleWithEmail(email, LINKS_OF_EMAIL_MAX)
    return Promise.all(people.map((person) => this.makeSignInLink(person, LINK_OF_EMAIL_MS, browser)))
  }

  /**
   * Null: the link is unknown, or was used or replaced, or has expired, or is another browser's, or its person may not sign in any more or
   * no longer has the address that the provider has named, or a change of the person that may end it is not stored yet.
   * @param browser as for `linkHash`
   * @returns the budget of the link, when that is used up: nothing is read then
   */
  async findLink(secret: string, browser: string | null): Promise<FoundLink | OverBudget | null> {
    const { catalogue, rows, changes, clock, links } = this.#dependencies
    const agencyId = links.agencyIdOf(secret, clock.now())
    if (agencyId === null || !this.#isHere(agencyId)) return null
    const reads = this.#linkReads.take(secret, LINK_READS_PER_MINUTE)
    if (!reads.allowed) return { limit: reads.limit, of: 'link', retryAfterS: reads.retryAfterS }
    const link = await rows.findLink(agencyId, linkHash(secret, browser))
    if (link === null || changes.isEnding(link.personId)) return null
    const member = this.#valid(catalogue.member('person', agencyId, link.personId))
    return member !== null && isOfAddress(secret, browser, member.member.email) ? { link, member } : null
  }

  /** Uses a link that signs in. @returns false: it was used meanwhile */
  useLink({ link }: FoundLink, caller: Caller): Promise<boolean> {
    const { rows, clock } = this.#dependencies
    return rows.useSignInLink(link, clock.now(), changeLine(this.#dependencies, caller, undefined))
  }

  /** The passkey that the browser has made with an invitation; null when it cannot be verified. */
  verifyNew({ member: { member } }: Pick<FoundLink, 'member'>, draft: PasskeyDraft): Promise<Passkey | null> {
    return this.#verified(member, draft)
  }

  /**
   * Uses an invitation: the passkey is the only one of the person from now on, and the session the only one.
   * @returns false: the invitation was used or replaced meanwhile, or the person is being changed
   * @throws what the store throws; the other sessions have ended then too, unless the invitation is known not to be used
   */
  useInvitation({ link }: FoundLink, passkey: Passkey, session: Session, caller: Caller): Promise<boolean> {
    const { rows, changes, clock, sessions } = this.#dependencies
    return this.#turns.run(link.personId, async () => {
      if (changes.isEnding(link.personId)) return false
      const how = { passkey: { ...passkey, lastUsedAt: clock.now() }, session: session.sha256, now: clock.now() }
      const isUsed = await rows
        .useInvitation(link, how, changeLine(this.#dependencies, caller, undefined))
        .catch((error: unknown) => {
          // It may be used: somebody who has stolen a former session must not keep it in memory when the database has it no more.
          if (!isNotWritten(error)) sessions.endAllOf(link.personId, session)
          throw error
        })
      if (isUsed) sessions.endAllOf(link.personId, session)
      return isUsed
    })
  }

  /** Whom an answer claims to be from, who need not have signed it; null when they may not sign in. */
  claimedBy(answer: PasskeyAnswer): PersonMember | null {
    const claim = this.#dependencies.passkeys.claimOf(answer)
    if (claim === null) return null
    return this.#valid(this.#dependencies.catalogue.member('person', claim.agencyId, claim.personId))
  }

  /** Null: none of the person's passkeys has signed the answer. `cloned`: one has, but its counter went back. */
  async verify({ member }: PersonMember, answer: PasskeyAnswer): Promise<VerifiedPasskey | 'cloned' | null> {
    const { rows, passkeys } = this.#dependencies
    const claim = passkeys.claimOf(answer)
    const passkey = await rows.findPasskey(member.agencyId, answer.id)
    if (claim === null || passkey === null || passkey.personId !== member.id) return null
    const signCount = await passkeys.verify(passkey, answer)
    if (signCount === null || passkey.challengedAt >= claim.challengedAt) return null
    if (signCount <= passkey.signCount && passkey.signCount > 0) return 'cloned'
    return { passkey, signCount, challengedAt: claim.challengedAt }
  }

  /** @returns false: its challenge was used meanwhile */
  usePasskey({ passkey, ...use }: VerifiedPasskey, caller: Caller): Promise<boolean> {
    const { rows, clock } = this.#dependencies
    return rows.usePasskey(passkey, { ...use, now: clock.now() }, changeLine(this.#dependencies, caller, undefined))
  }

  /** Oldest first. */
  passkeysOf({ member }: PersonMember): Promise<readonly Passkey[]> {
    return this.#dependencies.rows.passkeysOf(member.agencyId, member.id)
  }

  /** @returns refused when it cannot be verified, the session has ended, or the person has `PASSKEYS_PER_PERSON_MAX` */
  add(
    person: PersonMember & { readonly session: Session | null },
    draft: PasskeyDraft,
    caller: Caller,
    keep?: KeepChange<Passkey>,
  ): Promise<AgencyOutcome<Passkey>> {
    return this.#turns.run(person.member.id, async () => {
      const made = await this.#verified(person.member, draft)
      if (made === null) return refused(NOT_VERIFIED)
      const existing = await this.passkeysOf(person)
      if (existing.length >= PASSKEYS_PER_PERSON_MAX) return refused(TOO_MANY)
      const { session } = person
      if (session !== null && !this.#dependencies.sessions.isOpen(session)) return refused(NOT_VERIFIED)
      const line = changeLine(this.#dependencies, caller, keep?.(made))
      return (await this.#dependencies.rows.insertPasskey(made, line)) ? done(made) : refused(NOT_VERIFIED)
    })
  }

  async rename(
    person: PersonMember,
    { id, name }: Pick<Passkey, 'id' | 'name'>,
    caller: Caller,
    keep?: KeepChange<Passkey>,
  ): Promise<AgencyOutcome<Passkey>> {
    const found = (await this.passkeysOf(person)).find((passkey) => passkey.id === id)
    if (found === undefined) return NOT_FOUND
    const renamed = { ...found, name }
    const line = changeLine(this.#dependencies, caller, keep?.(renamed))
    // It may have been removed meanwhile, or an invitation was used.
    return (await this.#dependencies.rows.renamePasskey(renamed, line)) ? done(renamed) : NOT_FOUND
  }

  /** @returns refused when it is the last one */
  remove(
    person: PersonMember,
    id: string,
    caller: Caller,
    keep?: KeepChange<Passkey>,
  ): Promise<AgencyOutcome<Passkey>> {
    return this.#turns.run(person.member.id, async () => {
      const existing = await this.passkeysOf(person)
      const found = existing.find((passkey) => passkey.id === id)
      if (found === undefined) return NOT_FOUND
      if (existing.length === 1) return refused({ code: 'LAST_PASSKEY' })
      await this.#dependencies.rows.deletePasskey(found, changeLine(this.#dependencies, caller, keep?.(found)))
      return done(found)
    })
  }

  async #verified(person: Person, { name, passkey }: PasskeyDraft): Promise<Passkey | null> {
    const { passkeys, clock, newId } = this.#dependencies
    const made = await passkeys.verifyNew(person, passkey)
    if (made === null) return null
    const { agencyId, id: personId } = person
    return { id: newId('pky'), agencyId, personId, name, createdAt: clock.now(), lastUsedAt: null, ...made }
  }

  /** False: no agency of this process has the id, so that nothing is asked of the database. */
  #isHere(agencyId: string): boolean {
    return this.#dependencies.catalogue.agencyById(agencyId) !== null
  }

  #valid(member: ReturnType<Catalogue['member']>): PersonMember | null {
    if (member?.kind !== 'person') return null
    return isMemberValid(member, this.#dependencies.clock.now()) ? member : null
  }
}

export const NOT_VERIFIED = {
  code: 'VALIDATION',
  field: 'passkey',
  message: 'passkey must be new, and created on this page with options that are at most 5 minutes old: try again',
} as const
const TOO_MANY = {
  code: 'VALIDATION',
  field: 'passkey',
  message: `passkey cannot be added: you already have ${PASSKEYS_PER_PERSON_MAX}. Remove one first`,
} as const
