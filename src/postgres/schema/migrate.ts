import { createHash } from 'node:crypto'
import type { Sql } from '../client/connect.ts'
import { EXTENSIONS, MIGRATIONS, type Migration } from './migrations.ts'

/** The database's schema does not fit this program. The message says what to do; a retry does not help. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

/** `applied`: versions this call applied, in order. `version`: the current version of the schema, 0 for an empty one. */
type MigrationOutcome = { applied: number[]; version: number }

type Applied = { version: number; name: string; checksum: string; runsFrom: number }

/** Any constant, as long as every version of this program uses the same one. */
export const LOCK_KEY = 7_310_577_216_190_001n
const ALREADY_APPLIED_SQLSTATE = 'NL900'
const EXTENSIONS_THERE_SQLSTATE = 'NL901'
const LOCK_NOT_AVAILABLE_SQLSTATE = '55P03'
/**
 * A migration that waits for a lock also blocks every later statement, including those of the process that still serves. So
 * it gives up soon, and tries again.
 */
const LOCK_MS_MAX = 1_000
const LOCK_AGAIN_MS = 2_000
const LOCK_ATTEMPTS_MAX = 60

/**
 * Brings the schema up to date, or leaves a newer one unchanged if this program can run on it; safe to run from several processes at once. Each migration is one multi-statement simple
 * query, which Postgres runs as one transaction, so a crash leaves it applied as a whole or not at all.
 * @param sql a client of purpose `admin`: a migration may take longer than other purposes' statement timeout
 * @throws MigrationError as checkSchema, when an extension cannot be created, or when a statement fails
 */
export async function migrate(
  sql: Sql,
  {
    migrations = MIGRATIONS,
    onStep = () => {},
  }: { migrations?: readonly Migration[]; onStep?: (step: string) => void } = {},
): Promise<MigrationOutcome> {
  checkNumbers(migrations)
  await mustMayMigrate(sql, migrations)
  await createLedger(sql)
  const applied: number[] = []
  for (;;) {
    const done = await readApplied(sql)
    checkApplied(done, migrations)
    const next = migrations[done.length]
    if (next === undefined) {
      if (done.length > migrations.length)
        onStep(
          `The schema is at version ${done.length}, newer than the ${migrations.length} of this program, which runs on it`,
        )
      return { applied, version: done.length }
    }
    if (applied.length === 0) await mustHaveExtensions(sql)
    onStep(`Applying migration ${fileOf(next)}`)
    if (await apply(sql, next, onStep)) applied.push(next.version)
  }
}

/**
 * Refuses a database whose schema this program can neither use nor migrate. Writes nothing.
 * @throws MigrationError when another build made the schema, it is too new, or an applied migration was edited or is missing
 */
export async function checkSchema(sql: Sql): Promise<void> {
  checkApplied(await readIfThere(sql), MIGRATIONS)
}

/** 0 for an empty database. */
export async function schemaVersion(sql: Sql): Promise<number> {
  return (await readIfThere(sql)).length
}

async function readIfThere(sql: Sql): Promise<Applied[]> {
  const [found] = await sql<{ isThere: boolean }[]>`select to_regclass('schema_migration') is not null as "isThere"`
  return found?.isThere === true ? readApplied(sql) : []
}

/** Extensions that a migration needs and that are not installed on this server. */
export async function missingExtensions(sql: Sql): Promise<readonly string[]> {
  const available = await sql<{ name: string }[]>`select name::text as "name" from pg_available_extensions`
  return EXTENSIONS.filter((needed) => !available.some(({ name }) => name === needed))
}

/** What `schema_migration` holds for this text: SHA-256 in hex, whatever line ends the checkout has. */
function checksumOf({ sql }: Migration): string {
  return createHash('sha256').update(sql.replaceAll('\r\n', '\n')).digest('hex')
}

async function createLedger(sql: Sql): Promise<void> {
  // Under the lock, as two concurrent `create table if not exists` can both try and one then fails.
  await sql
    .unsafe(
      `select pg_advisory_xact_lock(${LOCK_KEY});
      do $$ begin
        if to_regclass('schema_migration') is null then
          create table schema_migration (
            version integer primary key,
            name text not null,
            checksum text not null,
            runs_from integer not null,
            applied_at timestamptz not null default now()
          );
        end if;
      end $$`,
    )
    .simple()
}

/** @throws MigrationError when something has to be migrated, and this role may create nothing */
async function mustMayMigrate(sql: Sql, migrations: readonly Migration[]): Promise<void> {
  const [may] = await sql<{ create: boolean; role: string; isThere: boolean }[]>`
    select coalesce(has_schema_privilege(current_schema(), 'create'), false) as "create", current_user::text as "role",
           to_regclass('schema_migration') is not null as "isThere"`
  const version = may?.isThere === true ? (await readApplied(sql)).length : 0
  if (may?.create === false && version < migrations.length)
    throw new MigrationError(
      `Cannot migrate: the schema is at version ${version}, this program needs version ${migrations.length}, and the role ${may.role} may not create tables. ` +
        "Run nightledger migrate with DATABASE_URL and MIGRATION_DATABASE_URL, the owner's.",
    )
}

async function readApplied(sql: Sql): Promise<Applied[]> {
  // Databases of builds before 1.0 do not have the column, and are refused by the checksum.
  return await sql<Applied[]>`
    select version, name, checksum, coalesce((to_jsonb(m) ->> 'runs_from')::integer, version) as "runsFrom"
    from schema_migration m order by version`
}

/**
 * Tries to create every extension that a migration needs, and rolls back: a half-migrated schema fits no program.
 * @throws MigrationError when one cannot be created; nothing was changed
 */
async function mustHaveExtensions(sql: Sql): Promise<void> {
  const creations = EXTENSIONS.map((name) => `create extension if not exists ${name};`).join(' ')
  const script = `do $$ begin
    perform pg_advisory_xact_lock(${LOCK_KEY});
    ${creations}
    raise exception 'they are there' using errcode = '${EXTENSIONS_THERE_SQLSTATE}';
  end $$`
  try {
    await sql.unsafe(script).simple()
  } catch (error) {
    if (codeOf(error) === EXTENSIONS_THERE_SQLSTATE) return
    throw new MigrationError(
      `Cannot migrate: the extensions ${EXTENSIONS.join(', ')} are needed, and one of them cannot be created: ${
        error instanceof Error ? error.message : String(error)
      }. Nothing was changed. Install PostgreSQL's contrib modules, or have the database's provider allow them.`,
      { cause: error },
    )
  }
}

/** @returns false when another process applied it first */
async function apply(sql: Sql, migration: Migration, onStep: (step: string) => void): Promise<boolean> {
  const { version, name, runsFrom } = migration
  const script = `select pg_advisory_xact_lock(${LOCK_KEY});
    do $$ begin
      if exists (select from schema_migration where version = ${version}) then
        raise exception 'already applied' using errcode = '${ALREADY_APPLIED_SQLSTATE}';
      end if;
    end $$;
    select set_config('lock_timeout', '${LOCK_MS_MAX}', true);
    ${migration.sql}
    ;insert into schema_migration (version, name, checksum, runs_from)
      values (${version}, '${name}', '${checksumOf(migration)}', ${runsFrom})`
  for (let attempt = 1; ; attempt++) {
    try {
      await sql.unsafe(script).simple()
      return true
    } catch (error) {
      if (codeOf(error) === ALREADY_APPLIED_SQLSTATE) return false
      if (codeOf(error) === LOCK_NOT_AVAILABLE_SQLSTATE && attempt < LOCK_ATTEMPTS_MAX) {
        if (attempt === 1) onStep(`Migration ${fileOf(migration)} is waiting for a lock held by another session`)
        await Bun.sleep(LOCK_AGAIN_MS)
        continue
      }
      const reason = error instanceof Error ? error.message : String(error)
      throw new MigrationError(
        `Cannot apply migration ${fileOf(migration)}: ${reason}${lineOf(error, migration, script)}. It was rolled back.`,
        { cause: error },
      )
    }
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : null
}

/** Where in its file the migration failed, if Postgres says so: it counts characters of the whole script. */
function lineOf(error: unknown, migration: Migration, script: string): string {
  const position = error instanceof Error && 'position' in error ? Number(error.position) : Number.NaN
  const offset = position - 1 - script.indexOf(migration.sql)
  if (!(offset >= 0 && offset < migration.sql.length)) return ''
  return ` (line ${migration.sql.slice(0, offset).split('\n').length})`
}

function checkNumbers(migrations: readonly Migration[]): void {
  for (const [index, migration] of migrations.entries()) {
    if (migration.version !== index + 1) {
      throw new MigrationError(
        `Cannot migrate: ${fileOf(migration)} should have number ${index + 1}. Number the files in sql/ without gaps.`,
      )
    }
    if (!/^[a-z0-9_]+$/.test(migration.name)) {
      throw new MigrationError(
        `Cannot migrate: the name of ${fileOf(migration)} may contain only lower-case letters, digits and underscores.`,
      )
    }
  }
}

function checkApplied(done: readonly Applied[], migrations: readonly Migration[]): void {
  const [first] = done
  // Builds before 1.0 had other first files: ledger, shards, or another text of the schema.
  if (first !== undefined && (first.version !== 1 || first.checksum !== checksumOfFirst(migrations))) {
    throw new MigrationError(
      'Cannot use this database: another build of nightledger made its schema, and databases of builds before 1.0 cannot be migrated. Nothing was changed.\n' +
        '- To start without its data, set DATABASE_URL to a new, empty database. Without DATABASE_URL, set DATA_DIR to a new folder.\n' +
        '- To take its data along, first start the build that made it, and run nightledger export FOLDER --agency SLUG for each agency. ' +
        'Then start this one on the new database, and run nightledger import FOLDER for each. An export has units, rates, fees, guests and bookings; ' +
        'API keys, access tokens, webhook endpoints, the audit trail and the history of changes are not in it.',
    )
  }
  const last = done.at(-1)?.version ?? 0
  const tooNew = done.find(({ version, runsFrom }) => version > migrations.length && runsFrom > migrations.length)
  if (tooNew !== undefined) {
    throw new MigrationError(
      `Cannot start on this database: its schema is at version ${last}, and only programs that know version ${tooNew.runsFrom} or newer run on it; this one knows ${migrations.length}. Start the newer program that migrated it, or set DATABASE_URL to another database.`,
    )
  }
  for (const [index, row] of done.entries()) {
    const migration = migrations[index]
    if (row.version !== index + 1) {
      throw new MigrationError(
        `Cannot migrate: schema_migration lacks version ${index + 1} but has ${row.version}. Restore that row, or the database from a backup.`,
      )
    }
    if (migration !== undefined && row.checksum !== checksumOf(migration)) {
      throw new MigrationError(
        `Cannot migrate: ${fileOf(migration)} differs from what was applied to this database as version ${row.version} (${row.name}). Restore the file, and make the change in a new migration.`,
      )
    }
  }
}

function checksumOfFirst([first]: readonly Migration[]): string | null {
  return first === undefined ? null : checksumOf(first)
}

function fileOf({ version, name }: Migration): string {
  return `${String(version).padStart(3, '0')}_${name}.sql`
}
