/** The checker of the fault rows sees every kind of lie. The lies are made by hand: the service does not tell any. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { connect, type Sql } from '../../src/postgres/client/connect.ts'
import { ClusterLoad, type Outcome } from '../support/cluster/load.ts'
import { judge, liesOf, STALE_MS_MAX, type Told } from '../support/cluster/oracle.ts'
import { eventually } from '../support/eventually.ts'
import { openTestLedger, type TestLedger } from '../support/ledger.ts'
import { CALLER, requestFor } from '../support/samples.ts'

let service: TestLedger
let sql: Sql
const outcomes = new Map<string, Outcome>()
const cancelled = new Set<string>()
const reported: Told = { outcomes, cancelled, refusals: new Map(), followers: [], stalestMs: 0 }

/** Three bookings of one unit, acknowledged. */
beforeEach(async () => {
  service = await openTestLedger()
  sql = connect(service.database.url, { purpose: 'admin' })
  outcomes.clear()
  cancelled.clear()
  const agency = await service.agency()
  const unit = await service.unit(agency)
  for (const month of ['03', '04', '05']) {
    const pending = { ...requestFor(unit, `2027-${month}-01`, `2027-${month}-05`), sourceRef: `ref-${month}` }
    expect((await service.ledger.commands.book(agency, pending, CALLER)).kind).toBe('done')
    outcomes.set(`ref-${month}`, 'made')
  }
  await service.ledger.close()
})
afterEach(async () => {
  await sql.end({ timeout: 0 })
  await service.database.drop()
})

test('what was told, and is so, is no lie', async () => {
  expect(liesOf(await judge(sql, reported))).toEqual([])
})

test('a booking that was acknowledged and is not there is lost', async () => {
  outcomes.set('ref-never', 'made')
  const verdict = await judge(sql, reported)
  expect([verdict.lost, ...liesOf(verdict)]).toEqual([1, 'lost'])
})

test('a booking that was refused and is there is a lie', async () => {
  outcomes.set('ref-04', 'refused')
  expect(liesOf(await judge(sql, reported))).toEqual(['refusedAndPresent'])
})

test('two bookings of the same nights are sold twice', async () => {
  await sql.unsafe(`alter table booking drop constraint booking_night_sold_once;
    update booking set arrival = '2027-03-04', departure = '2027-03-08' where source_ref = 'ref-04'`)
  const verdict = await judge(sql, reported)
  expect(verdict.soldTwice).toBe(1)
  expect(liesOf(verdict)).toContain('soldTwice')
})

test('a request that made two bookings is noticed', async () => {
  await sql`update booking set source_ref = 'ref-03' where source_ref = 'ref-04'`
  outcomes.delete('ref-04')
  expect(liesOf(await judge(sql, reported))).toContain('madeTwice')
})

test('a cancellation that was acknowledged and is not there is noticed', async () => {
  const [row] = await sql<{ id: string }[]>`select booking_id as "id" from booking where source_ref = 'ref-03'`
  cancelled.add(`bkg_${row?.id.replaceAll('-', '')}`)
  expect(liesOf(await judge(sql, reported))).toEqual(['uncancelled'])
})

test.each([
  ['at the start of what is there', 'min'],
  ['within it', 'max'],
])('a number that is missing in a log, %s, is a gap', async (_, which) => {
  const removed = which === 'min' ? 'min(seq)' : 'max(seq) - 1'
  await sql.unsafe(`delete from journal j using (select shard, ${removed} as seq from journal group by shard) gone
    where j.shard = gone.shard and j.seq = gone.seq`)
  const verdict = await judge(sql, reported)
  expect(verdict.gaps).toBe(1)
  expect(liesOf(verdict)).toContain('gaps')
})

test('a node that does not show what was acknowledged before is stale', async () => {
  const node = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) =>
      request.method === 'POST'
        ? Response.json({ booking: { id: 'bkg_0' } }, { status: 201 })
        : Response.json({ blockedNights: [], changes: [], cursor: 'start' }),
  })
  const load = new ClusterLoad(node.url.origin, [node.url.origin], { writers: 1, readers: 4, pauseMs: 20 })
  load.start()
  await eventually('a read is too old', () => load.stalestMs > STALE_MS_MAX)
  await load.stop()
  for (const { follower } of load.followers) await follower.stop()
  await node.stop(true)
  expect(load.staleReads).toBeGreaterThan(0)
  expect(liesOf(await judge(sql, { ...reported, stalestMs: load.stalestMs }))).toEqual(['stalestMs'])
})
