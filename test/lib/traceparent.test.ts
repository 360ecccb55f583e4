import { describe, expect, test } from 'bun:test'
import { SeededRandom } from '../../src/lib/seeded-random.ts'
import { childOf, isSampled, spanIdOf, traceIdOf, traceparentIn } from '../../src/lib/traceparent.ts'
import { HOSTILE } from '../support/hostile-values.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const VALID = `00-${TRACE}-${SPAN}-01`

const read = (header: string | null) => traceparentIn({ headers: { get: () => header } })

test('a traceparent of version 00 is read, with no flag but `sampled`', () => {
  expect(read(VALID)).toBe(VALID)
  expect([traceIdOf(VALID), spanIdOf(VALID), isSampled(VALID)]).toEqual([TRACE, SPAN, true])
  for (const [flags, kept] of [
    ['00', '00'],
    ['02', '00'],
    ['03', '01'],
    ['ff', '01'],
  ])
    expect(read(`00-${TRACE}-${SPAN}-${flags}`)).toBe(`00-${TRACE}-${SPAN}-${kept}`)
})

describe('counts as absent:', () => {
  test.each<[string, string | null]>([
    ['none', null],
    ['an empty one', ''],
    ['another version', `01-${TRACE}-${SPAN}-01`],
    ['the version that is forbidden', `ff-${TRACE}-${SPAN}-01`],
    ['more than version 00 has', `${VALID}-00`],
    ['upper case', VALID.toUpperCase()],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['a short trace id', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['a long span id', `00-${TRACE}-${SPAN}0-01`],
    ['no flags', `00-${TRACE}-${SPAN}`],
    ['a digit that is none', `00-${TRACE.replace('4', 'g')}-${SPAN}-01`],
    ['other digits', `00-${TRACE.replace('4', '\u0664')}-${SPAN}-01`],
    ['a blank before it', ` ${VALID}`],
    ['a line end after it', `${VALID}\n`],
    ['two headers in one', `${VALID}, ${VALID}`],
    ...Object.entries(HOSTILE).map(([name, make]) => [name, make(55)] as [string, string]),
  ])('%s', (_, header) => {
    expect(read(header)).toBeNull()
  })
})

test('whatever one character is changed to, what is read is what was sent but for the flags, or nothing', () => {
  const random = new SeededRandom(37)
  for (let round = 0; round < 20_000; round++) {
    const at = random.below(VALID.length + 1)
    const changed = VALID.slice(0, at) + String.fromCharCode(random.below(0x100)) + VALID.slice(at + random.below(2))
    const kept = read(changed)
    if (kept !== null)
      expect([kept.slice(0, 54), /^[01]$/.test(kept.slice(54))]).toEqual([`${changed.slice(0, 53)}0`, true])
    if (kept !== null) expect(read(kept)).toBe(kept)
  }
})

test('a child has the trace and the flag of its parent, and a span of its own', () => {
  for (const parent of [VALID, `00-${TRACE}-${SPAN}-00`]) {
    const child = childOf(parent)
    expect(read(child)).toBe(child)
    expect([traceIdOf(child), isSampled(child)]).toEqual([TRACE, isSampled(parent)])
    expect(spanIdOf(child)).not.toBe(SPAN)
  }
})
