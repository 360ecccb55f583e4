/** HAProxy with deploy/cluster/haproxy.cfg: what it lets through, and what it learns. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { HOSTS } from '../support/cluster/documented-files.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { sendRaw } from '../support/raw-http.ts'

const FOLDER = resolve('deploy/cluster')
/** Longer than HAProxy waits before it sends a read to another node. */
const LONG_MS = 3_500
const KEY = { authorization: 'Bearer a key' }

describe.skipIf(Bun.which('haproxy') === null)('the load balancer of a cluster', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nightledger-entrance-'))
  const port = freePort()
  const url = `http://127.0.0.1:${port}`
  const requests: { readonly host: string; readonly hop: string | null }[] = []
  /** What the nodes say of who has answered; null: nothing. */
  let servedBy: string | null = null
  let haproxy: Bun.Subprocess | undefined
  const nodes = HOSTS.map((host) =>
    Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: async (request) => {
        const { pathname } = new URL(request.url)
        if (pathname === '/readyz') return new Response()
        requests.push({ host, hop: request.headers.get('x-nightledger-hop') })
        if (pathname.endsWith('/verification')) await Bun.sleep(LONG_MS)
        return new Response(null, { headers: servedBy === null ? {} : { 'X-Served-By': servedBy } })
      },
    }),
  )

  beforeAll(async () => {
    let text = readFileSync(join(FOLDER, 'haproxy.cfg'), 'utf8')
      .replace(/^ {2}(?:user|group) .*$/gm, '')
      .replace('bind :8080', `bind 127.0.0.1:${port}`)
      .replaceAll('/etc/haproxy', folder)
    for (const [i, host] of HOSTS.entries()) text = text.replaceAll(`${host}:3000`, `127.0.0.1:${nodes[i]?.port}`)
    writeFileSync(join(folder, 'haproxy.cfg'), text)
    writeFileSync(join(folder, 'owner.map'), readFileSync(join(FOLDER, 'owner.map')))
    haproxy = Bun.spawn(['haproxy', '-db', '-f', join(folder, 'haproxy.cfg')], { stdout: 'ignore', stderr: 'ignore' })
    await eventually('HAProxy listens', () =>
      fetch(`${url}/docs`).then(
        () => true,
        () => false,
      ),
    )
  })
  afterAll(async () => {
    haproxy?.kill('SIGKILL')
    await haproxy?.exited
    for (const node of nodes) await node.stop(true)
    rmSync(folder, { recursive: true, force: true })
  })
  beforeEach(() => {
    requests.length = 0
    servedBy = null
  })

  test.each([
    ['/metrics'],
    ['/docs/../metrics'],
    ['/partner/v1/%2e%2E/%2e%2e/cluster'],
    ['/portal/..\\metrics'],
    ['/docs/.%2E/metrics%zz'],
    ['/partner/v1/units/..'],
  ])('%s is refused: a node reads it as another path', async (path) => {
    const [answer] = await sendRaw(port, `GET ${path} HTTP/1.1\r\nHost: host\r\n\r\n`)
    expect([answer?.status, requests.length]).toEqual([404, 0])
  })

  test.each([['/partner/v1/units/a..b?q=/../'], ['/.well-known/nightledger-checkpoint-key']])(
    '%s passes',
    async (path) => {
      const [answer] = await sendRaw(port, `GET ${path} HTTP/1.1\r\nHost: host\r\n\r\n`)
      expect([answer?.status, requests.length]).toEqual([200, 1])
    },
  )

  test.each([['/'], ['/portal']])('%s leads to the page', async (path) => {
    const { status, headers } = await fetch(url + path, { redirect: 'manual' })
    expect([status, headers.get('location')?.replace(url, ''), requests.length]).toEqual([302, '/portal/', 0])
  })

  test('a header of the nodes does not come through', async () => {
    await fetch(`${url}/docs`, { headers: { 'X-Nightledger-Hop': 'x' } })
    expect(requests.map(({ hop }) => hop)).toEqual([null])
  })

  test('a verification is waited for, and not begun again on other nodes meanwhile', async () => {
    const { status } = await fetch(`${url}/portal/v1/verification`, { headers: KEY })
    expect([status, requests.length]).toEqual([200, 1])
  }, 30_000)

  const hostsOfReads = async () => {
    servedBy = null
    requests.length = 0
    for (let i = 0; i < 6; i++) await fetch(`${url}/partner/v1/units`, { headers: KEY })
    return new Set(requests.map(({ host }) => host))
  }

  test('whoever has answered a key is asked from then on; nothing is learned where any header gets an answer', async () => {
    servedBy = 'host2'
    await fetch(`${url}/partner/v1/units`, { headers: KEY, method: 'OPTIONS' })
    for (const path of ['/docs', '/partner/v1/openapi.json', '/portal/v1/agencies/a/units/b/calendar.ics?token=c'])
      await fetch(url + path, { headers: KEY })
    expect((await hostsOfReads()).size).toBe(3)
    servedBy = 'host2'
    await fetch(`${url}/partner/v1/units`, { headers: KEY })
    expect([...(await hostsOfReads())]).toEqual(['host2'])
  })

  test('when an agency has moved, one request of its key is forwarded, and the next one goes to the new owner, by any connection', async () => {
    servedBy = 'host2'
    await fetch(`${url}/partner/v1/units`, { headers: KEY })
    servedBy = 'host3'
    requests.length = 0
    await fetch(`${url}/partner/v1/units`, { headers: KEY })
    expect(requests.map(({ host }) => host)).toEqual(['host2'])
    requests.length = 0
    await Promise.all(Array.from({ length: 12 }, () => fetch(`${url}/partner/v1/units`, { headers: KEY })))
    expect(requests.map(({ host }) => host)).toEqual(requests.map(() => 'host3'))
  })
})
