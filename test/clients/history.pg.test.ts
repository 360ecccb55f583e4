/** Both clients while an agency's history is rewritten in the database, and while it is restored from a backup. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { asNight, formatNight } from '../../src/core/domain/night.ts'
import { uuidOf } from '../../src/lib/ids.ts'
import { makeCheckpoints } from '../support/checkpoints.ts'
import { testDatabase } from '../support/postgres.ts'
import { startTestService, type TestService } from '../support/test-service.ts'
import { AllClients, CLIENTS, type ClientName } from './support/all-clients.ts'
import type { Step } from './support/conformance-cases.ts'
import { FaultProxy } from './support/fault-proxy.ts'

/** What a partner keeps. */
interface Partner {
  readonly agency: Agency
  readonly key: string
  readonly cursor: string
  readonly checkpoint: string
}

let service: TestService
let proxy: FaultProxy
const database = await testDatabase()
const clients = await AllClients.start()
await open()
afterAll(async () => {
  await clients?.stop()
  await close()
  await database?.drop()
})

async function open(): Promise<void> {
  service = await startTestService({ on: database })
  proxy = await FaultProxy.start(service.url)
}
async function close(): Promise<void> {
  proxy?.stop()
  await service?.close()
}

let nights = 22_000
async function book(key: string): Promise<void> {
  const [arrival, departure] = [nights++, nights].map((night) => formatNight(asNight(night)))
  const { status } = await service.call('/bookings', { key, json: { unit: 'sea-view', arrival, departure } })
  expect(status).toBe(201)
}

/** A partner whose agency has a history, with the checkpoint that each client got. */
async function partner(name: ClientName): Promise<Partner> {
  const agency = await service.agency()
  await service.unit(agency, { slug: 'sea-view' })
  const key = (await service.key(agency)).secret
  for (let i = 0; i < 3; i++) await book(key)
  await makeCheckpoints(database.sql)
  const { body } = await service.call('/changes', { key })
  const { outcomes } = await clients.play(name, service.url, { steps: [{ call: 'history.checkpoint' }] }, key)
  const [{ result }] = outcomes as [{ result: { size: number; note: string } }]
  expect(result.size).toBeGreaterThan(2)
  return { agency, key, cursor: body.cursor, checkpoint: result.note }
}

const follow = (args: object): Step => ({ call: 'changes.follow', args: [args], take: 2 })
const NOTES = { class: 'HistoryRewrittenError', members: { before: null, after: null } }
const rewritten = (before: string, after: string) => ({ class: 'HistoryRewrittenError', members: { before, after } })
const noteOf = async (key: string) => String((await service.call('/checkpoint', { key })).body)

/** What each partner kept, before something happens to the database while no service runs. */
async function partnersBefore(change: (each: Partner) => Promise<unknown>): Promise<ReadonlyMap<ClientName, Partner>> {
  const made = new Map<ClientName, Partner>()
  for (const name of CLIENTS) made.set(name, await partner(name))
  await close()
  for (const each of made.values()) await change(each)
  await makeCheckpoints(database.sql)
  await open()
  return made
}

/** What an owner of the database can do to the entries of an agency, here of its id. */
const TAMPERING: Record<string, (id: string) => PromiseLike<unknown>> = {
  rewritten: (id) => database.sql`
    update journal set at = at - interval '1 hour'
    where agency_id = ${id}::text::uuid and seq = (select min(seq) from journal where agency_id = ${id}::text::uuid)`,
  shortened: (id) => database.sql`
    delete from journal
    where agency_id = ${id}::text::uuid and seq > (select min(seq) from journal where agency_id = ${id}::text::uuid)`,
}

describe.each(Object.keys(TAMPERING))('history that is %s', (way) => {
  let kept: ReadonlyMap<ClientName, Partner>
  beforeAll(async () => {
    kept = await partnersBefore(async ({ agency }) => {
      const id = uuidOf(agency.id)
      await TAMPERING[way]?.(id)
      await database.sql`delete from checkpoint where agency_id = ${id}::text::uuid`
    })
  })

  test.each(CLIENTS)('ends following with an error that has both checkpoints: %s', async (name) => {
    const { cursor: after, checkpoint, key } = kept.get(name) as Partner
    const changed = proxy.nextStream().then(() => book(key))
    const step = { ...follow({ after, checkpoint }), error: NOTES }
    const { outcomes } = await clients.play(name, proxy.url, { steps: [step] }, key)
    await changed
    const [origin = ''] = checkpoint.split('\n')
    expect(outcomes).toMatchObject([{ error: rewritten(checkpoint, expect.stringContaining(origin)) }])
  })
})

describe('history that is restored', () => {
  let kept: ReadonlyMap<ClientName, Partner>
  beforeAll(async () => {
    kept = await partnersBefore(() => database.sql`select after_restore()`)
  })

  test.each(CLIENTS)('is accepted with the refused cursor, and only with it: %s', async (name) => {
    const { cursor: after, checkpoint, key } = kept.get(name) as Partner
    const changed = proxy.nextStream().then(async () => {
      await book(key)
      await book(key)
    })
    const steps = [follow({ after, checkpoint }), { ...follow({ after: 'start', checkpoint }), error: NOTES }]
    const { outcomes, resets } = await clients.play(name, proxy.url, { steps }, key)
    await changed
    expect(resets).toHaveLength(1)
    const [origin = ''] = (await noteOf(key)).split('\n')
    expect(checkpoint).not.toContain(origin)
    const error = rewritten(checkpoint, expect.stringContaining(origin))
    expect(outcomes).toMatchObject([{ result: [{}, {}] }, { error }])
  })
})
