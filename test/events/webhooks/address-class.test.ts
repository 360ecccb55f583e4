import { describe, expect, test } from 'bun:test'
import {
  type AddressRefusal,
  REFUSED_IN_GLOBAL_IPV6,
  REFUSED_IPV4,
  refusalOfAddress,
} from '../../../src/events/webhooks/address-class.ts'
import { parseEndpointUrl } from '../../../src/events/webhooks/endpoint-url.ts'
import { guardedPost } from '../../../src/events/webhooks/guarded-post.ts'
import type { NameResolver } from '../../../src/events/webhooks/name-resolver.ts'

/** Hosts as an agency may write them in a URL: every notation of a refused address, and the reason. */
const BAD: [string, AddressRefusal][] = [
  ['127.0.0.1', 'loopback'],
  ['127.255.255.254', 'loopback'],
  ['127.1', 'loopback'],
  ['127.0.1', 'loopback'],
  ['0x7f.1', 'loopback'],
  ['0x7f000001', 'loopback'],
  ['0X7F.0.0.0x1', 'loopback'],
  ['2130706433', 'loopback'],
  ['017700000001', 'loopback'],
  ['0177.0.0.1', 'loopback'],
  ['127.0.0.1.', 'loopback'],
  ['１２７.０.０.１', 'loopback'],
  ['127。0。0。1', 'loopback'],
  ['%31%32%37.0.0.1', 'loopback'],
  ['0', 'unspecified'],
  ['0.0.0.0', 'unspecified'],
  ['0.1.2.3', 'unspecified'],
  ['10.0.0.1', 'private'],
  ['10.255.255.255', 'private'],
  ['10.1', 'private'],
  ['0xa.0.0.1', 'private'],
  ['012.0.0.1', 'private'],
  ['167772161', 'private'],
  ['172.16.0.1', 'private'],
  ['172.31.255.255', 'private'],
  ['192.168.0.1', 'private'],
  ['192.168.1', 'private'],
  ['3232235777', 'private'],
  ['100.64.0.1', 'carrier_grade_nat'],
  ['100.127.255.255', 'carrier_grade_nat'],
  ['169.254.169.254', 'link_local'],
  ['0xa9fea9fe', 'link_local'],
  ['2852039166', 'link_local'],
  ['168.63.129.16', 'cloud_platform'],
  ['192.0.0.1', 'reserved'],
  ['192.0.0.170', 'reserved'],
  ['192.0.2.1', 'documentation'],
  ['198.51.100.7', 'documentation'],
  ['203.0.113.255', 'documentation'],
  ['192.31.196.1', 'reserved'],
  ['192.52.193.1', 'reserved'],
  ['192.88.99.1', 'reserved'],
  ['192.175.48.1', 'reserved'],
  ['198.18.0.1', 'benchmarking'],
  ['198.19.255.255', 'benchmarking'],
  ['224.0.0.1', 'multicast'],
  ['239.255.255.255', 'multicast'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'reserved'],
  ['[::]', 'unspecified'],
  ['[::1]', 'loopback'],
  ['[0:0:0:0:0:0:0:1]', 'loopback'],
  ['[0000:0000:0000:0000:0000:0000:0000:0001]', 'loopback'],
  ['[::ffff:127.0.0.1]', 'loopback'],
  ['[::ffff:7f00:1]', 'loopback'],
  ['[::ffff:10.0.0.1]', 'private'],
  ['[::ffff:a9fe:a9fe]', 'link_local'],
  ['[::ffff:8.8.8.8]', 'reserved'],
  ['[::127.0.0.1]', 'reserved'],
  ['[::ffff:0:127.0.0.1]', 'reserved'],
  ['[64:ff9b::7f00:1]', 'reserved'],
  ['[64:ff9b:1::1]', 'reserved'],
  ['[100::1]', 'reserved'],
  ['[fc00::1]', 'private'],
  ['[fd12:3456:789a::1]', 'private'],
  ['[fe80::1]', 'link_local'],
  ['[febf::1]', 'link_local'],
  ['[fec0::1]', 'private'],
  ['[ff02::1]', 'multicast'],
  ['[2001::1]', 'reserved'],
  ['[2001:10::1]', 'reserved'],
  ['[2001:1ff::1]', 'reserved'],
  ['[2001:db8::1]', 'documentation'],
  ['[2002:7f00:1::]', 'reserved'],
  ['[3fff::1]', 'documentation'],
  ['[2620:4f:8000::1]', 'reserved'],
  ['[4000::1]', 'reserved'],
  ['[5f00::1]', 'reserved'],
]

const GOOD = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.1',
  '93.184.216.34',
  '100.63.255.255',
  '100.128.0.1',
  '126.255.255.255',
  '128.0.0.1',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.1',
  '192.0.1.1',
  '198.17.255.255',
  '223.255.255.255',
  '[2606:4700:4700::1111]',
  '[2a00:1450:4001:80b::200e]',
  '[2001:200::1]',
  '[2620:4f:7fff::1]',
  '[3ffe:ffff::1]',
]

const NEVER: NameResolver = {
  resolve: async (host) => {
    throw new Error(`A literal address was looked up: ${host}`)
  },
}

describe('an address', () => {
  test.each(BAD)('https://%s/ is refused as %s before any connection', async (host, refusal) => {
    const target = parseEndpointUrl(`https://${host}/`, [])
    if (typeof target === 'string') throw new Error(target)
    expect(target.isLiteral).toBe(true)
    expect(refusalOfAddress(target.host)).toBe(refusal)
    const connects = countConnects()
    const { outcome } = await guardedPost({ resolver: NEVER, allowHosts: [] })(`https://${host}/`, {
      headers: {},
      body: '',
    })
    expect(outcome).toEqual({ kind: 'refused', refusal })
    expect(connects.end()).toBe(0)
  })

  test.each(GOOD)('%s is publicly routable', (host) => {
    const target = parseEndpointUrl(`https://${host}/`, [])
    if (typeof target === 'string') throw new Error(target)
    expect(refusalOfAddress(target.host)).toBeNull()
  })

  test.each([
    '',
    'localhost',
    '1.2.3',
    '1.2.3.4.5',
    '01.2.3.4',
    '1.2.3.256',
    'fe80::1%eth0',
    '2606:4700::1111%1',
    '::g',
    '1::2::3',
    ' 8.8.8.8',
    '8.8.8.8 ',
  ])('"%s", which no resolver writes, is refused', (text) => {
    expect(refusalOfAddress(text)).toBe('unparsable')
  })

  test('every refused range is refused from its first to its last address, and no further', () => {
    const number = (text: string) => text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
    const text = (n: number) => [24, 16, 8, 0].map((shift) => Math.floor(n / 2 ** shift) % 256).join('.')
    const ranges = REFUSED_IPV4.map(([range]) => {
      const [from = '', bits = ''] = range.split('/')
      return { from: number(from), to: number(from) + 2 ** (32 - Number(bits)) - 1 }
    })
    const isIn = (n: number) => ranges.some(({ from, to }) => n >= from && n <= to)
    for (const { from, to } of ranges) {
      for (const n of [from - 1, from, Math.floor((from + to) / 2), to, to + 1]) {
        if (n < 0 || n >= 2 ** 32) continue
        expect([text(n), refusalOfAddress(text(n)) !== null]).toEqual([text(n), isIn(n)])
      }
    }
    for (const [range] of REFUSED_IN_GLOBAL_IPV6) {
      expect(refusalOfAddress(range.split('/')[0] ?? '')).not.toBeNull()
    }
  })
})

/** Counts the calls of `fetch` meanwhile. */
function countConnects(): { end(): number } {
  const real = globalThis.fetch
  let requests = 0
  globalThis.fetch = Object.assign(
    async () => {
      requests += 1
      return new Response()
    },
    { preconnect: real.preconnect },
  )
  return {
    end: () => {
      globalThis.fetch = real
      return requests
    },
  }
}
