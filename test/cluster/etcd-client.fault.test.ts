import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { type Entry, EtcdError } from '../../src/cluster/etcd/etcd.ts'
import { EtcdClient, type EtcdTls } from '../../src/cluster/etcd/etcd-client.ts'
import { parseEtcdEndpoints } from '../../src/cluster/etcd/etcd-endpoints.ts'
import { describeWithEtcd, EtcdServers } from '../support/etcd.ts'
import { eventually } from '../support/eventually.ts'
import { TestAuthority } from '../support/test-authority.ts'

const NOWHERE = '127.0.0.1:1'

function clientOf(url: string, tls: EtcdTls = {}, options: { attemptMs?: number } = {}): EtcdClient {
  const endpoints = parseEtcdEndpoints(url)
  if (endpoints === null) throw new Error(`${url} is no etcd`)
  // One attempt of a single member has no other that it could go to.
  const patient = endpoints.origins.length === 1 ? { attemptMs: 20_000 } : {}
  return new EtcdClient(endpoints, { tls, ...patient, ...options })
}

describeWithEtcd('etcd through its gateway', () => {
  let etcd: EtcdServers
  let client: EtcdClient
  const prefix = () => `/t/${crypto.randomUUID()}/`

  beforeAll(async () => {
    etcd = await EtcdServers.start()
    client = clientOf(etcd.url)
  })
  afterAll(() => etcd.stop())

  test('a change is made only while its condition holds, and each for itself', async () => {
    const lease = await client.grant(60)
    const other = await client.grant(60)
    const in_ = prefix()
    const key = `${in_}é`
    const put = { key, value: 'ü "x"', lease }
    const first = await client.commit([
      { ...put, condition: 'absent' },
      { ...put, key: `${in_}b`, condition: { lease } },
    ])
    expect(first.done).toEqual([true, false])
    expect((await client.commit([{ ...put, condition: 'absent' }])).done).toEqual([false])
    expect((await client.commit([{ ...put, value: null, condition: { lease: other } }])).done).toEqual([false])
    expect(await client.read(in_)).toMatchObject({ entries: [{ ...put, revision: first.revision }] })
    expect((await client.commit([{ ...put, value: null, condition: { lease } }])).done).toEqual([true])
    expect((await client.read(in_)).entries).toEqual([])
  })

  test('256 claims are made at once, in as many transactions as etcd allows', async () => {
    const lease = await client.grant(60)
    const in_ = prefix()
    const changes = Array.from({ length: 256 }, (_, index) => ({
      key: `${in_}${index}`,
      value: 'x',
      lease,
      condition: 'absent' as const,
    }))
    expect(new Set((await client.commit(changes)).done)).toEqual(new Set([true]))
    expect((await client.read(in_)).entries).toHaveLength(256)
  })

  test('a lease is renewed while it is there, and takes its keys along when it is gone', async () => {
    const lease = await client.grant(60)
    const in_ = prefix()
    await client.commit([{ key: `${in_}a`, value: 'x', lease, condition: 'absent' }])
    expect(await client.keepAlive(lease)).toBe(60)
    await client.revoke(lease)
    expect(await client.keepAlive(lease)).toBe(0)
    expect((await client.read(in_)).entries).toEqual([])
    await client.revoke(lease)
  })

  test('a watch tells of puts, of deletions and of ended leases, from the revision on that it is asked for', async () => {
    const lease = await client.grant(60)
    const in_ = prefix()
    const { revision } = await client.read(in_)
    const put = { key: `${in_}a`, value: '1', lease }
    await client.commit([{ ...put, condition: 'absent' }])
    const reported: Entry[] = []
    const ending = new AbortController()
    const watching = client.watch(
      { prefix: in_, fromRevision: revision + 1, signal: ending.signal },
      (events) => void reported.push(...events),
    )
    await client.commit([{ ...put, key: `${in_}b`, condition: 'absent' }])
    await client.commit([{ ...put, value: null, condition: { lease } }])
    await client.revoke(lease)
    await eventually('four changes are told', () => reported.length >= 4)
    expect(reported.map(({ key, value }) => [key.slice(in_.length), value])).toEqual([
      ['a', '1'],
      ['b', '1'],
      ['a', null],
      ['b', null],
    ])
    expect(reported.map(({ revision: at }) => at)).toEqual(
      reported.map(({ revision: at }) => at).toSorted((a, b) => a - b),
    )
    ending.abort()
    await watching
  })

  test('an endpoint that does not answer is passed over, and not asked first again', async () => {
    const both = clientOf(`http://${NOWHERE},${etcd.url}`)
    const lease = await both.grant(60)
    expect(await both.keepAlive(lease)).toBe(60)
  })

  test('without any endpoint a call fails, and says that it may have been done', async () => {
    const failing = clientOf(`http://${NOWHERE}`).grant(5)
    await expect(failing).rejects.toBeInstanceOf(EtcdError)
    await expect(failing).rejects.toMatchObject({ isRefusal: false })
  })

  test('a watch that cannot be opened ends by itself', async () => {
    const signal = new AbortController().signal
    await clientOf(`http://${NOWHERE}`).watch({ prefix: '/x/', fromRevision: 1, signal }, () => {})
  })
})

describeWithEtcd('etcd with users', () => {
  let etcd: EtcdServers
  // To compare a password takes etcd a tenth of a second of a core, which a busy machine may not have for a while.
  const named = (password: string) =>
    clientOf(etcd.url.replace('http://', `http://root:${password}@`), {}, { attemptMs: 20_000 })

  beforeAll(async () => {
    etcd = await EtcdServers.start()
    const post = async (path: string, body: object) => {
      const answer = await fetch(`${etcd.origins[0]}/v3/auth/${path}`, { method: 'POST', body: JSON.stringify(body) })
      if (!answer.ok) throw new Error(await answer.text())
    }
    await post('user/add', { name: 'root', password: 'right' })
    await post('role/add', { name: 'root' })
    await post('user/grant', { user: 'root', role: 'root' })
    await post('enable', {})
  })
  afterAll(() => etcd.stop())

  test('a user with the right password is let in, and again after etcd has forgotten the token', async () => {
    const client = named('right')
    const lease = await client.grant(60)
    etcd.signal(0, 'SIGKILL')
    await etcd.startMember(0)
    await eventually('it answers', () =>
      client.keepAlive(lease).then(
        () => true,
        () => false,
      ),
    )
    expect(await client.keepAlive(lease)).toBe(60)
  })

  test('no other is, and that is a refusal', async () => {
    await expect(named('wrong').grant(5)).rejects.toMatchObject({ isRefusal: true })
    await expect(clientOf(etcd.url).read('/x/')).rejects.toMatchObject({ isRefusal: true })
  })
})

describeWithEtcd('etcd with TLS', () => {
  test('is trusted only with its authority', async () => {
    const authority = await TestAuthority.create()
    const etcd = await EtcdServers.start(1, { certificate: await authority.issue({ addresses: ['127.0.0.1'] }) })
    try {
      const client = clientOf(etcd.url, { ca: authority.pem })
      const lease = await client.grant(60)
      expect(await client.keepAlive(lease)).toBe(60)
      const other = await TestAuthority.create()
      await expect(clientOf(etcd.url, { ca: other.pem }).grant(5)).rejects.toBeInstanceOf(EtcdError)
      await expect(clientOf(etcd.url).grant(5)).rejects.toBeInstanceOf(EtcdError)
    } finally {
      await etcd.stop()
    }
  })
})

describeWithEtcd('etcd that asks for client certificates', () => {
  test('answers only whoever shows one of its authority', async () => {
    const [authority, other] = [await TestAuthority.create(), await TestAuthority.create()]
    const certificate = await authority.issue({ addresses: ['127.0.0.1'] })
    const etcd = await EtcdServers.start(1, { certificate, clientAuthority: authority.pem })
    try {
      const ca = authority.pem
      const node = await authority.issue({ names: ['host1'] })
      const client = clientOf(etcd.url, { ca, ...node })
      const lease = await client.grant(60)
      expect(await client.keepAlive(lease)).toBe(60)
      const prefix = '/t/certificates/'
      const { revision } = await client.read(prefix)
      const reported: string[] = []
      const stop = new AbortController()
      const watching = client.watch({ prefix, fromRevision: revision + 1, signal: stop.signal }, (events) => {
        reported.push(...events.map(({ key }) => key))
      })
      await client.commit([{ key: `${prefix}a`, value: '1', lease, condition: 'absent' }])
      await eventually('the watch tells of it', () => reported.length === 1)
      stop.abort()
      await watching
      const stranger = await other.issue({ names: ['host1'] })
      for (const tls of [{ ca }, { ca, ...stranger }])
        await expect(clientOf(etcd.url, tls).grant(5)).rejects.toBeInstanceOf(EtcdError)
    } finally {
      await etcd.stop()
    }
  })
})

describeWithEtcd('three members', () => {
  let etcd: EtcdServers
  let client: EtcdClient

  beforeEach(async () => {
    etcd = await EtcdServers.start(3)
    client = clientOf(etcd.url)
  })
  afterEach(() => etcd.stop())

  test.each(['SIGKILL', 'SIGSTOP'] as const)(
    'the leader gets %s: a lease that is renewed lives on, and calls continue',
    async (signal) => {
      const lease = await client.grant(5)
      const in_ = `/t/${crypto.randomUUID()}/`
      await client.commit([{ key: `${in_}a`, value: 'x', lease, condition: 'absent' }])
      etcd.signal((await etcd.leader()) ?? 0, signal)
      await eventually('it is renewed', () =>
        client.keepAlive(lease).then(
          (ttlS) => ttlS > 0,
          () => false,
        ),
      )
      // While members elect, a call may fail; it is made again.
      await eventually('the key is there', () =>
        client.read(in_).then(
          ({ entries }) => entries.length === 1,
          () => false,
        ),
      )
    },
  )

  test('without a majority every call fails, and none says that it was refused', async () => {
    const lease = await client.grant(60)
    etcd.signal(0, 'SIGKILL')
    etcd.signal(1, 'SIGKILL')
    await eventually('it fails', () =>
      client.read('/t/').then(
        () => false,
        (error) => error instanceof EtcdError && !error.isRefusal,
      ),
    )
    await expect(client.commit([{ key: '/t/a', value: 'x', lease, condition: 'absent' }])).rejects.toMatchObject({
      isRefusal: false,
    })
  })
})
