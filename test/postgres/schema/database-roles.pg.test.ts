import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { runCli } from '../../../src/cli/run-cli.ts'
import { connect, type Sql } from '../../../src/postgres/client/connect.ts'
import { grantRoles, serviceRole } from '../../../src/postgres/schema/roles.ts'
import { ensureMonths } from '../../../src/postgres/stores/postgres-months.ts'
import { makeDeliveries } from '../../events/webhooks/support/make-deliveries.ts'
import { makeAccessToken, makeKey } from '../../support/fixtures.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../../support/open-ledger.ts'
import { serverUrl } from '../../support/postgres.ts'
import { insertEndpoint } from '../../support/sample-rows.ts'
import { CALLER, requestFor, sampleId, sampleUnit } from '../../support/samples.ts'
import { fencesOf, sectionOf } from '../../support/shell-blocks.ts'
import { verifyDatabase } from '../../support/verify-database.ts'
import { bookedId } from '../../verify/support/lived-ledger.ts'

/*
 * The SQL of "Database roles" in docs/operating.md, under names of this run: roles belong to the whole server.
 */

const NAME = `nightledger_${randomBytes(6).toString('hex')}`
const [ROLES = '', REPORT = '', MOVE = '', NEW_PASSWORD = ''] = fencesOf(
  sectionOf(readFileSync('docs/operating.md', 'utf8'), 'Database roles'),
)
  .filter(({ info }) => info === 'sql')
  .map(({ text }) =>
    text
      .replaceAll(/\bnightledger(?=\b|_service)/g, NAME)
      .replaceAll(/\breport\b/g, `${NAME}_report`)
      // The server of the tests has it already.
      .replace('create role nightledger_read nologin;\n', ''),
  )

function urlOf(user: string, password: string): string {
  return Object.assign(new URL(serverUrl(NAME)), { username: user, password }).href
}
const OWNER = urlOf(NAME, 'owner-password')
const SERVICE = urlOf(`${NAME}_service`, 'service-password')
const READER = urlOf(`${NAME}_report`, `${NAME}_report-password`)

/** What sql/roles.sql says of a table. */
interface Line {
  readonly relation: string
  readonly serves: readonly string[]
  readonly locks: string
  /** `*`: all. */
  readonly reports: readonly string[]
}

const LINES: readonly Line[] = [
  ...readFileSync('sql/roles.sql', 'utf8').matchAll(/^ +\('(\w+)', +'([^']*)', +'([^']*)', +'([^']*)'\)/gm),
].map(([, relation = '', serves = '', locks = '', reports = '']) => ({
  relation,
  serves: serves.split(', '),
  locks,
  reports: reports === '' ? [] : reports.split(', '),
}))

/** Whose rows may be added and never changed. */
const INSERT_ONLY = ['audit_line', 'checkpoint', 'checkpoint_key', 'journal', 'webhook_attempt']
/** What is a secret, is about a person, or was written by a caller as it liked. */
const CONFIDENTIAL =
  /^(first_name|last_name|email|phone|nationality|source_ref|notes|cancel_reason|prefix|url|description|detail|disabled_reason|request_id|body|state|counts)$|secret|sealed|hmac|hash/

async function runAll(url: string, script: string): Promise<void> {
  const sql = connect(url, { purpose: 'admin' })
  // `create database` runs only on its own.
  for (const statement of script.split(';\n').filter((text) => text.trim() !== '')) await sql.unsafe(statement)
  await sql.end({ timeout: 1 })
}

async function migrate(env: Record<string, string>): Promise<{ code: number; output: string }> {
  let output = ''
  const write = (text: string) => {
    output += text
  }
  const code = await runCli(['migrate'], { env, isTty: false, out: write, err: write, readInput: async () => '' })
  return { code, output }
}

interface Relation {
  readonly name: string
  /** Of a month; null: it is none. */
  readonly table: string | null
  readonly kind: string
  readonly columns: readonly string[]
}

/** Every table, month and sequence that the catalogue has. Sequences of identity columns need no rights. */
async function relations(): Promise<readonly Relation[]> {
  return await owner<Relation[]>`
    select c.relname::text as "name", i.inhparent::regclass::text as "table", c.relkind::text as "kind",
           coalesce((select jsonb_agg(a.attname order by a.attnum) from pg_attribute a
                     where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped), '[]') as "columns"
    from pg_class c left join pg_inherits i on i.inhrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'S', 'v', 'm')
      and not exists (select from pg_depend d where d.objid = c.oid and (d.deptype = 'e' or d.deptype = 'i' and c.relkind = 'S'))
    order by c.relname`
}

async function outcomeOf(sql: Sql, statement: string): Promise<'may' | 'may not' | string> {
  return sql.unsafe(statement).then(
    () => 'may',
    ({ code, message }) => (code === '42501' ? 'may not' : message),
  )
}

let owner: Sql
let service: Sql
let reader: Sql
beforeAll(async () => {
  await runAll(serverUrl(), ROLES)
  await runAll(serverUrl(), REPORT)
  expect(await migrate({ DATABASE_URL: SERVICE, MIGRATION_DATABASE_URL: OWNER })).toMatchObject({ code: 0 })
  owner = connect(OWNER, { purpose: 'admin' })
  service = connect(SERVICE, { purpose: 'queries' })
  reader = connect(READER, { purpose: 'queries' })
})
afterAll(async () => {
  for (const sql of [owner, service, reader]) await sql.end({ timeout: 1 })
  const roles = ['', '_service', '_report'].map((suffix) => `drop role ${NAME}${suffix};\n`)
  await runAll(serverUrl(), `drop database ${NAME} with (force);\n${roles.join('')}`)
})

test('every table has its line in sql/roles.sql, and every line its table', async () => {
  const names = (await relations()).filter(({ table }) => table === null).map(({ name }) => name)
  expect(LINES.map(({ relation }) => relation).sort()).toEqual(names.sort())
})

test('the service books, makes deliveries and makes months, is no superuser and owns nothing', async () => {
  const ledger = await openTestDatabaseLedger(SERVICE)
  const agency = await addAgency(ledger)
  const unit = await addUnit(ledger, agency, sampleUnit())
  bookedId(await ledger.commands.book(agency, requestFor(unit, '2030-01-01', '2030-01-03'), CALLER))
  await makeDeliveries(SERVICE, ledger.epoch)
  await ledger.close()
  expect(ledger.reports.failures).toEqual([])
  expect((await verifyDatabase(service)).differences).toEqual([])
  const [role] = await service`
    select rolsuper, rolcreaterole, rolcreatedb, (select count(*)::int from pg_class where relowner = r.oid) as owned
    from pg_roles r where rolname = current_user`
  expect({ ...role }).toEqual({ rolsuper: false, rolcreaterole: false, rolcreatedb: false, owned: 0 })
  expect(await serviceRole(service)).toEqual({ name: `${NAME}_service`, isOwner: false })
  expect(await serviceRole(owner)).toEqual({ name: NAME, isOwner: true })
})

describe('on every table and every month', () => {
  test('the service may do what its line says, and neither drop, truncate, alter nor grant anything', async () => {
    const faults: string[] = []
    const privileges = () => owner`
      select jsonb_agg(c.relname || c.relacl::text order by c.relname) as "acl" from pg_class c
      where c.relnamespace = 'public'::regnamespace`
    const before = await privileges()
    for (const { name, table, kind, columns } of await relations()) {
      const line = LINES.find(({ relation }) => relation === name)
      const expectIt = async (verb: string, statement: string, may: boolean) => {
        const outcome = await outcomeOf(service, statement)
        if (outcome !== (may ? 'may' : 'may not')) faults.push(`${verb} ${name}: ${outcome}`)
      }
      const has = (verb: string) => table === null && line?.serves.includes(verb) === true
      if (kind === 'S') {
        await expectIt('drop', `drop sequence ${name}`, false)
        continue
      }
      await expectIt('select', `select from ${name} limit 1`, has('select'))
      await expectIt('insert', `insert into ${name} select * from ${name} where false`, has('insert') && has('select'))
      await expectIt('delete', `delete from ${name}`.concat(has('delete') ? ' where false' : ''), has('delete'))
      for (const column of columns) {
        const may = has('update') || column === line?.locks
        await expectIt(`update ${column} of`, `update ${name} set "${column}" = "${column}" where false`, may)
      }
      for (const statement of [
        ...[`truncate ${name}`, `drop table ${name}`, `alter table ${name} add column x int`],
        ...[`alter table ${name} disable trigger all`, `alter table ${name} owner to current_user`],
        ...[`create index on ${name} ((1))`, `create rule r as on insert to ${name} do instead nothing`],
        ...[`create trigger t before insert on ${name} execute function suppress_redundant_updates_trigger()`],
        ...(table === null ? [] : [`alter table ${table} detach partition ${name}`]),
      ])
        await expectIt(statement, statement, false)
      // One that has a right but may not pass it on gets a warning only.
      await service.unsafe(`grant all on ${name} to public`).catch(() => {})
    }
    expect(faults).toEqual([])
    expect(await privileges()).toEqual(before)
  })

  test('what is insert-only for the service can be changed by no statement of its own', async () => {
    for (const { relation, serves, locks } of LINES)
      if (INSERT_ONLY.includes(relation))
        expect({ relation, serves, locks }).toMatchObject({ serves: ['select', 'insert'], locks: '' })
    expect(await outcomeOf(service, 'create table x ()')).toBe('may not')
    expect(await outcomeOf(service, 'create schema x')).toBe('may not')
  })

  test('the role for reports reads the columns of its line and changes nothing', async () => {
    const faults: string[] = []
    for (const { name, table, kind, columns } of (await relations()).filter(({ kind }) => kind !== 'S')) {
      const reports = table === null ? (LINES.find(({ relation }) => relation === name)?.reports ?? []) : []
      for (const column of columns) {
        const may = reports.includes(column) || reports[0] === '*'
        const outcome = await outcomeOf(reader, `select "${column}" from ${name} limit 1`)
        if (outcome !== (may ? 'may' : 'may not')) faults.push(`${name}.${column}: ${outcome}`)
        if (may && CONFIDENTIAL.test(column) && name !== 'schema_migration')
          faults.push(`${name}.${column} is confidential`)
      }
      for (const statement of [
        `delete from ${name}`,
        `truncate ${name}`,
        `insert into ${name} default values`,
        `drop table ${name}`,
      ])
        if ((await outcomeOf(reader, statement)) !== 'may not') faults.push(`${statement} (${kind})`)
    }
    expect(faults).toEqual([])
  })
})

test('a right that only serves to lock rows changes none, and a line of refusals only grows', async () => {
  const shards = () => owner`select jsonb_agg(to_jsonb(s) order by s.shard) as shards from shard s`
  const before = await shards()
  for (const change of ['shard + 1', '255 - shard', '256', '-1', 'null'])
    expect([change, await outcomeOf(service, `update shard set shard = ${change}`)]).not.toEqual([change, 'may'])
  expect(await shards()).toEqual(before)
  await service`insert into secret_key_check (hmac) values ('x') on conflict do nothing`
  for (const change of ['false', 'null'])
    expect(await outcomeOf(service, `update secret_key_check set is_only = ${change}`)).not.toBe('may')
  const countOf = async (count: number) => {
    await service.unsafe(`select keep_refusals(array[row('00000000-0000-4000-8000-000000000001',
      '00000000-0000-4000-8000-000000000002', now(), 'system', null, 'GET /', 'OK', null, null, null, ${count})::audit_row])`)
    const [row] =
      await owner`select count::int as count from audit_line where line_id = '00000000-0000-4000-8000-000000000002'`
    return row?.['count']
  }
  expect([await countOf(3), await countOf(5), await countOf(1)]).toEqual([3, 5, 5])
})

test('nothing that the role for reports can read says who a guest is, or holds a secret', async () => {
  const ledger = await openTestDatabaseLedger(SERVICE)
  const agency = await addAgency(ledger, { id: sampleId('agc', 'marked'), slug: 'marked' })
  const unit = await addUnit(ledger, agency, sampleUnit({ id: sampleId('unt', 'marked') }))
  const guest = { firstName: 'MARK1', lastName: 'MARK2', email: 'mark3@example.com', phone: '+4', nationality: 'PT' }
  const request = { ...requestFor(unit, '2031-01-01', '2031-01-03', { guest }), sourceRef: 'MARK6', notes: 'MARK7' }
  const bookingId = bookedId(await ledger.commands.book(agency, request, { ...CALLER, requestId: 'MARK8' }))
  await ledger.commands.cancel(agency, { bookingId, reason: 'MARK9' }, CALLER)
  const { secret: key } = await makeKey(ledger, agency, { name: 'MARK10' })
  const { secret: token } = await makeAccessToken(ledger, agency, 'owner', { name: 'MARK11' })
  await ledger.close()
  await insertEndpoint(owner, { agencyId: agency.id, endpointId: sampleId('whe', 'marked'), sealed: 'MARK12' })
  await owner`update webhook_endpoint set url = 'https://hooks.example/MARK13', description = 'MARK14'`

  const rowsOf = async (sql: Sql, { name, columns }: { name: string; columns: readonly string[] }) =>
    columns.length === 0
      ? ''
      : JSON.stringify(await sql.unsafe(`select ${columns.map((c) => `"${c}"`).join()} from ${name}`))
  let readable = ''
  let stored = ''
  for (const relation of (await relations()).filter(({ table, kind }) => table === null && kind !== 'S')) {
    const { reports = [] } = LINES.find((line) => line.relation === relation.name) ?? {}
    readable += await rowsOf(reader, { ...relation, columns: reports[0] === '*' ? relation.columns : reports })
    stored += await rowsOf(owner, relation)
  }
  const marks = [...Array(14).keys()]
    .map((i) => `MARK${i + 1}`)
    .filter((mark) => !['MARK3', 'MARK4', 'MARK5'].includes(mark))
  for (const mark of [...marks, 'mark3@']) expect(stored).toContain(mark)
  for (const mark of [...marks, 'mark3@', key, token, key.slice(0, 12), token.slice(0, 12)])
    expect([mark, readable.includes(mark)]).toEqual([mark, false])
})

test('functions that run with the rights of the owner have a fixed search path, and only those of the service are its to call', async () => {
  const functions = await owner<{ name: string; path: string | null; isPublic: boolean; isService: boolean }[]>`
    select p.proname::text as "name", (select c from unnest(p.proconfig) c where c like 'search_path=%') as "path",
           has_function_privilege('public', p.oid, 'execute') as "isPublic",
           has_function_privilege(${`${NAME}_service`}, p.oid, 'execute') as "isService"
    from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prosecdef order by p.proname`
  expect(functions.length).toBeGreaterThan(0)
  for (const { path, isPublic } of functions)
    expect({ path, isPublic }).toEqual({ path: 'search_path=public, pg_temp', isPublic: false })
  expect(functions.filter(({ isService }) => !isService).map(({ name }) => name)).toEqual(['retire_month'])
  for (const call of ["retire_month('2020-01-01')", 'after_restore()', "rotate_secret_key(null, '', 0, '[]', '[]')"])
    expect([call, await outcomeOf(service, `select ${call}`)]).toEqual([call, 'may not'])
  // A table of its own in the place of ours is not what they change.
  await service
    .unsafe(
      `create temporary table shard as select * from public.shard; update pg_temp.shard set epoch = 0; select take_over('mine')`,
    )
    .simple()
  const [{ epochs } = {}] = await owner`select min(epoch)::int as epochs from public.shard`
  expect(epochs).toBeGreaterThan(0)
})

test('months are made by the service and belong to the owner, with no rights of anybody else', async () => {
  const [{ newest } = {}] = await owner`select newest_month::text as newest from ledger`
  const suffix = String(newest).slice(0, 7).replace('-', '_')
  for (const table of ['journal', 'audit_line', 'webhook_delivery', 'webhook_attempt'])
    await owner.unsafe(`drop table ${table}_${suffix}`)
  await owner`update ledger set newest_month = newest_month - interval '1 month'`
  expect(await ensureMonths(service)).toBe(newest)
  const made = await owner`
    select relowner::regrole::text as "owner", relacl::text as "acl" from pg_class where relname = ${`journal_${suffix}`}`
  expect(made.map((row) => ({ ...row }))).toEqual([{ owner: NAME, acl: null }])
})

test('migrate takes away what was granted by hand and by default, and touches nothing if nothing differs', async () => {
  const grants = `${NAME}_service`
  await owner.unsafe(`grant update, delete on journal to ${grants}`)
  await owner.unsafe(`grant select on guest to nightledger_read`)
  await owner.unsafe(`alter default privileges in schema public grant select, update, delete on tables to ${grants}`)
  await owner.unsafe(`create table made_later ()`)
  await grantRoles(owner, { service: grants })
  for (const statement of ['update journal set seq = 1', 'delete from journal', 'select from made_later'])
    expect([statement, await outcomeOf(service, statement)]).toEqual([statement, 'may not'])
  expect(await outcomeOf(reader, 'select email from guest')).toBe('may not')
  await owner.unsafe('drop table made_later; create table made_later ()')
  expect(await outcomeOf(service, 'select from made_later')).toBe('may not')
  await owner.unsafe('drop table made_later')

  const versions = () =>
    owner`select jsonb_agg(xmin::text order by oid) as xmins from pg_class where relkind in ('r', 'p', 'S')`
  const before = await versions()
  await grantRoles(owner, { service: grants })
  expect(await versions()).toEqual(before)
})

test('a program that is older than the schema takes no right away, which newer ones need', async () => {
  const grant = () => grantRoles(owner, { service: new URL(SERVICE).username })
  await owner.unsafe(`create table added_later (); grant select on added_later to ${NAME}_service`)
  await owner`
    insert into schema_migration (version, name, checksum, runs_from)
    select max(version) + 1, 'added_later', 'x', 1 from schema_migration`
  await grant()
  expect(await outcomeOf(service, 'select from added_later')).toBe('may')
  await owner`delete from schema_migration where name = 'added_later'`
  await grant()
  expect(await outcomeOf(service, 'select from added_later')).toBe('may not')
  await owner`drop table added_later`
})

test('a role that does not exist, one without rights, and two databases are refused with what to do', async () => {
  const nobody = { DATABASE_URL: urlOf('nobody', 'x'), MIGRATION_DATABASE_URL: OWNER }
  const { code, output } = await migrate(nobody)
  expect([code, output]).toEqual([1, expect.stringContaining('create role "nobody" login password')])
  expect(await migrate({ ...nobody, DATABASE_URL: serverUrl('other') })).toMatchObject({
    code: 2,
    output: expect.stringContaining('name different databases'),
  })
  expect(await serviceRole(reader).catch(({ message }) => message)).toContain(
    'has no rights on the tables of the ledger',
  )
})

test('an installation with one role gets a second one and keeps the first as the owner', async () => {
  const admin = connect(serverUrl(NAME), { purpose: 'admin' })
  await service.end({ timeout: 1 })
  await admin.unsafe(`drop owned by ${NAME}_service; drop role ${NAME}_service`)
  expect(await migrate({ DATABASE_URL: OWNER })).toMatchObject({ code: 0 })
  await admin.end({ timeout: 1 })
  await runAll(serverUrl(), MOVE)
  expect(await migrate({ DATABASE_URL: SERVICE, MIGRATION_DATABASE_URL: OWNER })).toMatchObject({ code: 0 })
  await runAll(serverUrl(), NEW_PASSWORD)
  service = connect(SERVICE, { purpose: 'queries' })
  expect(await outcomeOf(service, 'insert into journal select * from journal where false')).toBe('may')
  expect(await outcomeOf(service, 'delete from journal')).toBe('may not')
  const former = connect(OWNER, { purpose: 'admin' })
  expect(await former`select 1`.catch(({ code }) => code)).toBe('28P01')
  await former.end({ timeout: 1 })
})
