import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { AgencyCommands } from '../../src/accounts/agency-commands.ts'
import type { AgencyStore } from '../../src/accounts/agency-store.ts'
import { FeeCommands } from '../../src/accounts/fee-commands.ts'
import { KeyCommands } from '../../src/accounts/key-commands.ts'
import { makeSecret } from '../../src/accounts/secrets.ts'
import { successLine } from '../../src/core/bookings/durable-writes.ts'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { JournalError } from '../../src/core/journal/journal-error.ts'
import { idOf, uuidOf } from '../../src/lib/ids.ts'
import { PostgresAgencyStore } from '../../src/postgres/stores/postgres-agency-store.ts'
import { openTestLedger } from '../support/ledger.ts'
import { CALLER, sampleId } from '../support/samples.ts'

const AUDIT_SUSPENSION = sampleId('aud', 'suspension')

let agency: Agency
let lostReply: AgencyStore

/** What a command throws, settled first: a promise that never settles would hang the test. */
async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  const [result] = await Promise.allSettled([promise])
  return result?.status === 'rejected' ? result.reason : null
}

const service = await openTestLedger()
afterAll(() => service.close())
beforeEach(async () => {
  agency = await service.agency()
  const { sql, epochOf } = service.ledger
  // Writes, and then the answer is lost on its way.
  lostReply = new Proxy(new PostgresAgencyStore(sql, epochOf), {
    get(store, name) {
      const method = Reflect.get(store, name, store).bind(store)
      if (!/^(insert|update|revoke)/.test(String(name))) return method
      return async (...args: unknown[]) => {
        await method(...args)
        throw new Error('connection lost')
      }
    },
  })
})

function commands(store: AgencyStore) {
  const { catalogue, clock, newId } = service.ledger
  return {
    agencies: new AgencyCommands({ catalogue, store, clock, newId }),
    keys: new KeyCommands({ catalogue, store, clock, newId, makeSecret }),
    fees: new FeeCommands({ catalogue, store, clock, newId }),
  }
}

describe('a change whose answer was lost', () => {
  test('is followed by memory: what Postgres has is what serves', async () => {
    const { catalogue } = service.ledger
    const { agencies, keys, fees } = commands(lostReply)
    expect(await failureOf(agencies.change(agency.id, { status: 'suspended' }, CALLER))).toBeInstanceOf(Error)
    expect(catalogue.agencyById(agency.id)?.status).toBe('suspended')
    const { key } = await service.key(agency)
    expect(await failureOf(keys.revoke(agency, key.id, CALLER))).toBeInstanceOf(Error)
    expect(catalogue.keys.byId(agency.id, key.id)?.revokedAt).not.toBeNull()
    const feeType = await service.feeType(agency)
    expect(
      await failureOf(fees.change(agency, feeType.id, (known) => ({ ...known, active: false }), CALLER)),
    ).toBeInstanceOf(Error)
    expect((await catalogue.inventory(agency.id)).feeTypes[0]?.active).toBe(false)
  })

  test('of a new agency: it is there, and the next attempt finds it', async () => {
    const draft = {
      slug: `lost-${agency.slug}`,
      name: 'x',
      currency: 'EUR',
      timezone: 'UTC',
      plan: agency.plan,
      defaultHoldHours: 1,
    }
    expect(await failureOf(commands(lostReply).agencies.create(draft, CALLER))).toBeInstanceOf(Error)
    expect(service.ledger.catalogue.agencyBySlug(draft.slug)).not.toBeNull()
    const again = await commands(new PostgresAgencyStore(service.ledger.sql, service.ledger.epochOf)).agencies.create(
      draft,
      CALLER,
    )
    expect(again).toMatchObject({ kind: 'refused', refusal: { code: 'SLUG_TAKEN' } })
    expect(service.ledger.catalogue.agencyBySlug(draft.slug)).not.toBeNull()
  })
})

test('a change that is written again with its own line changes nothing, and has one line', async () => {
  const { sql, epochOf, clock, newId } = service.ledger
  const store = new PostgresAgencyStore(sql, epochOf)
  const { key } = await service.key(agency)
  const line = successLine({ clock, newId }, CALLER)
  const at = clock.now()
  for (const revokedAt of [at, at + 60_000]) {
    await store.revokeKey(key, revokedAt, line)
    await store.updateAgency({ ...agency, status: 'suspended' }, { ...line, auditId: AUDIT_SUSPENSION })
  }
  const stored = (await store.loadKeys()).find(({ id }) => id === key.id)
  expect(stored?.revokedAt).toBe(at)
  const lines = await sql<{ id: string }[]>`
    select line_id as "id" from audit_line where agency_id = ${uuidOf(agency.id)} and route = ${CALLER.route}
    order by line_id = ${uuidOf(AUDIT_SUSPENSION)}`
  expect(lines.map(({ id }) => idOf('aud', id))).toEqual([line.auditId, AUDIT_SUSPENSION])
})

test('J5: a stale writer changes nothing of an agency, not even its audit trail', async () => {
  const { sql, epochOf, catalogue } = service.ledger
  const { agencies, keys, fees } = commands(new PostgresAgencyStore(sql, (agencyId) => epochOf(agencyId) - 1))
  const { key } = await service.key(agency)
  const feeType = await service.feeType(agency)
  const attempts: (() => Promise<unknown>)[] = [
    () => agencies.change(agency.id, { name: 'Stale' }, CALLER),
    () => keys.create(agency, { name: null, scopes: [], expiresAt: null }, CALLER),
    () => fees.create(agency, { ...feeType, label: 'Stale' }, CALLER),
  ]
  for (const attempt of attempts) {
    const failure = await failureOf(attempt())
    expect(failure).toBeInstanceOf(JournalError)
    expect(failure).toMatchObject({ kind: 'fenced' })
  }
  expect(catalogue.agencyById(agency.id)?.name).toBe(agency.name)
  // Still refused by this process: it may serve for another moment.
  expect(await failureOf(keys.revoke(agency, key.id, CALLER))).toMatchObject({ cause: { kind: 'fenced' } })
  expect(catalogue.keys.byId(agency.id, key.id)?.revokedAt).not.toBeNull()
  const rows = await sql`
    select (select name from agency where agency_id = ${uuidOf(agency.id)}) as name,
           (select count(*)::integer from api_key where agency_id = ${uuidOf(agency.id)} and revoked_at is null) as keys,
           (select count(*)::integer from fee_type where agency_id = ${uuidOf(agency.id)}) as fees,
           (select count(*)::integer from audit_line where agency_id = ${uuidOf(agency.id)} and route = ${CALLER.route}) as lines`
  expect({ ...rows[0] }).toEqual({ name: agency.name, keys: 1, fees: 1, lines: 0 })
})
