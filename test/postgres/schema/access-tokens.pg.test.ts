/** What an installation has written before there were access tokens stays as it is, verifiable and in use. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { connect, type Sql } from '../../../src/postgres/client/connect.ts'
import { MIGRATIONS } from '../../../src/postgres/schema/migrations.ts'
import { ensureMonths } from '../../../src/postgres/stores/postgres-months.ts'
import { makeAccessToken } from '../../support/fixtures.ts'
import { openTestLedger, type TestLedger } from '../../support/ledger.ts'
import { openTestDatabaseLedger } from '../../support/open-ledger.ts'
import { CALLER, requestFor } from '../../support/samples.ts'
import { verifyDatabase } from '../../support/verify-database.ts'

const KINDS_BEFORE = "check (actor_kind in ('key', 'portal', 'system'))"

let service: TestLedger
let sql: Sql
beforeEach(async () => {
  service = await openTestLedger()
  sql = connect(service.database.url, { purpose: 'admin' })
})
afterEach(async () => {
  await sql.end({ timeout: 0 })
  await service.database.drop()
})

test('a database with a journal, keys and an audit trail gets access tokens, and its chains stay unbroken', async () => {
  const { ledger } = service
  const agency = await service.agency()
  const unit = await service.unit(agency)
  const { key } = await service.key(agency)
  await service.book(agency, unit, '2027-03-01', '2027-03-05')
  await ledger.commands.book(agency, requestFor(unit, '2027-03-01', '2027-03-05'), CALLER)
  const portal = { actor: { kind: 'portal', id: null }, route: 'PATCH /x', requestId: null } as const
  await ledger.commands.setUnit(agency, unit.id, () => ({ ...unit, name: 'Renamed' }), portal)
  await ledger.close()
  // As it was before the migration.
  await sql.unsafe(`drop table portal_session; drop function keep_sessions; drop table access_token; drop function keep_answer;
    alter table journal drop constraint journal_actor_kind_check, add constraint journal_actor_kind_check ${KINDS_BEFORE};
    alter table audit_line drop constraint audit_line_actor_kind_check, add constraint audit_line_actor_kind_check ${KINDS_BEFORE}`)
  const before = await verifyDatabase(sql)

  for (const needed of ['access_tokens', 'portal_sessions'])
    await sql.unsafe(MIGRATIONS.find(({ name }) => name === needed)?.sql ?? 'missing')
  expect(await verifyDatabase(sql)).toEqual(before)
  const next = await openTestDatabaseLedger(service.database.url)
  const current = next.catalogue.agencyById(agency.id)
  if (current === null) throw new Error('Expected the agency')
  expect(next.catalogue.keyById(agency.id, key.id)?.secretSha256).toBe(key.secretSha256)
  expect(next.catalogue.accessTokensOf(agency.id)).toEqual([])

  const { token } = await makeAccessToken(next, current, 'desk')
  const person = { actor: { kind: 'access_token', id: token.id }, route: 'POST /x', requestId: null } as const
  const booked = await next.commands.book(current, requestFor(unit, '2027-04-01', '2027-04-05'), person)
  expect(booked.kind).toBe('done')
  await next.commands.auditRefusal(current, person, 'ROLE_MISSING', null)
  await next.close()
  expect((await verifyDatabase(sql)).differences).toEqual([])
  const kinds = await sql<{ kind: string }[]>`
    select distinct actor_kind as kind from (select actor_kind from journal union all select actor_kind from audit_line) t order by 1`
  expect(kinds.map(({ kind }) => kind)).toEqual(['access_token', 'key', 'portal', 'system'])

  const stray = sql`
    insert into audit_line (at, count, agency_id, line_id, month, actor_kind, route, outcome)
    select now(), 1, agency_id, gen_random_uuid(), storage_month(now()), 'nobody', 'x', 'OK' from agency`
  expect(await stray.catch((error: { code: string }) => error.code)).toBe('23514')
})

test('the months after the migration have partitions as the ones before', async () => {
  await service.ledger.close()
  const constraints = () => sql<{ count: number }[]>`
    select count(*)::int as count from pg_constraint where conname like '%actor_kind_check' and conrelid::regclass::text like 'journal_%'`
  const before = (await constraints())[0]?.count ?? 0
  await sql`select ensure_months((now() + interval '8 months')::date)`
  await ensureMonths(sql)
  expect((await constraints())[0]?.count).toBe(before + 5)
})
