import { afterEach, beforeAll, expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import { FEED_BYTES_MAX, fetchFeed } from '../../src/cli/feed-fetch.ts'
import { refusalOfAddress } from '../../src/events/webhooks/address-class.ts'
import { type ServerCertificate, TestAuthority } from '../support/test-authority.ts'

/*
 * X2, against real hosts on loopback. `127.0.0.1` stands for the Internet when a test says so; otherwise it is what it is:
 * an address that no redirect may lead to.
 */

const NAME = 'feeds.example'
const TOO_LARGE = `it is larger than ${FEED_BYTES_MAX} bytes`

let authority: TestAuthority
let certificate: ServerCertificate
const hosts: Bun.Server<undefined>[] = []

beforeAll(async () => {
  authority = await TestAuthority.create()
  certificate = await authority.issue({ names: [NAME] })
})
afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.stop(true)))
})

function host(answer: (request: Request) => Response, tls?: ServerCertificate): Bun.Server<undefined> {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer, ...(tls === undefined ? {} : { tls }) })
  hosts.push(server)
  return server
}

const feedAt = ({ port }: Bun.Server<undefined>, options = {}) => fetchFeed(`http://127.0.0.1:${port}/f.ics`, options)

const resolver = (...addresses: string[]) => ({ resolve: async () => addresses })

/** Redirects to loopback are followed, by names that only the test knows. */
const onLoopback = () => ({
  resolver: resolver('127.0.0.1'),
  trustedCa: [authority.pem],
  refusalOf: (address: string) => (address === '127.0.0.1' ? null : refusalOfAddress(address)),
})

test('a feed is read, compressed or not', async () => {
  expect(await feedAt(host(() => new Response('BEGIN:VCALENDAR')))).toBe('BEGIN:VCALENDAR')
  const headers = { 'content-encoding': 'gzip' }
  expect(await feedAt(host(() => new Response(gzipSync('BEGIN:VCALENDAR é'), { headers })))).toBe('BEGIN:VCALENDAR é')
})

test('a body without an end is read up to the limit, and no further', async () => {
  let sent = 0
  const piece = new Uint8Array(1 << 20)
  const endless = host(
    () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            // Without the limit, the test fails rather than to fill the memory.
            if (sent++ > 60) controller.close()
            else controller.enqueue(piece)
          },
        }),
      ),
  )
  await expect(feedAt(endless)).rejects.toThrow(TOO_LARGE)
  await feedAt(endless).catch(() => {})
  expect(sent).toBeLessThan(50)
})

test('a small body that decodes to a large one is refused by its decoded size', async () => {
  const body = gzipSync(Buffer.alloc(FEED_BYTES_MAX + 1, 0x20))
  expect(body.byteLength).toBeLessThan(10_000)
  const headers = { 'content-encoding': 'gzip' }
  await expect(feedAt(host(() => new Response(body, { headers })))).rejects.toThrow(TOO_LARGE)
})

test('another encoding, a body that is not what it says, and a refusal are named', async () => {
  const encoded = (encoding: string) => host(() => new Response('x', { headers: { 'content-encoding': encoding } }))
  await expect(feedAt(encoded('br'))).rejects.toThrow('its Content-Encoding is br, which must be gzip or none')
  await expect(feedAt(encoded('gzip'))).rejects.toThrow('its body is not gzip')
  await expect(feedAt(host(() => new Response('', { status: 404 })))).rejects.toThrow('it answered 404')
})

test('a host that sends its headers and then waits is left at the deadline', async () => {
  const slow = host(() => new Response(new ReadableStream({ start: (controller) => controller.enqueue('BEGIN') })))
  await expect(feedAt(slow, { deadlineMs: 300 })).rejects.toThrow('it took longer than 0.3 s')
})

test.each([
  ['http://feeds.example/f.ics', 'must be an https URL'],
  ['https://user:password@feeds.example/f.ics', 'without a password'],
  ['file:///etc/passwd', 'must be an https URL'],
  ['https://127.0.0.1/f.ics', 'is not publicly routable'],
  ['https://0x7f.1/f.ics', 'is not publicly routable'],
  ['https://[::1]/f.ics', 'is not publicly routable'],
  ['https://169.254.169.254/latest', 'is not publicly routable'],
])('a redirect to %s is refused', async (location, reason) => {
  const away = host(() => new Response(null, { status: 302, headers: { location } }))
  await expect(feedAt(away, { resolver: resolver('192.0.2.1') })).rejects.toThrow(reason)
})

test('a redirect to a name with an inner address is refused, and nothing is asked there', async () => {
  let requests = 0
  const inner = host(() => {
    requests += 1
    return new Response('secret')
  }, certificate)
  const location = `https://${NAME}:${inner.port}/f.ics`
  const away = host(() => new Response(null, { status: 302, headers: { location } }))
  const options = { trustedCa: [authority.pem], resolver: resolver('127.0.0.1') }
  await expect(feedAt(away, options)).rejects.toThrow('is not publicly routable')
  await feedAt(away, options).catch(() => {})
  expect(requests).toBe(0)
  expect(await feedAt(away, onLoopback())).toBe('secret')
})

test('redirects are followed by name, relative ones too, up to three', async () => {
  const host1 = host((request) => {
    const { pathname } = new URL(request.url)
    if (pathname === '/end') return new Response(request.headers.get('host'))
    const left = Number(pathname.slice(1))
    return new Response(null, { status: 307, headers: { location: left === 0 ? '/end' : `/${left - 1}` } })
  }, certificate)
  const away = (left: number) =>
    host(() => new Response(null, { status: 301, headers: { location: `https://${NAME}:${host1.port}/${left}` } }))
  expect(await feedAt(away(1), onLoopback())).toBe(`${NAME}:${host1.port}`)
  await expect(feedAt(away(2), onLoopback())).rejects.toThrow('it redirects more than 3 times')
})
