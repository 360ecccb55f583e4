import type { Command } from 'commander'
import { assert } from '../lib/assert.ts'
import { instantText } from '../lib/clock.ts'
import type { Sql } from '../postgres/client/connect.ts'
import { type RepeatedErasures, restoredMoment } from '../postgres/stores/listed-erasures.ts'
import { databaseUrl, mustFit, OWNER_NEEDED, onDatabase } from './database.ts'
import { type ErasuresOption, erasuresSentence, listedErasures, withErasures } from './erasures.ts'
import { type Columns, table } from './table.ts'
import type { Terminal } from './terminal.ts'

/** A key or a token that can be used, or a person who can sign in: whether it was revoked since the restored moment, only its agency knows. */
interface LiveCredential {
  readonly kind: 'API key' | 'access token' | 'person'
  /** Slug. */
  readonly agency: string
  /** What its secret begins with; null: of a person. */
  readonly prefix: string | null
  readonly name: string | null
  /** RFC 3339. */
  readonly createdAt: string
}

interface Outcome {
  readonly historyId: string
  /** Webhook endpoints that were switched off. */
  readonly endpoints: number
  readonly bookings: number
  /** Sessions of the page that were ended: some may have been signed out of since the moment that was restored. */
  readonly sessions: number
  /** API keys and access tokens that can be used: among them are those that were revoked since that moment. */
  readonly keys: number
  readonly tokens: number
  /** Who can sign in: among them are those who were removed since. */
  readonly people: number
  readonly calendars: number
  readonly suspended: number
  /** Of the newest entry of the log; null: it is empty. */
  readonly restoredTo: string | null
  /** Of the lists; null: there are none. */
  readonly erasures: RepeatedErasures | null
}

/** One kind of what a restore gives up, and what was done about it. */
interface GivenUp {
  readonly kind: string
  readonly did: string
}

interface AfterRestoreOptions extends ErasuresOption {
  readonly json?: boolean
  readonly revokeAccess?: boolean
}

const LIVE = 'revoked_at is null and (expires_at is null or expires_at > now())'
/** With an identity provider, people sign in by their e-mail address; without an address, they need a passkey. */
const CAN_SIGN_IN =
  'removed_at is null and (email is not null or exists (select from passkey k where (k.agency_id, k.person_id) = (p.agency_id, p.person_id)))'
/** Credentials that are printed; `--json` has all. */
const PRINTED_MAX = 50
const CREDENTIAL_COLUMNS: Columns<LiveCredential> = {
  KIND: 'kind',
  AGENCY: 'agency',
  PREFIX: 'prefix',
  NAME: 'name',
  CREATED: 'createdAt',
}

/** `after-restore`: prepares a ledger for serving after it was restored to an earlier moment. */
export function afterRestore(program: Command, terminal: Terminal): void {
  const command = program
    .command('after-restore')
    .summary('prepare a database that was restored to an earlier moment, before the service starts on it')
    .description(
      'Run this once on the database after restoring it to an earlier moment, before the service starts. Partners have seen changes that no longer exist: ' +
        'their numbers are not used again, cursors of GET /changes end (410), webhook endpoints are switched off with a reason until the agency enables them, and everybody has to sign in to the page again. ' +
        'API keys, access tokens, passkeys and calendar addresses that were revoked since that moment are valid again, and people who were removed can sign in again: revoke and remove them again, or all with --revoke-access. ' +
        'Guests who were erased since then are erased again with --erasures; without it nothing is done, unless --no-erasures says that there are none. ' +
        'It prints each kind of what the restore gave up, and what was done about it. ' +
        'Run it too when a fail-over to an asynchronous standby has lost the last changes. Do not run it after a fail-over to a synchronous standby, which loses nothing. ' +
        OWNER_NEEDED,
    )
    .option('--json', 'print the result as JSON')
    .option(
      '--revoke-access',
      'revoke all API keys and access tokens, delete the passkeys and e-mail addresses of all people, and change all calendar addresses',
    )
  withErasures(command).action(async (options: AfterRestoreOptions) => {
    const url = databaseUrl(terminal, 'Cannot prepare the restored database: DATABASE_URL is not set.')
    const { outcome, credentials } = await onDatabase(url, async (sql) => {
      await mustFit(sql)
      const repeatListed = await listedErasures(sql, options)
      const moment = await restoredMoment(sql)
      if (options.revokeAccess === true) await revokeAccess(sql)
      const row = await prepare(sql)
      const restoredTo = moment === null ? null : instantText(moment)
      const outcome: Outcome = { ...row, restoredTo, erasures: await repeatListed(sql) }
      return { outcome, credentials: await liveCredentials(sql) }
    })
    const report = reportOf(outcome, { isAccessRevoked: options.revokeAccess === true })
    terminal.out(
      options.json === true
        ? `${JSON.stringify({ ...outcome, report, credentials })}\n`
        : textOf(outcome, { report, credentials }),
    )
  })
}

async function prepare(sql: Sql): Promise<Omit<Outcome, 'restoredTo' | 'erasures'>> {
  const [row] = await sql<Omit<Outcome, 'restoredTo' | 'erasures'>[]>`
    with ended as (delete from portal_session returning 1),
         -- One that was used since would let in again.
         links as (delete from person_link)
    select history_id as "historyId", endpoints::int as "endpoints", (select count(*)::int from ended) as "sessions",
           (select count(*)::int from booking) as "bookings",
           (select count(*)::int from api_key where ${sql.unsafe(LIVE)}) as "keys",
           (select count(*)::int from access_token where ${sql.unsafe(LIVE)}) as "tokens",
           (select count(*)::int from person p where ${sql.unsafe(CAN_SIGN_IN)}) as "people",
           (select count(*)::int from calendar_feed) as "calendars",
           (select count(*)::int from agency where status = 'suspended') as "suspended"
    from after_restore()`
  assert(row !== undefined, 'Cannot say what after-restore did: its statement returned no row')
  return row
}

/** What was revoked since the restored moment is not known any more: everything is. Only the operator's tokens are left. */
async function revokeAccess(sql: Sql): Promise<void> {
  await sql`
    with keys as (update api_key set revoked_at = now() where revoked_at is null),
         tokens as (update access_token set revoked_at = now() where revoked_at is null),
         passkeys as (delete from passkey),
         people as (update person set email = null where email is not null)
    update calendar_feed set version = version + 1`
}

async function liveCredentials(sql: Sql): Promise<readonly LiveCredential[]> {
  const rows = await sql<(Omit<LiveCredential, 'createdAt'> & { createdAt: Date })[]>`
    select c.kind, a.slug as "agency", c.prefix, c.name, c.created_at as "createdAt"
    from (select 'API key' as kind, agency_id, prefix, name, created_at from api_key where ${sql.unsafe(LIVE)}
          union all
          select 'access token', agency_id, prefix, name, created_at from access_token where ${sql.unsafe(LIVE)}
          union all
          select 'person', agency_id, null, name, created_at from person p where ${sql.unsafe(CAN_SIGN_IN)}) c
    join agency a using (agency_id)
    order by a.slug, c.kind desc, c.created_at`
  return rows.map(({ createdAt, ...row }) => ({ ...row, createdAt: instantText(createdAt.getTime()) }))
}

/** Each kind of what a restore gives up. What cannot be made up for is named too. */
function reportOf(
  { endpoints, bookings, sessions, keys, tokens, people, calendars, suspended, erasures }: Outcome,
  { isAccessRevoked }: { isAccessRevoked: boolean },
): readonly GivenUp[] {
  const access = (alive: string) =>
    isAccessRevoked
      ? `all were revoked: ${alive} can be used`
      : `${alive} can be used, those that were revoked since among them: revoke those again (--revoke-access revokes all)`
  return [
    { kind: 'bookings and guests', did: 'what was changed since is lost: tell the agencies' },
    { kind: 'sequence numbers', did: 'continue above any that was used' },
    { kind: 'booking versions', did: `raised above any that was used, of ${bookings} bookings` },
    { kind: 'cursors and history', did: 'have ended: partners get 410 and read everything again' },
    { kind: 'webhooks', did: `${endpoints} webhook endpoints are switched off until their agencies enable them` },
    { kind: 'webhook secrets', did: 'those that were rotated since are the former ones again: rotate them again' },
    { kind: 'sessions', did: `${sessions} sessions of the page have ended` },
    { kind: 'API keys', did: access(`${keys} API keys`) },
    { kind: 'access tokens', did: access(`${tokens} access tokens`) },
    {
      kind: 'people',
      did: isAccessRevoked
        ? `all passkeys and e-mail addresses were deleted: ${people} people can sign in`
        : `${people} people can sign in, those who were removed or had another role since among them: change those again (--revoke-access deletes all passkeys and e-mail addresses)`,
    },
    {
      kind: 'calendar addresses',
      did: isAccessRevoked
        ? `all ${calendars} were changed`
        : 'those that were changed since are the former ones again: change them again',
    },
    { kind: 'suspended agencies', did: `${suspended} are suspended: suspend again any that were suspended since then` },
    {
      kind: 'kept answers',
      did: 'those since are lost: a write that is repeated with its Idempotency-Key is made again',
    },
    { kind: 'counted requests', did: 'those since do not count towards the quotas' },
    { kind: 'erased guests', did: erasuresSentence(erasures) },
    {
      kind: 'erased texts',
      did: 'those of single bookings that were erased since are there again: erase them again (bookings erase-texts)',
    },
  ]
}

function textOf(
  { restoredTo }: Outcome,
  { report, credentials }: { report: readonly GivenUp[]; credentials: readonly LiveCredential[] },
): string {
  const printed = credentials.slice(0, PRINTED_MAX)
  const others = credentials.length - printed.length
  return [
    `The ledger has a new history. ${restoredTo === null ? 'Its log is empty' : `Its newest entry is of ${restoredTo}`}. What was lost since then:\n\n`,
    table(report, { KIND: 'kind', 'WHAT WAS DONE': 'did' }),
    ...(printed.length === 0 ? [] : ['\nThese can be used:\n\n', table(printed, CREDENTIAL_COLUMNS)]),
    ...(others === 0 ? [] : [`… and ${others} others: --json lists all.\n`]),
    '\nRun nightledger verify --database, then start the service.\n',
  ].join('')
}
