import type { Person } from '../core/catalogue/people.ts'
import type { Instant } from '../core/domain/booking.ts'
import type { ChangeLine } from '../core/journal/record.ts'
import type { Passkey } from './passkeys.ts'
import type { PersonLink } from './person-links.ts'

/** What the list of people shows beside each person. */
export interface PersonAccess {
  readonly personId: string
  readonly passkeys: number
  readonly invitedUntil: Instant | null
  /** Null: no passkey of the person was used, and they have no session. */
  readonly lastSeenAt: Instant | null
}

/** `email_taken`: another person of the agency has the e-mail address. Nothing is written then. */
type PersonWritten = 'written' | 'email_taken'

/**
 * What of a person ends with a change. `sessions`: also links that sign in; `links`: also invitations; `everything`: also passkeys.
 */
export type Ended = 'nothing' | 'sessions' | 'links' | 'everything'

/**
 * Where people, their links and their passkeys are stored: each change is one statement with its line of the audit trail, under the fence of
 * the agency's shard. What it writes throws as AgencyStore's does.
 */
export interface PersonRows {
  insertPerson(person: Person, invitation: PersonLink | null, audit: ChangeLine): Promise<PersonWritten>
  updatePerson(person: Person, ends: Ended, audit: ChangeLine): Promise<void>
  /** Replaces the unused invitation of the person. */
  insertInvitation(invitation: PersonLink, audit: ChangeLine): Promise<void>
  /** Under no fence, and without a line: any node may let a person in whose agency another one owns. */
  insertSignInLink(link: PersonLink): Promise<void>
  /** Of all active agencies, without regard to case, by the name of the agency. */
  peopleWithEmail(email: string, max: number): Promise<readonly Pick<Person, 'agencyId' | 'id'>[]>
  accessOf(agencyId: string): Promise<readonly PersonAccess[]>
  /** By id, of people in any state: memory has forgotten most of those who were removed. */
  namesOf(agencyId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Null when there is none. */
  findLink(agencyId: string, sha256: string): Promise<PersonLink | null>
  passkeysOf(agencyId: string, personId: string): Promise<readonly Passkey[]>
  /** Who of an agency has a passkey. */
  peopleWithPasskeys(agencyId: string): Promise<readonly string[]>
  findPasskey(agencyId: string, credentialId: string): Promise<Passkey | null>
  /** False: the link has been used, replaced, or had expired at `now`. */
  useSignInLink(link: PersonLink, now: Instant, audit: ChangeLine): Promise<boolean>
  /**
   * Uses an invitation to make a passkey. Other passkeys and links of the person end, and all sessions but one.
   * @param options.session hash of the session that continues
   * @returns false: as `useSignInLink`, or somebody of the agency has the passkey
   */
  useInvitation(
    link: PersonLink,
    options: { readonly passkey: Passkey; readonly session: string; readonly now: Instant },
    audit: ChangeLine,
  ): Promise<boolean>
  /**
   * Uses a passkey.
   * @param use.challengedAt false unless it is later than that of the last use: a challenge is used once
   * @param use.signCount false unless it is higher than the last one, or the authenticator has none
   */
  usePasskey(
    passkey: Passkey,
    use: { readonly challengedAt: Instant; readonly signCount: number; readonly now: Instant },
    audit: ChangeLine,
  ): Promise<boolean>
  /** False: somebody of the agency has the passkey. */
  insertPasskey(passkey: Passkey, audit: ChangeLine): Promise<boolean>
  /** False: the person no longer has it. */
  renamePasskey(passkey: Passkey, audit: ChangeLine): Promise<boolean>
  deletePasskey(passkey: Passkey, audit: ChangeLine): Promise<void>
}
