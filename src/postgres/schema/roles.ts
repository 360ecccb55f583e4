import roles from '../../../sql/roles.sql' with { type: 'text' }
import type { Sql } from '../client/connect.ts'
import { LOCK_KEY, MigrationError } from './migrate.ts'
import { MIGRATIONS } from './migrations.ts'

/** What the role of a connection is to the ledger. */
export interface ServiceRole {
  readonly name: string
  /** It owns the tables, or may do whatever their owner may: then its password is enough to rewrite the journal. */
  readonly isOwner: boolean
}

/**
 * Gives the role that serves its rights, and creates the role for reports, nightledger_read; revokes anything beyond that. To be
 * called after each migration, by the owner of the tables. Rights on a schema newer than this program stay as its migration left them.
 * @param service the user of DATABASE_URL. Nothing is granted to it if it is the owner
 * @param onStep told which statement a superuser has to run, if this role may create no roles
 * @throws MigrationError when there is no such role
 */
export async function grantRoles(
  sql: Sql,
  { service, onStep = () => {} }: { service: string; onStep?: (step: string) => void },
): Promise<void> {
  const literal = `'${service.replaceAll("'", "''")}'`
  const [role] = await sql<{ isThere: boolean }[]>`select to_regrole(quote_ident(${service})) is not null as "isThere"`
  if (role?.isThere !== true)
    throw new MigrationError(
      `Cannot grant rights to ${service}, the user of DATABASE_URL: there is no such role. Create it as a superuser: create role "${service}" login password '…';`,
    )
  // Two processes that grant at once would fail.
  await sql
    .unsafe(
      `select pg_advisory_xact_lock(${LOCK_KEY}), set_config('nightledger.service_role', ${literal}, true),
        set_config('nightledger.schema_version', '${MIGRATIONS.length}', true);\n${roles}`,
    )
    .simple()
  const [reader] = await sql<{ isThere: boolean }[]>`
    select to_regrole('nightledger_read') is not null as "isThere"`
  if (reader?.isThere !== true)
    onStep(
      'There is no role for reports, and this one may not create it. As a superuser: create role nightledger_read nologin; Then run nightledger migrate again.',
    )
}

/** A table, the service role's rights on it, and the column that it may update, if any. */
const RIGHTS = [
  ...roles.matchAll(/^ {6}\('(\w+)', {1,99}'([^'\r\n]*)', {1,99}'([^'\r\n]*)', {1,99}'[^'\r\n]*'\)/gm),
].map(([, relation = '', serves = '', locks = '']) => ({ relation, serves, locks }))

/**
 * How the rights of this connection's role differ from those that `grantRoles` grants, such as `update on booking`. Not for the
 * owner, who needs no grants.
 */
export async function rightsOf(
  sql: Sql,
): Promise<{ readonly missing: readonly string[]; readonly surplus: readonly string[] }> {
  const differing = await sql<{ right: string; isWanted: boolean }[]>`
    with rights as (
      select r.*, to_regclass('public.' || r.relation) as oid from jsonb_to_recordset(${JSON.stringify(RIGHTS)}::text::jsonb) r (relation text, serves text, locks text)
    ), held as (
      select r.relation, p.privilege, p.privilege = any (string_to_array(r.serves, ', ')) as is_wanted,
             case when p.privilege = 'usage' then has_sequence_privilege(r.oid, 'usage') else has_table_privilege(r.oid, p.privilege) end as is_held
      from rights r, unnest('{select,insert,update,delete,truncate,usage}'::text[]) p (privilege)
      where (p.privilege = 'usage') = (r.serves = 'usage')
    )
    select privilege || ' on ' || relation as "right", is_wanted as "isWanted" from held
    -- Surplus read rights are not reported: they are harmless.
    where is_wanted and is_held is not true or not is_wanted and is_held and privilege <> 'select'
    union all
    select format('update(%s) on %s', locks, relation), true from rights
    where locks <> '' and has_column_privilege(oid, locks, 'update') is not true`
  const [missing, surplus] = [true, false].map((wanted) =>
    differing.filter(({ isWanted }) => isWanted === wanted).map(({ right }) => right),
  )
  return { missing: missing ?? [], surplus: surplus ?? [] }
}

/**
 * The role of this connection.
 * @throws MigrationError when it neither owns the tables nor has the rights to serve
 */
export async function serviceRole(sql: Sql): Promise<ServiceRole> {
  // `coalesce`: of a table or a function that is not there, nothing is known.
  const [row] = await sql<(ServiceRole & { mayServe: boolean })[]>`
    select current_user::text as "name",
           coalesce((select pg_has_role(c.relowner, 'member') from pg_class c where c.oid = to_regclass('public.journal')), true) as "isOwner",
           coalesce(has_function_privilege(to_regprocedure('public.ensure_months(date)'), 'execute'), true) as "mayServe"`
  if (row === undefined) throw new Error('Cannot read the role of a connection: the database did not answer')
  const { name, isOwner, mayServe } = row
  if (!isOwner && !mayServe)
    throw new MigrationError(
      `Cannot start: the role ${name} has no rights on the tables of the ledger. Run nightledger migrate with DATABASE_URL and MIGRATION_DATABASE_URL, the owner's.`,
    )
  return { name, isOwner }
}
