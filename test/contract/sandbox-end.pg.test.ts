/** How a sandbox ends, and what becomes of everything that is in progress meanwhile (docs/design.md#sandbox). */
import { describe, expect, test } from 'bun:test'
import { KeyCommands } from '../../src/accounts/key-commands.ts'
import { makeSecret } from '../../src/accounts/secrets.ts'
import { successLine } from '../../src/core/bookings/durable-writes.ts'
import { WriteError } from '../../src/core/bookings/write-error.ts'
import { type Agency, SCOPES } from '../../src/core/catalogue/agency.ts'
import { shardOf } from '../../src/core/journal/shard.ts'
import { SecretBox } from '../../src/events/webhooks/secret-box.ts'
import { DAY_MS, systemClock } from '../../src/lib/clock.ts'
import { uuidOf } from '../../src/lib/ids.ts'
import { connect } from '../../src/postgres/client/connect.ts'
import { PostgresAgencyStore } from '../../src/postgres/stores/postgres-agency-store.ts'
import { PostgresBookingRows } from '../../src/postgres/stores/postgres-booking-rows.ts'
import { eventually } from '../support/eventually.ts'
import { holding } from '../support/held-lock.ts'
import type { HttpAnswer } from '../support/http-call.ts'
import { CALLER } from '../support/samples.ts'
import { TEST_SECRET_KEY } from '../support/service-process.ts'
import { sharedTestService } from '../support/test-service.ts'

const service = await sharedTestService()

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

/** Settles once this many statements that contain the text wait for a lock. */
async function waiting(text: string, count = 1): Promise<void> {
  await eventually(`${text} waits`, async () => {
    const [row] = await service.database.sql<{ count: number }[]>`
      select count(*)::int as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like ${`%${text}%`}`
    return row?.count === count
  })
}

/**
 * Calls `meanwhile` while a reset waits in the database for its lock.
 * @param waits settles once what was called waits too
 * @returns what the two were answered
 */
async function besideReset<T>(
  world: World,
  meanwhile: () => Promise<T>,
  waits: () => Promise<void>,
): Promise<[HttpAnswer, T]> {
  const release = await holding(
    service.database.url,
    `select from shard where shard = ${shardOf(world.live.id)} for update`,
  )
  try {
    const resetting = reset(world)
    await waiting('end_sandbox')
    const other = meanwhile()
    await Promise.race([other.catch(() => {}), waits()])
    await release()
    const [answer, [settled]] = [await resetting, await Promise.allSettled([other])]
    if (settled?.status === 'rejected') throw settled.reason
    return [answer, settled?.value as T]
  } finally {
    await release().catch(() => {})
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

describe('a key that is revoked beside a reset', () => {
  const keyOf = async ({ s }: World) => {
    const { body } = await service.ask(`${s}/keys`, { name: 'Partner', scopes: ['read:units'] })
    return { id: (body['key'] as { id: string }).id, secret: String(body['secret']) }
  }
  const isRevoked = async (id: string) => {
    const [row] = await service.database.sql<{ isRevoked: boolean }[]>`
      select revoked_at is not null as "isRevoked" from api_key where key_id = ${uuidOf(id)}`
    return row?.isRevoked === true
  }

  test('is revoked for good, in the sandbox that has it now', async () => {
    const world = await makeWorld()
    const key = await keyOf(world)
    const revoking = () => service.delete(`${world.s}/keys/${key.id}`)
    const [wasReset, revoked] = await besideReset(world, revoking, () => waiting('update api_key'))
    expect([wasReset.status, revoked.status]).toEqual([200, 200])
    expect((await service.call('/me', { key: key.secret })).status).toBe(401)
    expect(await isRevoked(key.id)).toBe(true)
  })

  test('is so too when the sandbox was reset while an earlier answer to the request was looked for', async () => {
    const world = await makeWorld()
    const key = await keyOf(world)
    const { idempotency } = service.ledger
    const { run } = idempotency
    idempotency.run = async (...request) => {
      idempotency.run = run
      expect((await reset(world)).status).toBe(200)
      return idempotency.run(...request)
    }
    const headers = { 'idempotency-key': 'revoke' }
    const revoked = await service.ask(`${world.s}/keys/${key.id}`, undefined, { method: 'DELETE', headers })
    expect(revoked.status).toBe(200)
    expect((await service.call('/me', { key: key.secret })).status).toBe(401)
    expect(await isRevoked(key.id)).toBe(true)
  })

  test('is so too when the database was away at its revocation, and the reset came before the next attempt', async () => {
    const world = await makeWorld()
    const key = await keyOf(world)
    const { catalogue, clock, newId, sql, epochOf } = service.ledger
    const store = new PostgresAgencyStore(sql, epochOf)
    let isAway = true
    const away = new Proxy(store, {
      get(target, name) {
        if (name === 'revokeKey' && isAway) return () => Promise.reject(new WriteError('not_written', 'away'))
        return Reflect.get(target, name, target).bind(target)
      },
    })
    const keys = new KeyCommands({
      catalogue,
      store: away,
      clock,
      newId,
      makeSecret: (prefix) => makeSecret(prefix, () => new Uint8Array()),
    })
    await expect(keys.revoke(world.sandbox(), key.id, CALLER)).rejects.toMatchObject({ access: 'key' })
    expect((await reset(world)).status).toBe(200)
    expect(await isRevoked(key.id)).toBe(false)
    isAway = false
    await eventually('it is stored', async () => await isRevoked(key.id))
    expect((await service.call('/me', { key: key.secret })).status).toBe(401)
  })
})

test('a sandbox that is suspended beside its reset stays so, in memory and in the database', async () => {
  const world = await makeWorld()
  const { body } = await service.ask(`${world.s}/keys`, { name: 'Partner', scopes: ['read:units'] })
  const suspend = () => service.patch(world.s, { status: 'suspended' })
  const [wasReset, suspended] = await besideReset(world, suspend, () => waiting('update agency set name'))
  expect([wasReset.status, suspended.status]).toEqual([200, 500])
  expect(suspended.body['title']).toContain('is suspended for now')
  expect(wasReset.body['agency']).toMatchObject({ id: world.sandbox().id, status: 'suspended' })
  expect((await service.call('/me', { key: String(body['secret']) })).status).toBe(401)
  const [row] = await service.database.sql<{ status: string }[]>`
    select status from agency where agency_id = ${uuidOf(world.sandbox().id)}`
  expect(row?.status).toBe('suspended')
  expect((await service.patch(world.s, { status: 'active' })).status).toBe(200)
  expect((await service.call('/me', { key: String(body['secret']) })).status).toBe(200)
})

describe('what is written to a sandbox beside its reset, and would survive that, is not told as done if it is lost', () => {
  const expectNothing = ({ status, body }: HttpAnswer) =>
    expect([status, body['title']]).toEqual([500, expect.stringContaining('Nothing was changed')])

  test('a new key: the next attempt makes one that works', async () => {
    const world = await makeWorld()
    const create = () => service.ask(`${world.s}/keys`, { name: 'Partner', scopes: ['read:units'] })
    const [wasReset, created] = await besideReset(world, create, () => waiting('insert into api_key'))
    expect(wasReset.status).toBe(200)
    expectNothing(created)
    const again = await create()
    expect((await service.call('/units', { key: String(again.body['secret']) })).status).toBe(200)
  })

  test('a new endpoint: the next attempt makes one in the new sandbox', async () => {
    const world = await makeWorld()
    const create = () => service.ask(`${world.s}/webhook-endpoints`, { url: 'http://localhost:9/hook' })
    const [wasReset, created] = await besideReset(world, create, () => waiting('register_endpoint'))
    expect(wasReset.status).toBe(200)
    expectNothing(created)
    expect((await create()).status).toBe(201)
    expect((await service.get(`${world.s}/webhook-endpoints`)).body['totalItems']).toBe(1)
  })

  test("the operator's change of its plan: the erased sandbox stays deleted, and its slug is that of the new one", async () => {
    const world = await makeWorld()
    const former = world.sandbox().id
    const change = () => service.patch(world.s, { name: 'Renamed' })
    const [wasReset, changed] = await besideReset(world, change, () => waiting('update agency set name'))
    expect(wasReset.status).toBe(200)
    expectNothing(changed)
    const rows = await service.database.sql<{ status: string; name: string }[]>`
      select status, name from agency where agency_id = ${uuidOf(former)}`
    expect(rows.map(({ status, name }) => ({ status, name }))).toEqual([{ status: 'deleted', name: '' }])
    expect(world.sandbox().id).not.toBe(former)
    expect((await change()).status).toBe(200)
    expect((await service.get(world.s)).body).toMatchObject({ agency: { id: world.sandbox().id, name: 'Renamed' } })
  })
})

test('its time is moved ahead once it is made new, when the owner asks for that while it is being reset', async () => {
  const world = await makeWorld()
  const former = world.sandbox().id
  const move = () => service.ask(`${world.a}/sandbox/clock`, { advanceSeconds: 3_600 })
  const [wasReset, moved] = await besideReset(world, move, () => Bun.sleep(200))
  expect([wasReset.status, moved.status]).toEqual([200, 202])
  const { id, clock, createdAt } = world.sandbox()
  expect([id !== former, clock?.target]).toEqual([true, createdAt + 3_600_000])
  expect((await service.ask(`${world.s}/sandbox/clock`, { advanceSeconds: 3_600 })).status).toBe(202)
})

test('a repeated request that comes while a sandbox ends is not told that nothing was changed', async () => {
  const world = await makeWorld()
  const headers = { 'idempotency-key': 'once' }
  const make = () => service.ask(`${world.s}/fee-types`, { label: 'Linen', kind: 'fixed', amount: 5 }, { headers })
  expect((await make()).status).toBe(201)
  const [wasReset, again] = await besideReset(world, make, () => waiting('fence as materialized'))
  expect(wasReset.status).toBe(200)
  expect([again.status, again.body['title']]).toEqual([500, expect.stringContaining('The change was made')])
})

test('no write to its own data that waits for the end of a sandbox is made, nor one that comes after it', async () => {
  const world = await makeWorld()
  const former = world.sandbox()
  const { catalogue, clock, newId, epochOf } = service.ledger
  const sql = connect(service.database.url, { purpose: 'queries', max: 3 })
  const store = new PostgresAgencyStore(sql, epochOf)
  const [guest] = (await service.get(`${world.s}/guests`)).body['guests'] as { id: string }[]
  const { body } = await service.ask(`${world.s}/keys`, { name: 'Partner', scopes: ['read:units'] })
  const key = catalogue.keys.byId(former.id, (body['key'] as { id: string }).id)
  if (guest === undefined || key === null) throw new Error('Cannot test writes: the sandbox is empty')
  const line = () => successLine({ clock, newId }, CALLER)
  const named = { firstName: 'Mara', lastName: 'Kruse', email: null, phone: null, nationality: null, keep: false }
  const writes = [
    () => store.updateAgency({ ...former, status: 'suspended' }, line()),
    () => store.insertKey({ ...key, id: newId('key'), secretSha256: 'a'.repeat(64) }, line()),
    () => store.updateGuest(former.id, { ...named, id: guest.id } as never, line()),
  ]
  const outcomes = async () =>
    (await Promise.allSettled(writes.map((write) => write()))).map((each) =>
      each.status === 'rejected' ? (each.reason as WriteError).outcome : each.status,
    )
  // The reset waits too.
  const [wasReset, waited] = await besideReset(world, outcomes, () => waiting('check_fence', 1 + writes.length))
  const refused = writes.map(() => 'not_written' as const)
  expect(wasReset.status).toBe(200)
  expect([waited, await outcomes()]).toEqual([refused, refused])
  await sql.end()
  const [left] = await service.database.sql<{ keys: number; guests: number; status: string }[]>`
    select status, (select count(*)::int from api_key k where k.agency_id = a.agency_id) as keys,
           (select count(*)::int from guest g where g.agency_id = a.agency_id and g.last_name <> '') as guests
    from agency a where a.agency_id = ${uuidOf(former.id)}`
  expect({ ...left }).toEqual({ status: 'deleted', keys: 0, guests: 0 } as never)
})

describe('a request with an Idempotency-Key, sent again', () => {
  const headers = { 'idempotency-key': 'again' }
  const unitsOf = async ({ s }: World) => ((await service.get(`${s}/units`)).body['units'] as object[]).length

  /** The statements of `work` that write a unit with this slug fail. */
  async function withoutUnit<T>(slug: string, work: () => Promise<T>): Promise<T> {
    const { sql } = service.database
    await sql.unsafe(`alter table unit add constraint unwritable check (slug <> '${slug}') not valid`)
    try {
      return await work()
    } finally {
      await sql.unsafe('alter table unit drop constraint unwritable')
    }
  }

  test('resets the sandbox once, also by the path of the sandbox, which is that of another one since: what was made stays', async () => {
    const world = await makeWorld()
    const again = () => service.ask(`${world.s}/sandbox/reset`, undefined, { method: 'POST', headers })
    const first = await again()
    await service.ask(`${world.s}/units`, { slug: 'mine', name: 'Mine', basePrice: 100 })
    const repeated = await again()
    expect([repeated.status, repeated.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
    expect(repeated.body).toEqual(first.body)
    const byLive = await service.ask(`${world.a}/sandbox/reset`, undefined, { method: 'POST', headers })
    expect([byLive.status, byLive.body['code']]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED'])
    expect(await unitsOf(world)).toBe(2)
  })

  test('completes a reset that was cut short: it is not answered as done before everything is copied', async () => {
    const world = await makeWorld(2)
    const again = () => service.ask(`${world.a}/sandbox/reset`, undefined, { method: 'POST', headers })
    const first = await withoutUnit('unit-2', again)
    expect([first.status, first.body['title']]).toEqual([500, expect.stringContaining('repeat the request')])
    const repeated = await again()
    expect([repeated.status, repeated.headers.get('idempotency-replayed')]).toEqual([200, null])
    expect(await unitsOf(world)).toBe(2)
    expect((await again()).headers.get('idempotency-replayed')).toBe('true')
  })

  test('completes a sandbox whose making was cut short', async () => {
    const world = await makeWorld(2)
    await service.delete(`${world.a}/sandbox`)
    const again = () => service.ask(`${world.a}/sandbox`, undefined, { method: 'POST', headers })
    const first = await withoutUnit('unit-2', again)
    expect([first.status, first.body['title']]).toEqual([500, expect.stringContaining('repeat the request')])
    const expectOthersRefused = async () => {
      for (const others of [{}, { 'idempotency-key': 'other' }]) {
        const other = await service.ask(`${world.a}/sandbox`, undefined, { method: 'POST', headers: others })
        expect([other.status, other.body['code']]).toEqual([409, 'SANDBOX_EXISTS'])
      }
    }
    // People may work in it by now.
    await expectOthersRefused()
    const repeated = await again()
    expect([repeated.status, repeated.headers.get('idempotency-replayed')]).toEqual([201, null])
    expect(await unitsOf(world)).toBe(2)
    expect((await again()).headers.get('idempotency-replayed')).toBe('true')
    await expectOthersRefused()
  })
})

describe('writes that are in progress when a sandbox is reset', () => {
  const STAY = { unit: 'unit-1', arrival: '2028-07-03', departure: '2028-07-06' }
  const guestNamed = (lastName: string) => ({ firstName: 'Mara', lastName, email: `${lastName}@example.org` })
  const countNamed = async (lastName: string) => {
    const [row] = await service.database.sql<{ count: number }[]>`
      select count(*)::int as count from guest where last_name = ${lastName}`
    return row?.count
  }
  const partnerOf = async ({ s }: World) => {
    const { body } = await service.ask(`${s}/keys`, { name: 'Partner', scopes: SCOPES })
    return (guest: object) => service.call('/bookings', { key: String(body['secret']), json: { ...STAY, guest } })
  }

  test('leave nothing personal behind: a booking that comes while it ends is refused, and made when it is repeated', async () => {
    const world = await makeWorld()
    const book = await partnerOf(world)
    const [wasReset, booked] = await besideReset(
      world,
      () => book(guestNamed('Kruse')),
      () => waiting('append_batch'),
    )
    expect(wasReset.status).toBe(200)
    expect([booked.status, booked.body['title']]).toEqual([500, expect.stringContaining('Nothing was changed')])
    expect(await countNamed('Kruse')).toBe(0)
    expect((await book(guestNamed('Kruse'))).status).toBe(201)
  })

  /** Calls `reset` while a write waits in the database for its lock. @returns what the two were answered */
  async function besideWrite(world: World, write: () => Promise<HttpAnswer>, waitsAs: string) {
    const release = await holding(
      service.database.url,
      `select from shard where shard = ${shardOf(world.live.id)} for update`,
    )
    const writing = write()
    await waiting(waitsAs)
    const former = world.sandbox()
    const resetting = reset(world)
    const { sandboxWrites } = service.ledger.commands
    const isClosed = () => sandboxWrites.run(former, async () => false).catch(() => true)
    await eventually('it takes no more writes', isClosed)
    await release()
    return Promise.all([writing, resetting])
  }

  test('are waited for: a booking is answered, and its guest is erased', async () => {
    const world = await makeWorld()
    const book = await partnerOf(world)
    const [booked, wasReset] = await besideWrite(world, () => book(guestNamed('Okoye')), 'append_batch')
    expect([booked.status, wasReset.status]).toEqual([201, 200])
    expect(await countNamed('Okoye')).toBe(0)
  })

  test('are waited for: an endpoint has the secret that was rotated, and one that was just registered is taken along', async () => {
    const world = await makeWorld()
    const create = () => service.ask(`${world.s}/webhook-endpoints`, { url: 'http://localhost:9/hook' })
    const { id } = (await create()).body['webhookEndpoint'] as { id: string }
    const rotate = () => service.ask(`${world.s}/webhook-endpoints/${id}/rotate-secret`, { overlapHours: 0 })
    const [rotated] = await besideWrite(world, rotate, 'update webhook_endpoint')
    expect(rotated.status).toBe(200)
    const [row] = await service.database.sql<{ sealed: string }[]>`
      select secret_sealed as sealed from webhook_endpoint where endpoint_id = ${uuidOf(id)}`
    const box = new SecretBox(Uint8Array.fromHex(TEST_SECRET_KEY))
    const owner = { agencyId: world.sandbox().id, endpointId: id }
    expect(box.open(String(row?.sealed), owner)).toBe(String(rotated.body['secret']))
    const [created] = await besideWrite(world, create, 'register_endpoint')
    expect(created.status).toBe(201)
    expect((await service.get(`${world.s}/webhook-endpoints`)).body['totalItems']).toBe(2)
  })
})
