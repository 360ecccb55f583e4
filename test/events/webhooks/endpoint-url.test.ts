import { describe, expect, test } from 'bun:test'
import {
  parseEndpointUrl,
  refusalSentence,
  type Target,
  URL_LENGTH_MAX,
} from '../../../src/events/webhooks/endpoint-url.ts'

describe('an endpoint’s URL', () => {
  test.each([
    ['', 'not_a_url'],
    ['hooks.example/in', 'not_a_url'],
    ['https://', 'not_a_url'],
    ['https://[::1', 'not_a_url'],
    ['https://1.2.3.4.5.6.7.8/', 'not_a_url'],
    ['http://hooks.example/', 'not_https'],
    ['ftp://hooks.example/', 'not_https'],
    ['file:///etc/passwd', 'not_a_url'],
    ['javascript:alert(1)', 'not_a_url'],
    ['https://user@hooks.example/', 'credentials'],
    ['https://user:secret@hooks.example/', 'credentials'],
    ['https://hooks.example:0/', 'port_zero'],
    [`https://hooks.example/${'a'.repeat(URL_LENGTH_MAX)}`, 'too_long'],
    // Short enough as it is written, but not as it would be sent.
    [`https://hooks.example/${'é'.repeat(URL_LENGTH_MAX / 4)}`, 'too_long'],
    ['https://-bad.example/', 'bad_host'],
    ['https://a..b/', 'bad_host'],
    ['https://a!b/', 'bad_host'],
  ])('%s is refused as %s', (url, refusal) => {
    expect(parseEndpointUrl(url, [])).toBe(refusal as ReturnType<typeof parseEndpointUrl>)
  })

  test.each([
    ['https://hooks.example', { host: 'hooks.example', port: 443 }],
    ['https://Hooks.Example:8443/in?a=b#frag', { url: 'https://hooks.example:8443/in?a=b', port: 8_443 }],
    ['https://münchen.example/', { host: 'xn--mnchen-3ya.example' }],
    ['https://hooks.example./', { host: 'hooks.example.' }],
    ['https://[2606:4700::1]:444/', { host: '2606:4700::1', port: 444, isLiteral: true }],
  ])('%s is read', (url, expected) => {
    expect(parseEndpointUrl(url, [])).toMatchObject({ isExempt: false, ...expected })
  })

  test('what was accepted is accepted again as it is stored', () => {
    const room = URL_LENGTH_MAX - 'https://hooks.example/'.length
    const read = parseEndpointUrl(`https://hooks.example/${'é'.repeat(room / 6)}`, [])
    expect(read).toBeObject()
    expect(parseEndpointUrl((read as Target).url, [])).toEqual(read)
  })

  test('an exempt receiver is one host and port exactly, and may be plain http', () => {
    const allow = ['localhost:9000', '[::1]:9000']
    expect(parseEndpointUrl('http://localhost:9000/in', allow)).toMatchObject({ isExempt: true })
    expect(parseEndpointUrl('http://LOCALHOST:9000/in', allow)).toMatchObject({ isExempt: true })
    expect(parseEndpointUrl('https://[::1]:9000/in', allow)).toMatchObject({ isExempt: true })
    expect(parseEndpointUrl('http://localhost:9001/in', allow)).toBe('not_https')
    expect(parseEndpointUrl('http://localhost.:9000/in', allow)).toBe('not_https')
    expect(parseEndpointUrl('https://localhost/in', allow)).toMatchObject({ isExempt: false })
    expect(parseEndpointUrl('ftp://localhost:9000/in', allow)).toBe('not_https')
  })

  test('a refused address is described only in the contract’s words', () => {
    expect(refusalSentence('private')).toBe('endpoint address is not publicly routable')
    expect(refusalSentence('loopback')).toBe('endpoint address is not publicly routable')
    expect(refusalSentence('not_https')).toBe('url must begin with https://')
  })
})
