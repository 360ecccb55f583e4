import type { Passkey } from '../../accounts/passkeys.ts'
import type { PersonLink } from '../../accounts/person-links.ts'
import type { Ended, PersonAccess, PersonRows } from '../../accounts/person-rows.ts'
import { WriteError } from '../../core/bookings/write-error.ts'
import type { Person } from '../../core/catalogue/people.ts'
import type { Instant } from '../../core/domain/booking.ts'
import { decoderOf, encodeInstant, encoderOf, type Stored } from '../../core/journal/fields.ts'
import type { ChangeLine } from '../../core/journal/record.ts'
import { idOf, uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'
import { auditedWrite } from './audited-write.ts'
import type { ListReads } from './list-reads.ts'
import { inserted, selected } from './table.ts'
import { PASSKEY, PERSON, PERSON_LINK } from './tables.ts'

const UNIQUE_VIOLATION = '23505'

const encodePerson = encoderOf(PERSON.fields)
const encodeLink = encoderOf(PERSON_LINK.fields)
const encodePasskey = encoderOf(PASSKEY.fields)
const decodeLink: (row: Stored<typeof PERSON_LINK.fields>) => PersonLink = decoderOf(PERSON_LINK.fields)
const decodePasskey: (row: Stored<typeof PASSKEY.fields>) => Passkey = decoderOf(PASSKEY.fields)

export class PostgresPersonRows implements PersonRows {
  readonly #sql: Sql
  readonly #lists: ListReads
  readonly #epochOf: (agencyId: string) => number

  /**
   * @param lists what nobody has signed in for is read there: it takes nothing from other agencies
   * @param epochOf as for PostgresAgencyStore
   */
  constructor(sql: Sql, { lists, epochOf }: { lists: ListReads; epochOf: (agencyId: string) => number }) {
    this.#sql = sql
    this.#lists = lists
    this.#epochOf = epochOf
  }

  async insertPerson(
    person: Person,
    invitation: PersonLink | null,
    audit: ChangeLine,
  ): Promise<'written' | 'email_taken'> {
    const row = inserted(this.#sql, PERSON, encodePerson(person))
    // The person's row is checked for at the end of the statement.
    const writing =
      invitation === null
        ? this.#write(person.agencyId, audit, row)
        : this.#write(
            person.agencyId,
            audit,
            inserted(this.#sql, PERSON_LINK, encodeLink(invitation)),
            this.#sql`made as (${row} returning true),`,
          )
    const isWritten = await unlessTaken(writing)
    return isWritten ? 'written' : 'email_taken'
  }

  async updatePerson(person: Person, ends: Ended, audit: ChangeLine): Promise<void> {
    const sql = this.#sql
    const { agencyId, id, name, email, role, removedAt, revision } = person
    const its = () => sql`agency_id = ${uuidOf(agencyId)} and person_id = ${uuidOf(id)} and (select held from fence)`
    const links = ends === 'sessions' ? sql`kind = 'sign_in'` : sql`true`
    const ended =
      ends === 'nothing'
        ? sql``
        : sql`sessions as (delete from portal_session where ${its()}),
              links as (delete from person_link where ${its()} and ${links}),`
    const removed = ends === 'everything' ? sql`passkeys as (delete from passkey where ${its()}),` : sql``
    const update = sql`
      update person set name = ${name}, email = ${email}, role = ${role}, revision = ${revision},
             removed_at = ${removedAt === null ? null : encodeInstant(removedAt)}::text::timestamptz
      where ${its()}`
    await this.#write(agencyId, audit, update, sql`${ended} ${removed}`)
  }

  async insertInvitation(invitation: PersonLink, audit: ChangeLine): Promise<void> {
    const row = inserted(this.#sql, PERSON_LINK, encodeLink(invitation))
    const change = this.#sql`
      ${row} on conflict (agency_id, person_id) where kind = 'invitation' do update
        set secret_sha256 = excluded.secret_sha256, created_at = excluded.created_at, expires_at = excluded.expires_at`
    await this.#write(invitation.agencyId, audit, change)
  }

  async insertSignInLink(link: PersonLink): Promise<void> {
    await this.#sql`
      with expired as (
        delete from person_link where ${this.#ofPerson(link)} and kind = 'sign_in'
          and expires_at <= ${encodeInstant(link.createdAt)}::text::timestamptz)
      ${inserted(this.#sql, PERSON_LINK, encodeLink(link))}`
  }

  async peopleWithEmail(email: string, max: number): Promise<readonly { agencyId: string; id: string }[]> {
    const rows = await this.#sql<{ agencyId: string; personId: string }[]>`
      select p.agency_id as "agencyId", p.person_id as "personId" from person p join agency a using (agency_id)
      where lower(p.email) = lower(${email}) and a.status = 'active'
      order by a.name, p.agency_id limit ${max}`
    return rows.map(({ agencyId, personId }) => ({ agencyId: idOf('agc', agencyId), id: idOf('per', personId) }))
  }

  async accessOf(agencyId: string): Promise<readonly PersonAccess[]> {
    const rows = await this.#lists.read(
      agencyId,
      this.#lists.sql<{ personId: string; passkeys: number; invitedUntil: Date | null; lastSeenAt: Date | null }[]>`
        select p.person_id as "personId", coalesce(k.passkeys, 0)::int as "passkeys",
               l.expires_at as "invitedUntil", greatest(k.last_used_at, s.seen_at) as "lastSeenAt"
        from person p
        left join lateral (select count(*) as passkeys, max(k.last_used_at) as last_used_at from passkey k
                           where k.agency_id = p.agency_id and k.person_id = p.person_id) k on true
        left join lateral (select max(s.seen_at) as seen_at from portal_session s
                           where s.agency_id = p.agency_id and s.person_id = p.person_id) s on true
        left join person_link l on l.agency_id = p.agency_id and l.person_id = p.person_id and l.kind = 'invitation'
        where p.agency_id = ${uuidOf(agencyId)} and p.removed_at is null`,
    )
    return rows.map(({ personId, passkeys, invitedUntil, lastSeenAt }) => ({
      personId: idOf('per', personId),
      passkeys,
      invitedUntil: invitedUntil?.getTime() ?? null,
      lastSeenAt: lastSeenAt?.getTime() ?? null,
    }))
  }

  async namesOf(agencyId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { sql } = this.#lists
    const rows = await this.#lists.read(
      agencyId,
      sql<{ personId: string; name: string }[]>`
        select person_id as "personId", name from person
        where agency_id = ${uuidOf(agencyId)} and person_id = any (${`{${ids.map(uuidOf).join()}}`}::text::uuid[])`,
    )
    return new Map(rows.map(({ personId, name }) => [idOf('per', personId), name]))
  }

  async findLink(agencyId: string, sha256: string): Promise<PersonLink | null> {
    const { sql } = this.#lists
    const [row] = await this.#lists.read(
      agencyId,
      sql<Stored<typeof PERSON_LINK.fields>[]>`
        select ${selected(sql, PERSON_LINK)} from person_link
        where secret_sha256 = ${sha256} and agency_id = ${uuidOf(agencyId)}`,
    )
    return row === undefined ? null : decodeLink(row)
  }

  passkeysOf(agencyId: string, personId: string): Promise<readonly Passkey[]> {
    return this.#passkeys(agencyId, this.#ofPerson({ agencyId, personId }))
  }

  async peopleWithPasskeys(agencyId: string): Promise<readonly string[]> {
    const rows = await this.#sql<{ personId: string }[]>`
      select distinct person_id as "personId" from passkey where agency_id = ${uuidOf(agencyId)}`
    return rows.map(({ personId }) => idOf('per', personId))
  }

  async findPasskey(agencyId: string, credentialId: string): Promise<Passkey | null> {
    const found = await this.#passkeys(
      agencyId,
      this.#sql`agency_id = ${uuidOf(agencyId)} and credential_id = ${credentialId}`,
    )
    return found[0] ?? null
  }

  useSignInLink({ agencyId, sha256 }: PersonLink, now: Instant, audit: ChangeLine): Promise<boolean> {
    return this.#write(agencyId, audit, this.#used(sha256, 'sign_in', now))
  }

  useInvitation(
    { agencyId, sha256 }: PersonLink,
    { passkey, session, now }: { readonly passkey: Passkey; readonly session: string; readonly now: Instant },
    audit: ChangeLine,
  ): Promise<boolean> {
    const sql = this.#sql
    const before = sql`
      used as (${this.#used(sha256, 'invitation', now)} and (select held from fence) returning agency_id, person_id),
      links as (delete from person_link l using used u
                where l.agency_id = u.agency_id and l.person_id = u.person_id and l.secret_sha256 <> ${sha256}),
      former as (delete from passkey p using used u where p.agency_id = u.agency_id and p.person_id = u.person_id),
      ended as (delete from portal_session s using used u
                where s.agency_id = u.agency_id and s.person_id = u.person_id and s.secret_sha256 <> ${session}),`
    const change = sql`${inserted(sql, PASSKEY, encodePasskey(passkey))} where exists (select from used)`
    return unlessTaken(this.#write(agencyId, audit, change, before))
  }

  usePasskey(
    { agencyId, id }: Passkey,
    {
      challengedAt,
      signCount,
      now,
    }: { readonly challengedAt: Instant; readonly signCount: number; readonly now: Instant },
    audit: ChangeLine,
  ): Promise<boolean> {
    const change = this.#sql`
      update passkey set challenged_at = ${encodeInstant(challengedAt)}::text::timestamptz, sign_count = ${signCount}::text::bigint,
             last_used_at = ${encodeInstant(now)}::text::timestamptz
      where agency_id = ${uuidOf(agencyId)} and passkey_id = ${uuidOf(id)}
        and challenged_at < ${encodeInstant(challengedAt)}::text::timestamptz
        and (sign_count < ${signCount}::text::bigint or (sign_count = 0 and ${signCount}::text::bigint = 0))`
    return this.#write(agencyId, audit, change)
  }

  insertPasskey(passkey: Passkey, audit: ChangeLine): Promise<boolean> {
    const change = inserted(this.#sql, PASSKEY, encodePasskey(passkey))
    return unlessTaken(this.#write(passkey.agencyId, audit, change))
  }

  renamePasskey({ agencyId, id, name }: Passkey, audit: ChangeLine): Promise<boolean> {
    const change = this.#sql`
      update passkey set name = ${name} where agency_id = ${uuidOf(agencyId)} and passkey_id = ${uuidOf(id)}`
    return this.#write(agencyId, audit, change)
  }

  async deletePasskey({ agencyId, id }: Passkey, audit: ChangeLine): Promise<void> {
    const change = this.#sql`
      delete from passkey where agency_id = ${uuidOf(agencyId)} and passkey_id = ${uuidOf(id)}`
    await this.#write(agencyId, audit, change)
  }

  async #passkeys(agencyId: string, which: Fragment): Promise<readonly Passkey[]> {
    const { sql } = this.#lists
    const rows = await this.#lists.read(
      agencyId,
      sql<Stored<typeof PASSKEY.fields>[]>`
        select ${selected(sql, PASSKEY)} from passkey where ${which} order by created_at, passkey_id`,
    )
    return rows.map(decodePasskey)
  }

  #ofPerson({ agencyId, personId }: { readonly agencyId: string; readonly personId: string }): Fragment {
    return this.#sql`agency_id = ${uuidOf(agencyId)} and person_id = ${uuidOf(personId)}`
  }

  #used(sha256: string, kind: PersonLink['kind'], now: Instant): Fragment {
    return this.#sql`
      delete from person_link where secret_sha256 = ${sha256} and kind = ${kind}
        and expires_at > ${encodeInstant(now)}::text::timestamptz`
  }

  /** @returns whether a row changed */
  async #write(agencyId: string, audit: ChangeLine, change: Fragment, before = this.#sql``): Promise<boolean> {
    const returning = this.#sql`${change} returning true`
    const row = await auditedWrite(this.#sql, {
      agencyId,
      epoch: this.#epochOf(agencyId),
      audit,
      change: returning,
      before,
    })
    return row !== null
  }
}

/** False instead of the error of a unique index. */
async function unlessTaken(write: Promise<boolean>): Promise<boolean> {
  try {
    return await write
  } catch (error) {
    const cause = error instanceof WriteError ? error.cause : null
    if (cause instanceof Error && 'code' in cause && cause.code === UNIQUE_VIOLATION) return false
    throw error
  }
}
