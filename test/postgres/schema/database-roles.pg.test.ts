import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { runCli } from '../../../src/cli/run-cli.ts'
import { connect, type Sql } from '../../../src/postgres/client/connect.ts'
import { ensureMonths } from '../../../src/postgres/stores/postgres-months.ts'
import { makeDeliveries } from '../../events/webhooks/support/make-deliveries.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../../support/open-ledger.ts'
import { serverUrl } from '../../support/postgres.ts'
import { CALLER, requestFor, sampleUnit } from '../../support/samples.ts'
import { fencesOf, sectionOf } from '../../support/shell-blocks.ts'
import { verifyDatabase } from '../../support/verify-database.ts'
import { bookedId } from '../../verify/support/lived-ledger.ts'

/*
 * The SQL of "Two database roles" in docs/operating.md, under names of this run: roles belong to the whole server.
 */

const NAME = `nightledger_${randomBytes(6).toString('hex')}`
const [ROLES = '', PRIVILEGES = ''] = fencesOf(
  sectionOf(readFileSync('docs/operating.md', 'utf8'), 'Two database roles'),
).map(({ text }) => text.replaceAll(/\bnightledger(?=\b|_owner)/g, NAME))

function urlOf(user: string, password: string): string {
  return Object.assign(new URL(serverUrl(NAME)), { username: user, password }).href
}
const OWNER = urlOf(`${NAME}_owner`, 'owner-password')
const SERVICE = urlOf(NAME, 'service-password')

/** As a superuser. `create database` runs only on its own. */
async function runAll(url: string, script: string): Promise<void> {
  const sql = connect(url, { purpose: 'admin' })
  for (const statement of script.split(';\n').filter((text) => text.trim() !== '')) await sql.unsafe(statement)
  await sql.end({ timeout: 1 })
}

async function migrate(): Promise<void> {
  let output = ''
  const write = (text: string) => {
    output += text
  }
  const terminal = { env: { DATABASE_URL: OWNER }, isTty: false, out: write, err: write, readInput: async () => '' }
  expect([await runCli(['migrate'], terminal), output]).toEqual([0, output])
}

let sql: Sql
beforeAll(async () => {
  await runAll(serverUrl(), ROLES)
  await runAll(serverUrl(NAME), PRIVILEGES)
  await migrate()
  sql = connect(SERVICE, { purpose: 'queries' })
})
afterAll(async () => {
  await sql.end({ timeout: 1 })
  await runAll(serverUrl(), `drop database ${NAME} with (force);\ndrop role ${NAME}_owner;\ndrop role ${NAME};\n`)
})

test('the role of the service books, makes deliveries and verifies, is no superuser and owns nothing', async () => {
  const ledger = await openTestDatabaseLedger(SERVICE)
  const agency = await addAgency(ledger)
  const unit = await addUnit(ledger, agency, sampleUnit())
  bookedId(await ledger.commands.book(agency, requestFor(unit, '2030-01-01', '2030-01-03'), CALLER))
  await makeDeliveries(SERVICE, ledger.epoch)
  await ledger.close()
  expect(ledger.reports.failures).toEqual([])
  expect((await verifyDatabase(sql)).differences).toEqual([])
  await sql`select after_restore()`
  const [role] = await sql`
    select rolsuper, rolcreaterole, rolcreatedb, (select count(*)::int from pg_class where relowner = r.oid) as owned
    from pg_roles r where rolname = current_user`
  expect({ ...role }).toEqual({ rolsuper: false, rolcreaterole: false, rolcreatedb: false, owned: 0 })
})

test.each(['drop table journal', 'alter table booking add column x int', 'create table x ()', 'truncate journal'])(
  'the role of the service may not: %s',
  async (statement) => {
    expect(await sql.unsafe(statement).catch(({ code }) => code)).toBe('42501')
  },
)

test('the tables of coming months are made by migrate, and not by the service', async () => {
  const owner = connect(OWNER, { purpose: 'admin' })
  const [{ newest } = {}] = await owner`select newest_month::text as newest from ledger`
  const suffix = String(newest).slice(0, 7).replace('-', '_')
  for (const table of ['journal', 'audit_line', 'webhook_delivery', 'webhook_attempt'])
    await owner.unsafe(`drop table ${table}_${suffix}`)
  await owner`update ledger set newest_month = newest_month - interval '1 month'`
  await owner.end({ timeout: 1 })
  expect(await ensureMonths(sql).catch(({ code }) => code)).toBe('42501')
  await migrate()
  expect(await ensureMonths(sql)).toBe(newest)
})
