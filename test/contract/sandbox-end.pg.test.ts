/** How a sandbox ends, and what becomes of everything that is in progress meanwhile (docs/design.md#sandbox). */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { shardOf } from '../../src/core/journal/shard.ts'
import { DAY_MS, systemClock } from '../../src/lib/clock.ts'
import { uuidOf } from '../../src/lib/ids.ts'
import { PostgresBookingRows } from '../../src/postgres/stores/postgres-booking-rows.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

/** A live agency with a unit, and its sandbox. */
interface World {
  readonly live: Agency
  /** The paths of the live agency, and of the sandbox. */
  readonly a: string
  readonly s: string
  /** As it is now. */
  sandbox(): Agency
}

async function makeWorld(units = 1): Promise<World> {
  const live = await service.agency()
  for (let n = 1; n <= units; n++) await service.unit(live, { slug: `unit-${n}` })
  const a = `/agencies/${live.slug}`
  expect((await service.ask(`${a}/sandbox`, undefined, { method: 'POST' })).status).toBe(201)
  return {
    live,
    a,
    s: `${a}-sandbox`,
    sandbox: () => {
      const sandbox = service.ledger.catalogue.sandboxOf(live.id)
      if (sandbox === null) throw new Error('Cannot test a sandbox: it has ended')
      return sandbox
    },
  }
}

const reset = ({ s }: World) => service.ask(`${s}/sandbox/reset`, undefined, { method: 'POST' })

describe('the holds of a sandbox that has ended', () => {
  test('are none for the hold timer: nobody can release them', async () => {
    const world = await makeWorld(4)
    const former = world.sandbox()
    const { sql } = service.database
    const [held] = await sql<{ count: number }[]>`
      select count(*)::int as count from booking where agency_id = ${uuidOf(former.id)} and hold_expires_at is not null`
    expect(held?.count).toBe(1)
    expect((await reset(world)).status).toBe(200)
    const rows = new PostgresBookingRows(sql, () => [shardOf(former.id)])
    const far = systemClock.now() + 900 * DAY_MS
    expect(await rows.expiredHolds(far, null, 100)).toEqual([])
    expect(await rows.nextExpiry(systemClock.now() - DAY_MS)).toBeNull()
  })
})
