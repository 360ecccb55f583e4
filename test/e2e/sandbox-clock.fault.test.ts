import { afterAll, expect, test } from 'bun:test'
import { DAY_MS, HOUR_MS, instantText } from '../../src/lib/clock.ts'
import { systemIds, uuidOf } from '../../src/lib/ids.ts'
import { eventually } from '../support/eventually.ts'
import { makeKey } from '../support/fixtures.ts'
import { holding } from '../support/held-lock.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../support/open-ledger.ts'
import { testDatabase } from '../support/postgres.ts'
import { AMPLE_PLAN, CALLER, requestFor, sampleUnit } from '../support/samples.ts'
import { type ServiceProcess, startServiceOn } from '../support/service-process.ts'
import { verifyDatabase } from '../support/verify-database.ts'

const START = Date.UTC(2050, 2, 1)
const UNITS = 10
const HOLDS_OF_EACH = 100

const database = await testDatabase()
afterAll(() => database.drop())

/** A sandbox with a thousand holds, one for each hour. */
async function sandbox(): Promise<{ agencyId: string; key: string }> {
  const ledger = await openTestDatabaseLedger(database.url)
  const agency = await addAgency(ledger, {
    id: systemIds('agc'),
    plan: AMPLE_PLAN,
    clock: { now: START, target: START },
  })
  const { secret } = await makeKey(ledger, agency)
  const date = (days: number) => instantText(START + days * DAY_MS).slice(0, 10)
  for (let i = 0; i < UNITS; i++) {
    const id = systemIds('unt')
    const unit = await addUnit(ledger, agency, sampleUnit({ id, slug: id.replace('_', '-') }))
    const hold = (j: number) =>
      requestFor(unit, date(j), date(j + 1), { status: 'option', holdHours: 1 + j * UNITS + i })
    await Promise.all(Array.from({ length: HOLDS_OF_EACH }, (_, j) => ledger.commands.book(agency, hold(j), CALLER)))
  }
  await ledger.close()
  return { agencyId: agency.id, key: secret }
}

test('kill -9 in the middle of a move: the next process finishes it, and every hold lapses once, at its moment and in order', async () => {
  const { agencyId, key } = await sandbox()
  const shown: number[] = []
  let service = await startServiceOn(database.url)
  const clock = async (of: ServiceProcess) => {
    const { body } = await of.ask('/partner/v1/test/clock', { token: key })
    shown.push(Date.parse(body.now))
    return body as { now: string; status: string }
  }
  // So that the move is in the middle for as long as it takes to kill the process.
  const middle = instantText(START + (UNITS * HOLDS_OF_EACH * HOUR_MS) / 2)
  const release = await holding(
    database.url,
    `select from booking where agency_id = '${uuidOf(agencyId)}' and hold_expires_at = '${middle}' for update`,
  )
  const target = instantText(START + 60 * DAY_MS)
  const moved = await service.ask('/partner/v1/test/clock', { token: key, json: { now: target } })
  expect(moved.status).toBe(202)
  await eventually('the clock is on its way', async () => Date.parse((await clock(service)).now) > START)
  service.kill('SIGKILL')
  await service.exited
  await release()

  const [before] = await database.sql<{ left: number }[]>`
    select count(*)::int as left from booking where agency_id = ${uuidOf(agencyId)} and status = 'option'`
  expect(before?.left).toBeGreaterThan(0)
  service = await startServiceOn(database.url)
  await eventually('the clock has arrived', async () => (await clock(service)).status === 'ready')
  expect((await clock(service)).now).toBe(target)
  service.kill('SIGTERM')
  expect(await service.exited).toBe(0)

  const entries = await database.sql<{ at: Date }[]>`
    select at from journal where agency_id = ${uuidOf(agencyId)} and kind = 'booking_cancelled' order by seq`
  expect(entries.map(({ at }) => at.getTime())).toEqual(
    Array.from({ length: UNITS * HOLDS_OF_EACH }, (_, hours) => START + (1 + hours) * HOUR_MS),
  )
  expect(shown).toEqual(shown.toSorted((a, b) => a - b))
  expect((await verifyDatabase(database.sql)).differences).toEqual([])
}, 240_000)
