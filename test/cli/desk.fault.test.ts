/** `listen`, `trigger` and `webhooks resend --since` with the real service, a real sandbox and a real receiver. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { serviceSignature } from '../../src/events/webhooks/secret-box.ts'
import { makeDeliveries } from '../events/webhooks/support/make-deliveries.ts'
import { type Receiver, startReceiver } from '../events/webhooks/support/receiver.ts'
import { programFile } from '../support/bundled-program.ts'
import { cliOn } from '../support/cli-terminal.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

const SCOPES = ['read:units', 'read:availability', 'read:rates', 'read:bookings', 'write:bookings']

let service: TestService
let receiver: Receiver
let cli: ReturnType<typeof cliOn>
let slug: string
let key: string
beforeAll(async () => {
  service = await startTestService()
  cli = cliOn(service)
})
afterAll(() => service.close())
beforeEach(async () => {
  // One test restarts the receiver on the same port.
  receiver = startReceiver(null, { port: freePort() })
  const live = await service.agency()
  await service.unit(live, { slug: 'sea-view' })
  await service.ask(`/agencies/${live.slug}/sandbox`, undefined, { method: 'POST' })
  slug = `${live.slug}-sandbox`
  key = (await service.ask(`/agencies/${slug}/keys`, { name: 'Desk', scopes: SCOPES })).body.secret
})
afterEach(() => receiver.stop())

/** A `listen` in a process of its own. */
function listening(state: string, port: number, ...args: string[]) {
  const env = {
    PATH: process.env['PATH'] ?? '',
    NIGHTLEDGER_URL: service.url,
    NIGHTLEDGER_KEY: key,
    XDG_STATE_HOME: state,
  }
  const forward = ['--forward', `http://localhost:${port}/hook`]
  const child = Bun.spawn([process.execPath, 'run', programFile(), 'listen', ...forward, '--json', ...args], {
    env,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let out = ''
  void (async () => {
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) out += part
  })()
  // biome-ignore lint/suspicious/noExplicitAny: lines of several shapes
  const lines = (): any[] =>
    out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  return {
    lines,
    ready: () => eventually('it listens', () => lines().length > 0 && service.ledger.changes.stats.waiting.streams > 0),
    stop: async () => {
      child.kill('SIGINT')
      const [code, stderr] = await Promise.all([child.exited, new Response(child.stderr).text()])
      return { code, stderr }
    },
  }
}

const states = temporaryFolder('listen')
const newState = () => mkdtempSync(join(states, 'test-'))
const trigger = async (...args: string[]) => {
  const run = await cli('trigger', ...args, '--key', key, '--json')
  expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: '' })
  return run.json
}
const idsOf = ({ received }: Receiver) => received.map(({ headers }) => headers.get('webhook-id'))

describe('listen', () => {
  test('posts what is triggered as a webhook is sent, with the secret that it prints', async () => {
    const run = listening(newState(), receiver.port)
    await run.ready()
    const change = await trigger('booking.created')
    await eventually('it is forwarded', () => run.lines().length === 2)
    const [{ secret }, outcome] = run.lines()
    const [message] = receiver.received
    const { cursor: _, ...envelope } = change
    expect(JSON.parse(message?.body ?? '')).toEqual(envelope)
    const [, t = '', v1 = ''] = /^t=(\d+), v1=(\w+)$/.exec(message?.headers.get('x-service-signature') ?? '') ?? []
    expect(v1).toBe(serviceSignature(secret, Number(t), message?.body ?? ''))
    expect(outcome).toMatchObject({ outcome: 'delivered', id: change.id, event: 'booking.created', status: 204 })
    expect((await run.stop()).code).toBe(0)
  })

  test('loses no event while it is stopped or the receiver is away, and keeps its secret', async () => {
    const state = newState()
    const first = listening(state, receiver.port)
    await first.ready()
    const one = await trigger('booking.created')
    await eventually('the first is forwarded', () => receiver.received.length === 1)
    await first.stop()
    const two = await trigger('booking.created')
    const { port } = receiver
    await receiver.stop()
    const second = listening(state, port)
    await eventually('it waits for the receiver', () => second.lines().some(({ outcome }) => outcome === 'waiting'))
    const three = await trigger('booking.created')
    const back = Bun.serve({ port, hostname: '127.0.0.1', fetch: () => new Response(null, { status: 200 }) })
    const delivered = () => second.lines().filter(({ outcome }) => outcome === 'delivered')
    await eventually('both are forwarded', () => delivered().length === 2)
    expect(delivered().map(({ id }) => id)).toEqual([two.id, three.id])
    expect(one.id).not.toBe(two.id)
    expect(second.lines()[0].secret).toBe(first.lines()[0].secret)
    await second.stop()
    await back.stop(true)
  })

  test('--since wins over the kept cursor: at the start, a time ago by the clock of the sandbox, or after a cursor', async () => {
    const state = newState()
    const one = await trigger('booking.created')
    const two = await trigger('hold_expired')
    const get = async (...args: string[]) => {
      const before = receiver.received.length
      const run = listening(state, receiver.port, ...args)
      await run.ready()
      await eventually('the last is forwarded', () => idsOf(receiver).slice(before).at(-1) === two.id)
      await run.stop()
      return idsOf(receiver).slice(before)
    }
    const all = await get('--since', 'start')
    expect(all.length).toBeGreaterThan(2)
    // The hold expired after an hour: a minute before that, only it and the clock of the sandbox are.
    expect(await get('--since', '1m')).toEqual([two.id])
    expect((await get('--since', '2h')).slice(-3)).toEqual([one.id, all.at(-2) ?? null, two.id])
    expect((await get('--since', one.cursor)).length).toBe(2)
  })

  test('says what is wrong with its options, and what to do when a cursor is refused', async () => {
    const at = (...args: string[]) => cli('listen', '--key', key, '--forward', 'http://localhost:1/', ...args)
    expect(await at('--chaos', 'shuffle')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('duplicate, reorder, drop'),
    })
    expect(await at('--events', 'booking')).toMatchObject({ code: 2 })
    expect(await cli('listen', '--key', key, '--forward', 'localhost')).toMatchObject({ code: 2 })
  })
})

describe('trigger', () => {
  test('makes each event really happen', async () => {
    expect(await trigger('booking.created')).toMatchObject({ event: 'booking.created', data: { status: 'confirmed' } })
    expect(await trigger('booking.cancelled')).toMatchObject({
      event: 'booking.cancelled',
      data: { status: 'cancelled' },
    })
    expect(await trigger('booking.updated')).toMatchObject({ event: 'booking.updated', data: { status: 'confirmed' } })
    const expired = await trigger('hold_expired')
    expect(expired).toMatchObject({ event: 'booking.cancelled', data: { sourceRef: 'trigger hold_expired' } })
    const { body } = await service.get(`/agencies/${slug}/bookings/${expired.data.id}`)
    expect(body.booking).toMatchObject({ status: 'cancelled', cancelReason: 'hold_expired' })
  })

  test('takes no live key, and books nothing with it', async () => {
    const run = await cli('trigger', 'booking.created', '--key', 'hr_live_x')
    expect(run).toMatchObject({ code: 2, stderr: expect.stringContaining('begin with hr_test_') })
    expect(await cli('trigger', 'booking.paid', '--key', key)).toMatchObject({ code: 2 })
  })
})

describe('webhooks resend --since', () => {
  let id: string
  let path: string
  beforeEach(async () => {
    path = `/agencies/${slug}/webhook-endpoints`
    id = (await service.ask(path, { url: 'http://localhost:9/hooks' })).body.webhookEndpoint.id
  })
  const deliveries = async () => (await service.get(`${path}/${id}/deliveries?pageSize=200`)).body.deliveries
  const setAll = (status: string) =>
    service.database.sql`update webhook_delivery set status = ${status}, next_attempt_at = null where kind <> 'ping'`
  const make = async (count: number) => {
    for (let i = 0; i < count; i++) await trigger('booking.created')
    await makeDeliveries(service.database.url, service.ledger.epoch)
  }
  const resend = (body: object) => service.ask(`${path}/${id}/resend`, body)
  const SINCE = '2020-01-01T00:00:00Z'

  test('sends again what was delivered or given up, and with --failed only the latter', async () => {
    await make(3)
    await setAll('delivered')
    const [{ id: dead }] = await deliveries()
    await service.database.sql`update webhook_delivery set status = 'dead' where delivery_id = ${dead.slice(4)}::uuid`
    const failed = await cli('webhooks', 'resend', id, '--since', SINCE, '--failed', '--agency', slug, '--json')
    expect(failed.json).toMatchObject({ resent: 1, remaining: 0 })
    expect((await deliveries()).filter(({ status }: { status: string }) => status === 'pending')).toMatchObject([
      { id: dead },
    ])
    // What is still to be sent keeps its schedule.
    expect((await resend({ since: SINCE })).body.resend).toMatchObject({ resent: 2, remaining: 0 })
    expect((await resend({ since: SINCE })).body.resend).toMatchObject({ resent: 0, remaining: 0 })
  })

  test('counts hours back from the time of the sandbox, as listen does', async () => {
    await make(2)
    await setAll('delivered')
    await service.asPartner(key, '/test/clock', { advanceSeconds: 2 * 86_400 })
    await eventually(
      'the clock is moved',
      async () => (await service.asPartner(key, '/test/clock')).body.status === 'ready',
    )
    const since = async (time: string) =>
      (await cli('webhooks', 'resend', id, '--since', time, '--agency', slug, '--json')).json
    expect(await since('24h')).toMatchObject({ resent: 0, remaining: 0 })
    expect(await since('3d')).toMatchObject({ resent: 2, remaining: 0 })
  })

  test('takes only deliveries from `since` to `until`, and goes on after `after`', async () => {
    await make(3)
    await setAll('delivered')
    const [, middle] = await deliveries()
    expect((await resend({ since: SINCE, until: '2020-01-02T00:00:00Z' })).body.resend).toEqual({
      ...{ resent: 0, remaining: 0, until: '2020-01-02T00:00:00.000Z', after: null },
    })
    expect((await resend({ since: SINCE, after: middle.id })).body.resend).toMatchObject({ resent: 1, remaining: 0 })
    expect((await deliveries()).map(({ status }: { status: string }) => status)).toEqual([
      'pending',
      'delivered',
      'delivered',
    ])
    expect((await resend({ since: SINCE, after: 'dlv_x' })).body).toMatchObject({ errors: [{ field: 'after' }] })
    expect((await resend({ since: '2020-01-03T00:00:00Z', until: '2020-01-02T00:00:00Z' })).status).toBe(400)
  })

  test('sends at most 100 in a request, and none while 300 deliveries of the agency are due', async () => {
    await make(1)
    const { sql } = service.database
    const copies = (count: number, status: string) => sql`
      insert into webhook_delivery (seq, created_at, next_attempt_at, agency_id, endpoint_id, delivery_id, event_id, month, entry_month, kind, status)
      select seq, created_at - interval '1 minute', case when ${status} = 'pending' then created_at end, agency_id, endpoint_id,
             gen_random_uuid(), event_id, month, entry_month, kind, ${status}
      from (select * from webhook_delivery where endpoint_id = ${id.slice(4)}::uuid limit 1) d, generate_series(1, ${count})`
    await copies(150, 'dead')
    const first = (await resend({ since: SINCE })).body.resend
    expect(first).toMatchObject({ resent: 100, remaining: 51 })
    const { until, after } = first
    expect((await resend({ since: SINCE, until, after })).body.resend).toMatchObject({ resent: 50, remaining: 0 })
    await copies(200, 'pending')
    const busy = await resend({ since: SINCE })
    expect([busy.status, busy.body.code]).toEqual([429, 'RATE_LIMITED'])
  })

  test('refuses an endpoint that is switched off, and one that does not exist', async () => {
    await service.database.sql`update webhook_endpoint set status = 'disabled' where endpoint_id = ${id.slice(4)}::uuid`
    expect((await resend({ since: SINCE })).body).toMatchObject({ errors: [{ field: 'endpointId' }] })
    await service.ask(`${path}/${id}`, undefined, { method: 'DELETE' })
    expect((await resend({ since: SINCE })).status).toBe(404)
  })
})
