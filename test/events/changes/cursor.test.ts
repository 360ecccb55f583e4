import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { NO_LINK } from '../../../src/core/journal/shard.ts'
import { Cursors, fingerprintOf } from '../../../src/events/changes/cursor.ts'
import { sampleId } from '../../support/samples.ts'

const HISTORY = '01020304-0506-4708-890a-0b0c0d0e0f10'
const OTHER_HISTORY = '11020304-0506-4708-890a-0b0c0d0e0f10'
const A = new Cursors(HISTORY, sampleId('agc', 'a'), 'partner')
const B = new Cursors(HISTORY, sampleId('agc', 'b'), 'partner')

const position = fc.record({
  seq: fc.oneof(fc.constantFrom(0, 1, Number.MAX_SAFE_INTEGER), fc.maxSafeNat()),
  fingerprint: fc.uint8Array({ minLength: 8, maxLength: 8 }).map((bytes) => bytes.toHex()),
})

describe('a cursor', () => {
  test('is read as it was written, and goes into a URL as it is', () => {
    fc.assert(
      fc.property(position, (written) => {
        const text = A.write(written)
        expect(text).toMatch(/^[\w-]{50}$/)
        expect(A.read(text)).toEqual({ kind: 'read', position: written })
      }),
    )
  })

  test('of another agency, and of another history, is told apart', () => {
    fc.assert(
      fc.property(position, (written) => {
        expect(A.read(B.write(written))).toMatchObject({ kind: 'of_another_agency' })
        const other = new Cursors(OTHER_HISTORY, sampleId('agc', 'a'), 'partner').write(written)
        expect(A.read(other)).toEqual({ kind: 'of_another_history' })
        expect(B.read(other)).toMatchObject({ kind: 'of_another_agency' })
      }),
    )
  })

  test('of another feed is malformed', () => {
    const portal = new Cursors(HISTORY, sampleId('agc', 'a'), 'portal')
    fc.assert(
      fc.property(position, (written) => {
        expect(A.read(portal.write(written))).toEqual({ kind: 'malformed' })
        expect(portal.read(A.write(written))).toEqual({ kind: 'malformed' })
        expect(portal.read(portal.write(written))).toEqual({ kind: 'read', position: written })
      }),
    )
  })

  test('with one byte changed is malformed', () => {
    fc.assert(
      fc.property(position, fc.nat({ max: 36 }), fc.integer({ min: 1, max: 255 }), (written, at, change) => {
        const bytes = Buffer.from(A.write(written), 'base64url')
        bytes[at] = (bytes[at] ?? 0) ^ change
        expect(A.read(bytes.toString('base64url'))).toEqual({ kind: 'malformed' })
      }),
    )
  })

  test('in another notation of the same bytes is malformed: nobody has got it from us', () => {
    const text = A.write({ seq: 1, fingerprint: '0123456789abcdef' })
    const last = text.at(-1) ?? ''
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const same = [...alphabet].filter((char) => {
      const other = text.slice(0, -1) + char
      return char !== last && Buffer.from(other, 'base64url').equals(Buffer.from(text, 'base64url'))
    })
    expect(same.length).toBeGreaterThan(0)
    for (const char of same) expect(A.read(text.slice(0, -1) + char)).toEqual({ kind: 'malformed' })
  })

  test('that is any text is malformed', () => {
    fc.assert(fc.property(fc.string(), (text) => expect(A.read(text)).toEqual({ kind: 'malformed' })))
  })
})

test('a fingerprint is the beginning of a link, or zeros before the first', () => {
  expect(fingerprintOf(NO_LINK)).toBe('0000000000000000')
  expect(fingerprintOf(new Uint8Array(32).fill(0xab))).toBe('abababababababab')
})
