import { expect, test } from 'bun:test'
import { mailLink, phoneLink } from '../../../src/page/format/texts.ts'

test('an e-mail link has the guest as its only recipient, whatever is in the address', () => {
  expect(mailLink('ines.prado@example.com')).toBe('mailto:ines.prado@example.com')
  const { pathname, search } = new URL(mailLink('a?bcc=other%40example.net&body=hello@example.com'))
  expect(decodeURIComponent(pathname)).toBe('a?bcc=other%40example.net&body=hello@example.com')
  expect(search).toBe('')
})

test('a telephone link has nothing in it but the number', () => {
  expect(phoneLink('+351 (21) 123-456;ext=9?x')).toBe('tel:+351211234569')
})
