import { afterAll, beforeAll, expect, test } from 'bun:test'
import { describeWithEtcd, EtcdServers } from '../support/etcd.ts'
import { openStream } from '../support/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import { longTest } from '../support/long-run.ts'
import { type NodeProcess, NodeProcesses, settled } from '../support/node-processes.ts'
import { signIn, signOut } from '../support/page-sessions.ts'
import { accept, cookieOf, secretIn, signInWith } from '../support/people.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { AMPLE_PLAN } from '../support/samples.ts'
import { makeAgencyByPortal, TEST_PAGE_URL, TEST_PORTAL_TOKEN } from '../support/service-process.ts'

/* Two nodes as processes of their own: whichever is asked, the answer is the owner's. */

const SCOPES = ['read:units', 'read:availability', 'read:rates', 'read:bookings', 'write:bookings']
const JSON_AND_STREAM = { accept: 'application/json, text/event-stream' }

const stay = (night: number, nights = 2) => {
  const day = (offset: number) => new Date(Date.UTC(2028, 0, 1 + night + offset)).toISOString().slice(0, 10)
  return { unit: 'sea-view', arrival: day(0), departure: day(nights), adults: 2 }
}

describeWithEtcd('two nodes', () => {
  let etcd: EtcdServers
  let database: TestDatabase
  let processes: NodeProcesses
  let a: NodeProcess
  let b: NodeProcess
  /** The slug of an agency of each node, and a key of it. */
  const of = new Map<string, { slug: string; key: string }>()

  const other = (node: NodeProcess) => (node === a ? b : a)
  const ownedBy = ({ id }: NodeProcess) => of.get(id) as { slug: string; key: string }

  beforeAll(async () => {
    etcd = await EtcdServers.start()
    database = await testDatabase()
    processes = new NodeProcesses(database.url, etcd)
    a = await processes.start('a')
    b = await processes.start('b')
    await settled(a, 2)
    for (let made = 0; of.size < 2; made++) {
      const slug = `agency-${made}`
      const key = await makeAgencyByPortal(made % 2 === 0 ? a : b, {
        slug,
        scopes: SCOPES,
        plan: AMPLE_PLAN,
      })
      const { headers } = await a.ask('/partner/v1/me', { token: key })
      of.set(headers.get('x-served-by') ?? '', { slug, key })
    }
  })
  afterAll(async () => {
    await processes.stop()
    await database.drop()
    await etcd.stop()
  })

  test('a key that was made through one node is valid at the other at once, and both say who has served it', async () => {
    for (const owner of [a, b])
      for (const node of [a, b]) {
        const { status, headers } = await node.ask('/partner/v1/units', { token: ownedBy(owner).key })
        expect([status, headers.get('x-served-by')]).toEqual([200, owner.id])
      }
  })

  test('a booking by one node is taken for the other, and an Idempotency-Key is the same at both', async () => {
    for (const owner of [a, b]) {
      const { key: token } = ownedBy(owner)
      const headers = { 'idempotency-key': crypto.randomUUID() }
      const first = await other(owner).ask('/partner/v1/bookings', { token, json: stay(0), headers })
      expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([201, null])
      for (const node of [a, b]) {
        const again = await node.ask('/partner/v1/bookings', { token, json: stay(0), headers })
        expect([again.status, again.headers.get('idempotency-replayed'), again.text]).toEqual([201, 'true', first.text])
        expect((await node.ask('/partner/v1/bookings', { token, json: stay(1) })).body.code).toBe('BOOKING_CONFLICT')
      }
    }
  })

  test('a forwarded write without an Idempotency-Key is answered like any other', async () => {
    const { key: token } = ownedBy(b)
    const answer = await a.ask('/partner/v1/bookings', { token, json: stay(10) })
    expect([answer.status, answer.headers.has('idempotency-replayed')]).toEqual([201, false])
    const [kept] = await database.sql<{ count: number }[]>`
      select count(*)::int as count from idempotency where idempotency_key like 'nightledger-op-%' and route like '%/bookings'`
    expect(kept?.count).toBe(1)
  })

  test('whatever shows a secret once: an automatic repetition never answers without it as if nothing had happened', async () => {
    const { slug } = ownedBy(b)
    const path = `/portal/v1/agencies/${slug}`
    const write = (of: string, json: object) => {
      const headers = { 'idempotency-key': `nightledger-op-${of}` }
      return a.ask(`${path}/${of}`, { token: TEST_PORTAL_TOKEN, json, headers })
    }
    const endpoint = { url: 'https://93.184.216.34/in' }
    const made = await write('webhook-endpoints', endpoint)
    const bodies = {
      keys: {},
      'access-tokens': { name: 'Maria', role: 'desk' },
      people: { name: 'Maria', role: 'desk' },
      'webhook-endpoints': endpoint,
      [`webhook-endpoints/${made.body.webhookEndpoint?.id}/rotate-secret`]: {},
    }
    for (const [of, json] of Object.entries(bodies)) {
      const first = await write(of, json)
      if (of !== 'webhook-endpoints')
        expect([of, first.body.secret ?? first.body.invitation?.link]).toEqual([of, expect.any(String)])
      const again = await write(of, json)
      expect([of, again.status, again.body.title]).toEqual([of, 500, expect.stringContaining('secret was lost')])
    }
  })

  test('60 requests a minute are 60 in all, whichever nodes are entered', async () => {
    const { slug } = ownedBy(a)
    const { body } = await b.portal(`/agencies/${slug}/keys`, { scopes: SCOPES })
    await a.ask(`/portal/v1/agencies/${slug}`, {
      token: TEST_PORTAL_TOKEN,
      method: 'PATCH',
      json: { plan: { requestsPerMinute: 60 } },
    })
    const answers = await Promise.all(
      Array.from({ length: 80 }, (_, i) => (i % 2 === 0 ? a : b).ask('/partner/v1/units', { token: body.secret })),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(60)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20)
    await a.ask(`/portal/v1/agencies/${slug}`, {
      token: TEST_PORTAL_TOKEN,
      method: 'PATCH',
      json: { plan: AMPLE_PLAN },
    })
  })

  test('the tools answer by either node', async () => {
    const { key: token } = ownedBy(b)
    const json = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_units', arguments: {} } }
    const { status, body } = await a.ask('/mcp', { token, json, headers: JSON_AND_STREAM })
    expect(status).toBe(200)
    expect(JSON.stringify(body.result)).toContain('sea-view')
  })

  test('a request that waits for changes at one node is answered when a booking is made by the other; a stream too', async () => {
    const { key: token } = ownedBy(b)
    const { cursor } = (await a.ask('/partner/v1/changes', { token })).body
    const poll = a.ask(`/partner/v1/changes?after=${cursor}&wait=20`, { token })
    const stream = await openStream(`${a.baseUrl}/partner/v1/changes?after=${cursor}`, {
      authorization: `Bearer ${token}`,
    })
    const { body } = await b.ask('/partner/v1/bookings', { token, json: stay(20) })
    expect((await poll).text).toContain(body.booking.id)
    await eventually('the stream shows it', () => stream.events.length === 1)
    stream.close()
  })

  test('the operator’s session is the same at every node, and over at every node', async () => {
    const { cookie } = await signIn(a.baseUrl, TEST_PORTAL_TOKEN)
    const paths = [
      '/portal/v1/me',
      '/portal/v1/agencies',
      ...[a, b].map((node) => `/portal/v1/agencies/${ownedBy(node).slug}/units`),
    ]
    const statuses = async () => {
      const answers = [a, b].flatMap((node) => paths.map((path) => node.ask(path, { headers: { cookie } })))
      return new Set((await Promise.all(answers)).map(({ status }) => status))
    }
    expect(await statuses()).toEqual(new Set([200]))
    expect((await signOut(b.baseUrl, cookie)).status).toBe(200)
    expect(await statuses()).toEqual(new Set([401]))
  })

  test('a session of an access token is opened, used and ended by any node', async () => {
    for (const owner of [a, b]) {
      const { body } = await a.portal(`/agencies/${ownedBy(owner).slug}/access-tokens`, { name: 'Maria', role: 'desk' })
      const { cookie } = await signIn(other(owner).baseUrl, body.secret)
      for (const node of [a, b]) expect((await node.ask('/portal/v1/me', { headers: { cookie } })).status).toBe(200)
      expect((await signOut(other(owner).baseUrl, cookie)).status).toBe(200)
      for (const node of [a, b]) expect((await node.ask('/portal/v1/me', { headers: { cookie } })).status).toBe(401)
    }
  })

  test('a person is invited, joins and signs in by any node; a new role and their removal hold at every node at once', async () => {
    for (const owner of [a, b]) {
      const elsewhere = other(owner)
      const path = `/agencies/${ownedBy(owner).slug}/people`
      const service = { url: elsewhere.baseUrl }
      const { body } = await elsewhere.portal(path, { name: 'Maria', role: 'desk' })
      const { answer, cookie, device } = await accept(service, secretIn(body.invitation.link))
      expect([answer.status, answer.headers.get('x-served-by')]).toEqual([200, owner.id])
      const me = (of: string) =>
        Promise.all([a, b].map(async (node) => (await node.ask('/portal/v1/me', { headers: { cookie: of } })).status))
      expect(await me(cookie)).toEqual([200, 200])
      const change = (method: string, json?: object) =>
        elsewhere.ask(`/portal/v1${path}/${body.person.id}`, { method, json, token: TEST_PORTAL_TOKEN })
      await change('PATCH', { role: 'viewer' })
      expect(await me(cookie)).toEqual([401, 401])
      const again = await signInWith(service, device)
      expect([again.body.actor.role, await me(cookieOf(again))]).toEqual(['viewer', [200, 200]])
      await change('DELETE')
      expect([await me(cookieOf(again)), (await signInWith(service, device)).status]).toEqual([[401, 401], 401])
    }
  })

  test('a unit’s calendar is read by any node', async () => {
    const { slug } = ownedBy(b)
    const { body } = await a.portal(`/agencies/${slug}/units/sea-view/calendar-feed`)
    expect(body.calendarFeed.url).toBe(TEST_PAGE_URL + body.calendarFeed.path)
    for (const node of [a, b]) expect((await node.ask(body.calendarFeed.path)).text).toStartWith('BEGIN:VCALENDAR')
    expect((await a.ask(body.calendarFeed.path.replace('token=', 'token=x'))).status).toBe(404)
  })

  test('either node lists all agencies, and each creates them with a slug that no other has', async () => {
    const lists = await Promise.all([a, b].map((node) => node.portal('/agencies?pageSize=200')))
    expect(lists[0]?.body).toEqual(lists[1]?.body)
    for (const node of [a, b]) expect(lists[0]?.text).toContain(ownedBy(node).slug)
    const json = { name: 'Twice', currency: 'EUR', timezone: 'Europe/Lisbon', slug: 'twice' }
    const headers = { 'idempotency-key': 'create-twice' }
    const make = (node: NodeProcess, more = {}) =>
      node.ask('/portal/v1/agencies', { token: TEST_PORTAL_TOKEN, json, ...more })
    const made = await Promise.all([make(a, { headers }), make(b, { headers })])
    expect(made.map(({ status }) => status)).toEqual([201, 201])
    expect(made[0]?.text).toBe(made[1]?.text as string)
    for (const node of [a, b, a, b]) expect((await make(node)).body.code).toBe('SLUG_TAKEN')
  })

  test('wrong keys and tokens are refused by the node that is asked', async () => {
    const partner = await a.ask('/partner/v1/units', { token: `hr_live_${'x'.repeat(43)}` })
    expect([partner.status, partner.headers.get('x-served-by')]).toEqual([401, 'a'])
    expect((await b.ask('/portal/v1/me', { token: 'hp_live_x' })).status).toBe(401)
  })

  test('what a key has used of its minute goes with its agency to the next node', async () => {
    let token = ''
    for (let made = 0; token === ''; made++) {
      const options = { slug: `limited-${made}`, scopes: SCOPES, plan: { requestsPerMinute: 60 } }
      const key = await makeAgencyByPortal(a, options)
      if ((await a.ask('/partner/v1/units', { token: key })).headers.get('x-served-by') === 'b') token = key
    }
    for (let used = 1; used < 60; used++) expect((await a.ask('/partner/v1/units', { token })).status).toBe(200)
    b.kill('SIGTERM')
    expect(await b.exited).toBe(0)
    const after = await a.ask('/partner/v1/units', { token })
    expect([after.status, after.headers.get('x-served-by')]).toEqual([429, 'a'])
    // Each under its shard, so that nobody reads those of others.
    const [slots] = await database.sql`
      select count(*)::int as written, count(*) filter (where shard < 0)::int as undivided from rate_slot`
    expect([slots?.['written'] > 0, slots?.['undivided']]).toEqual([true, 0])
    b = await processes.start('b')
    await settled(a, 2)
  })

  test('while a node leaves and comes back, no request fails, and no acknowledged booking is missing', async () => {
    const failed: string[] = []
    const booked: { token: string; id: string }[] = []
    let night = 100
    let isOver = false
    const client = async (index: number) => {
      while (!isOver) {
        const { key: token } = ownedBy(index % 2 === 0 ? a : b)
        const write = await a.ask('/partner/v1/bookings', { token, json: stay(night++, 1) })
        if (write.status === 201) booked.push({ token, id: write.body.booking.id })
        else failed.push(`${write.status} ${write.text}`)
        const read = await a.ask('/partner/v1/units', { token })
        if (read.status !== 200) failed.push(`${read.status} ${read.text}`)
        // However fast the machine is, the nights of the calendar last.
        await Bun.sleep(20)
      }
    }
    const clients = Array.from({ length: 8 }, (_, index) => client(index))
    await Bun.sleep(500)
    b.kill('SIGTERM')
    expect(await b.exited).toBe(0)
    await Bun.sleep(500)
    b = await processes.start('b')
    await Bun.sleep(1_500)
    isOver = true
    await Promise.all(clients)
    expect(failed).toEqual([])
    expect(booked.length).toBeGreaterThan(20)
    for (const { token, id } of booked) expect((await a.ask(`/partner/v1/bookings/${id}`, { token })).status).toBe(200)
  })
})

describeWithEtcd('CLUSTER_SECRET', () => {
  longTest(
    'is changed node by node in two rounds, and no request fails; a node without it gets a clear answer',
    async () => {
      const etcd = await EtcdServers.start()
      const database = await testDatabase()
      const processes = new NodeProcesses(database.url, etcd)
      try {
        const [before, after] = ['before', 'after'].map((text) => text.padEnd(32, '-')) as [string, string]
        const withSecret = (id: string, CLUSTER_SECRET: string) => processes.start(id, { CLUSTER_SECRET })
        const nodes = new Map<string, NodeProcess>()
        for (const id of ['a', 'b']) nodes.set(id, await withSecret(id, before))
        const node = (id: string) => nodes.get(id) as NodeProcess
        await settled(node('a'), 2)
        const keys = new Map<string, string>()
        for (let made = 0; keys.size < 2; made++) {
          const key = await makeAgencyByPortal(node('a'), { slug: `agency-${made}`, scopes: SCOPES })
          keys.set((await node('a').ask('/partner/v1/units', { token: key })).headers.get('x-served-by') ?? '', key)
        }
        const restart = async (id: string, secret: string) => {
          node(id).kill('SIGTERM')
          expect(await node(id).exited).toBe(0)
          nodes.set(id, await withSecret(id, secret))
          await settled(node('a'), 2)
        }
        const answers = async () => {
          const all = [...nodes.values()].flatMap((entry) =>
            [...keys.values()].map((token) => entry.ask('/partner/v1/units', { token })),
          )
          return (await Promise.all(all)).map(({ status }) => status)
        }
        let night = 0
        for (const secret of [`${after},${before}`, after])
          for (const id of ['a', 'b']) {
            await restart(id, secret)
            expect(await answers()).toEqual([200, 200, 200, 200])
            night += 3
            for (const entry of nodes.values())
              for (const token of keys.values()) {
                night += 3
                expect((await entry.ask('/partner/v1/bookings', { token, json: stay(night) })).status).toBe(201)
              }
          }
        // The first round is left out.
        await restart('b', 'another'.padEnd(32, '-'))
        expect((await answers()).toSorted()).toEqual([200, 200, 500, 500])
        const { body } = await node('a').ask('/partner/v1/units', { token: keys.get('b') as string })
        expect(body).toMatchObject({ code: 'INTERNAL', title: expect.stringContaining('not accept each other') })
        const reported = node('a')
          .log()
          .split('\n')
          .filter((line) => line.includes('CLUSTER_SECRET'))
        expect(reported.map((line) => JSON.parse(line))).toMatchObject([
          { level: 50, node: 'b', url: node('b').baseUrl },
        ])
        expect((await node('a').ask('/metrics')).text).toContain(
          'nightledger_cluster_requests_total{outcome="refused"} 2',
        )
      } finally {
        await processes.stop()
        await database.drop()
        await etcd.stop()
      }
    },
    180_000,
  )
})

describeWithEtcd('two nodes with ADMIN_PORT', () => {
  test('the operator is served by either node’s admin listener for the agencies of both, and by PORT of neither', async () => {
    const etcd = await EtcdServers.start()
    const database = await testDatabase()
    const processes = new NodeProcesses(database.url, etcd)
    try {
      const a = await processes.start('a', { ADMIN_PORT: '0' })
      const b = await processes.start('b', { ADMIN_PORT: '0' })
      await settled(a, 2)
      const of = new Map<string | null, string>()
      for (let made = 0; of.size < 2; made++) {
        const slug = `agency-${made}`
        const key = await makeAgencyByPortal(made % 2 === 0 ? a : b, { slug, scopes: SCOPES })
        of.set((await a.ask('/partner/v1/units', { token: key })).headers.get('x-served-by'), slug)
      }
      expect([...of.keys()].toSorted()).toEqual(['a', 'b'])
      for (const slug of of.values())
        for (const node of [a, b]) {
          expect((await node.portal(`/agencies/${slug}/units`)).status).toBe(200)
          const onPort = await node.ask(`/portal/v1/agencies/${slug}/units`, { token: TEST_PORTAL_TOKEN })
          expect(onPort.status).toBe(401)
        }
    } finally {
      await processes.stop()
      await database.drop()
      await etcd.stop()
    }
  })
})
