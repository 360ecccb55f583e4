import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { Sql } from '../../src/postgres/client/connect.ts'
import { eventually } from '../support/eventually.ts'
import { FaultPostgres } from '../support/fault-postgres.ts'
import { expectCalendarOfRows, expectNothingLost, Load, prepareForLoad } from '../support/load.ts'
import { type ServiceProcess, startServiceOn } from '../support/service-process.ts'

/* A fail-over as the service sees it: the reply of a commit is lost, and the next server to answer is read-only. */

let postgres: FaultPostgres
let service: ServiceProcess
let load: Load
let sql: Sql

beforeEach(async () => {
  postgres = await FaultPostgres.start()
  await prepareForLoad(postgres.url)
  service = await startServiceOn(postgres.url)
  load = new Load(() => service.baseUrl)
  sql = postgres.direct()
  // Before any session may only read.
  await sql`select 1`
})
afterEach(async () => {
  await load.stop()
  service.kill('SIGKILL')
  await sql.end({ timeout: 0 })
  await postgres.stop()
})

/** Of sessions that begin after it. */
function sessionsMayOnlyRead(state: 'on' | 'off') {
  return sql.unsafe(
    `alter database ${new URL(postgres.url).pathname.slice(1)} set default_transaction_read_only = ${state}`,
  )
}

async function readiness(): Promise<{ status: number; faults: string[] }> {
  const response = await fetch(`${service.baseUrl}/readyz`)
  const { faults } = (await response.json()) as { faults: string[] }
  return { status: response.status, faults }
}

test('a booking whose reply was lost before the server became read-only is answered as made, and sold once', async () => {
  await load.book()
  await sessionsMayOnlyRead('on')
  postgres.proxy.losesReplyTo = 'ghost'
  const stay = { unit: 'unit-1', arrival: '2035-02-01', departure: '2035-02-03' }
  const answer = load.post('/bookings', { ...stay, sourceRef: 'ghost' })
  await eventually('the reply is lost', () => postgres.proxy.lost === 1)
  expect(await sql`select from booking where source_ref = 'ghost'`).toHaveLength(1)

  // Every session of the service begins again, and none may write.
  postgres.proxy.cutAll()
  await eventually('it says that the database is read-only', async () => {
    const { status, faults } = await readiness()
    return status === 503 && faults.some((fault) => fault.includes('read-only'))
  })
  const behind = load.post('/bookings', { ...stay, unit: 'unit-2', sourceRef: 'behind' })
  expect(await Promise.race([answer.then(() => 'answered'), Bun.sleep(1_000).then(() => 'open')])).toBe('open')

  await sessionsMayOnlyRead('off')
  // The server's readers stay read-only until they are cut, as those of a standby do when it is promoted.
  postgres.proxy.cutAll()
  expect((await answer).status).toBe(201)
  const later = await behind
  const [written] = await sql`select count(*)::int as n from booking where source_ref = 'behind'`
  expect([later.status, written?.['n']]).toEqual(later.status === 201 ? [201, 1] : [500, 0])

  await eventually('it is ready', async () => (await readiness()).status === 200)
  expect((await load.post('/bookings', stay)).status).toBe(409)
  load.start(8)
  await eventually('it sells', () => load.booked.size > 20)
  await load.stop()
  expect(await sql`select from booking where source_ref = 'ghost'`).toHaveLength(1)
  await expectNothingLost(sql, load)
  await expectCalendarOfRows(sql, load)
  service.kill('SIGTERM')
  expect(await service.exited).toBe(0)
})

test('a server that is read-only from the start is refused in a sentence, and the writer it has is left alone', async () => {
  await sessionsMayOnlyRead('on')
  const refused = await startServiceOn(postgres.url).catch((error: Error) => error.message)
  expect(refused).toContain('It does not accept writes: the session is read-only (transaction_read_only is on)')
  await sessionsMayOnlyRead('off')
  await load.book()
})
