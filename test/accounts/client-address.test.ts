import { describe, expect, test } from 'bun:test'
import { ClientAddresses, clientNetworkOf, parseNetworks } from '../../src/accounts/client-address.ts'

const proxied = new ClientAddresses(['127.0.0.1', '10.0.0.0/8', 'fd00::/8'])

describe('the client is', () => {
  test.each([
    ['the peer when no proxy is trusted, whatever the header says', [], '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['the peer when it is not a trusted proxy', ['10.0.0.0/8'], '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['what the trusted proxy has appended', ['10.0.0.1'], '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['not what the client wrote before it', ['10.0.0.1'], '10.0.0.1', '1.1.1.1, 198.51.100.1', '198.51.100.1'],
    [
      'before the last of a row of trusted proxies',
      ['127.0.0.1', '10.0.0.0/8'],
      '127.0.0.1',
      '1.1.1.1, 198.51.100.1, 10.1.2.3,10.0.0.7',
      '198.51.100.1',
    ],
    ['the first proxy when all addresses are trusted', ['10.0.0.0/8'], '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['the proxy when it has sent no header', ['10.0.0.1'], '10.0.0.1', null, '10.0.0.1'],
    ['the proxy when its header is empty', ['10.0.0.1'], '10.0.0.1', '', '10.0.0.1'],
    [
      'the last trusted proxy before garbage',
      ['10.0.0.0/8'],
      '10.0.0.1',
      '198.51.100.1, unknown, 10.0.0.2',
      '10.0.0.2',
    ],
    ['not read from an octal or short form', ['10.0.0.1'], '10.0.0.1', '0x7f.0.0.1', '10.0.0.1'],
    ['read with a port', ['10.0.0.1'], '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['read with brackets and a port', ['10.0.0.1'], '10.0.0.1', '[2001:DB8::1]:4711', '2001:db8::1'],
    ['an IPv4 address behind an IPv6 socket', [], '::ffff:203.0.113.9', null, '203.0.113.9'],
    ['found when the proxy comes over an IPv6 socket', ['10.0.0.1'], '::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['found when the proxy is given as mapped', ['::ffff:10.0.0.1'], '10.0.0.1', '::ffff:c633:6401', '198.51.100.1'],
    ['found when the network is given as mapped', ['::ffff:10.0.0.0/104'], '10.9.9.9', '198.51.100.1', '198.51.100.1'],
    ['an IPv6 address behind an IPv6 proxy', ['fd00::/8'], 'fd12::1', '2001:db8:0:0::5', '2001:db8::5'],
    ['a link-local peer without its zone', [], 'fe80::1%eth0', null, 'fe80::1'],
    ['unknown when the connection has gone', ['10.0.0.1'], null, '198.51.100.1', 'unknown'],
  ] as const)('%s', (_, trusted, peer, forwardedFor, client) => {
    expect(new ClientAddresses(trusted).of({ peer, forwardedFor })).toBe(client)
  })

  test('never an address that a client behind a trusted proxy has made up', () => {
    for (const forged of ['10.0.0.9', '127.0.0.1', '::1', 'fd00::1', 'garbage', '', '10.0.0.1,'.repeat(1_000)])
      expect(proxied.of({ peer: '10.0.0.1', forwardedFor: `${forged}, 198.51.100.1` })).toBe('198.51.100.1')
  })
})

describe('one client has', () => {
  test.each([
    ['its IPv4 address', '198.51.100.1', '198.51.100.1'],
    ['the /64 of its IPv6 address', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::'],
    ['the /64 of a short IPv6 address', '::1', '::'],
    ['no address at all', 'unknown', 'unknown'],
  ])('%s', (_, address, network) => {
    expect(clientNetworkOf(address)).toBe(network)
  })
})

test.each([
  [['127.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8', '10.0.0.5/8'], true],
  [['128.0.0.0/1', '8000::/1'], true],
  [['localhost'], false],
  [['10.0.0'], false],
  [['10.0.0.0/33'], false],
  [['fd00::/129'], false],
  [['fe80::1%eth0'], false],
  [['10.0.0.0/'], false],
  [[''], false],
  // Would let every client choose its address.
  [['0.0.0.0/0'], false],
  [['::/0'], false],
  [['::ffff:0.0.0.0/96'], false],
] as const)('%p: are these proxies to be trusted? %p', (texts, isValid) => {
  expect(parseNetworks(texts) !== null).toBe(isValid)
})
