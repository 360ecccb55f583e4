import { describe, expect, test } from 'bun:test'
import { Type } from '@sinclair/typebox'
import fc from 'fast-check'
import { decodeStrictly, queryReader, targetOf } from '../../src/http/request.ts'
import { charactersOf, choice, dateText, EMAIL_LENGTH_MAX, text } from '../../src/http/text-schema.ts'
import { FAULTS_MAX, validator } from '../../src/http/validator.ts'

const faults = (schema: Parameters<typeof validator>[0], value: unknown) => {
  const shape = validator(schema, 'body')
  return shape.passes(value) ? [] : shape.faultsOf(value).map(({ message }) => message)
}

describe('a length', () => {
  test('counts characters as JSON Schema does, not UTF-16 units', () => {
    const three = Type.Object({ name: text({ minLength: 2, maxLength: 3 }) })
    for (const name of ['ab', 'abc', '😀😀😀', 'é😀']) expect(faults(three, { name })).toEqual([])
    for (const name of ['a', 'abcd', '😀😀😀😀']) expect(faults(three, { name })).toHaveLength(1)
    expect(charactersOf('a😀é')).toBe(3)
  })
})

describe('an e-mail address', () => {
  const email = Type.Object({ email: text({ format: 'email', maxLength: EMAIL_LENGTH_MAX }) })
  test.each(['a@b.co', "o'neil+tag@sub.example.org", 'A.B@EXAMPLE.COM', `${'a'.repeat(64)}@example.com`])(
    '%s is one',
    (value) => {
      expect(faults(email, { email: value })).toEqual([])
    },
  )
  test.each([
    '',
    'a',
    'a@',
    '@b.co',
    'a@b',
    'a b@c.co',
    'a@b..co',
    'a@-b.co',
    'a@b.co ',
    'ä@b.co',
    `${'a'.repeat(250)}@b.co`,
  ])('%s is none', (value) => {
    expect(faults(email, { email: value })).toEqual([
      `email must be an e-mail address of at most ${EMAIL_LENGTH_MAX} characters`,
    ])
  })
  test('that was made to take long is refused at once', () => {
    // Of this process alone: how busy the machine is does not count.
    const before = process.cpuUsage()
    for (let i = 0; i < 100; i++) faults(email, { email: `a@${'a-'.repeat(120)}!` })
    const { user, system } = process.cpuUsage(before)
    // A few milliseconds; a pattern that backtracks would not be done today.
    expect(user + system).toBeLessThan(10_000_000)
  })
})

describe('a message names the field and what would pass', () => {
  const schema = Type.Object({
    unit: text({ minLength: 1 }),
    arrival: dateText('x'),
    status: Type.Optional(choice(['draft', 'option'])),
    adults: Type.Optional(Type.Integer({ minimum: 1, maximum: 20 })),
    notes: Type.Optional(Type.Union([text({ maxLength: 5 }), Type.Null()])),
    holdHours: Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: 9 }), Type.Null()])),
    extraBed: Type.Optional(Type.Boolean()),
    guest: Type.Optional(Type.Union([Type.Object({ firstName: text({ maxLength: 3 }) }), Type.Null()])),
    seasons: Type.Optional(Type.Array(Type.Object({ from: dateText('x') }))),
    rows: Type.Optional(Type.Array(Type.Integer(), { maxItems: 2 })),
    stays: Type.Optional(Type.Array(Type.Integer(), { minItems: 2, maxItems: 3 })),
    days: Type.Optional(Type.Union([Type.Array(Type.Integer({ minimum: 1 }), { maxItems: 7 }), Type.Null()])),
  })
  const date = 'a valid date YYYY-MM-DD from 2000-01-01 to 2099-12-31'
  test.each([
    [{}, ['unit is required and must be a non-empty string', `arrival is required and must be ${date}`]],
    [{ unit: '', arrival: '2027-02-29' }, ['unit must be a non-empty string', `arrival must be ${date}`]],
    [{ status: 'x' }, ['status must be one of draft, option']],
    [{ adults: 0 }, ['adults must be an integer from 1 to 20']],
    [{ notes: 'abcdef' }, ['notes must be a string of at most 5 characters or null']],
    [{ holdHours: 10 }, ['holdHours must be an integer from 1 to 9 or null']],
    [{ extraBed: 1 }, ['extraBed must be true or false']],
    [{ guest: 'Ana' }, ['guest must be an object or null']],
    [{ guest: {} }, ['guest.firstName is required and must be a string of at most 3 characters']],
    [{ guest: { firstName: 'abcd' } }, ['guest.firstName must be a string of at most 3 characters']],
    [{ seasons: [{ from: '2027-01-01' }, { from: 'x' }] }, [`seasons[1].from must be ${date}`]],
    [{ seasons: {} }, ['seasons must be an array']],
    [{ rows: [1, 2, 3] }, ['rows must be an array of at most 2 items']],
    [{ stays: [1] }, ['stays must be an array of 2 to 3 items']],
    [{ days: [1, 0] }, ['days[1] must be an integer of at least 1']],
  ])('%j', (change, messages) => {
    const whole = Object.keys(change).length === 0 ? {} : { unit: 'a', arrival: '2027-03-01', ...change }
    expect(faults(schema, whole)).toEqual(messages)
  })
  test.each([[null], [[]], ['x'], [5], [true]])('%j as a whole', (value) => {
    expect(faults(schema, value)).toEqual(['body must be an object'])
  })
})

describe('A1: no more of a value is looked at than faults are told', () => {
  const row = Type.Object({ from: dateText('x'), to: dateText('x') })
  test.each([
    ['an array', Type.Array(row, { maxItems: 5 })],
    ['an array or null', Type.Union([Type.Array(row, { maxItems: 5 }), Type.Null()])],
    ['one of two arrays', Type.Union([Type.Array(row), Type.Array(Type.Integer())])],
  ])('%s', (_, schema) => {
    let looks = 0
    const rows = new Proxy(
      Array.from({ length: 20_000 }, () => ({})),
      {
        get: (target, name) => {
          if (typeof name === 'string' && /^\d+$/.test(name)) looks += 1
          return Reflect.get(target, name)
        },
      },
    )
    expect(faults(Type.Object({ rows: schema }), { rows })).toHaveLength(FAULTS_MAX)
    expect(looks).toBeLessThan(1_000)
  })
})

describe('a query', () => {
  const read = queryReader(
    Type.Object({
      page: Type.Optional(Type.Integer({ minimum: 1 })),
      search: Type.Optional(text()),
      unit: Type.Optional(text()),
    }),
  )
  test.each([
    ['', {}],
    ['page=3', { page: 3 }],
    ['search=a+b%2Bc', { search: 'a b+c' }],
    ['search', { search: '' }],
    ['search=', { search: '' }],
    ['search=a=b', { search: 'a=b' }],
    ['search=%F0%9F%98%80', { search: '😀' }],
    ['unit=5&page=5', { unit: '5', page: 5 }],
    ['page=5&search=a&unit=b', { page: 5, search: 'a', unit: 'b' }],
    ['page=5&search=a&', { page: 5, search: 'a' }],
    ['page=5&&search=a', { page: 5, search: 'a' }],
    ['page=5&search=a=&unit==', { page: 5, search: 'a=', unit: '=' }],
    ['page=5&search=a&unit=b&more=1', { page: 5, search: 'a', unit: 'b' }],
    ['other=1&other=2&&=', {}],
    ['__proto__=1', {}],
  ])('%s', (query, values) => {
    expect(read(query)).toEqual({ kind: 'read', query: values })
  })
  test('reads the same in the schema’s order, which is read the short way, as in any other', () => {
    const names = ['page', 'search', 'unit']
    const values = fc.tuple(fc.constantFrom('1', '7', '0', 'x', ''), fc.string(), fc.string())
    fc.assert(
      fc.property(values, fc.array(fc.nat(2), { maxLength: 4 }), fc.boolean(), (given, order, isEncoded) => {
        const parts = order.map((i) => {
          const value = given[i] ?? ''
          return `${names[i]}=${isEncoded ? encodeURIComponent(value) : value.replaceAll(/[&=%+#\0]/g, '')}`
        })
        // What is skipped keeps the short way from being taken.
        expect(read(parts.join('&'))).toEqual(read(['other=1', ...parts].join('&')))
      }),
    )
  })
  test.each([
    'page=0',
    'page=01',
    'page=+1',
    'page=1.0',
    'page=',
    'page=0x1',
    'page=1&page=1',
    'search=%',
    'search=%00',
    'search=%c0%af',
    '%zz=1',
  ])('%s is refused', (query) => {
    expect(read(query)).toMatchObject({ kind: 'refused', problem: { status: 400, code: 'VALIDATION' } })
  })
})

test.each([
  ['http://x/a/b?c=d', { path: '/a/b', query: 'c=d' }],
  ['https://x.example:8080/a', { path: '/a', query: '' }],
  ['/a?b', { path: '/a', query: 'b' }],
  ['http://x/?', { path: '/', query: '' }],
  ['http://x/a?b?c', { path: '/a', query: 'b?c' }],
])('the target of %s', (url, target) => {
  expect(targetOf(url)).toEqual(target)
})

test.each([
  ['%E2%82%AC', '€'],
  ['a%2Fb', 'a/b'],
  ['%', null],
  ['%e2%82', null],
  ['%00', null],
  ['%ed%a0%80', null],
  ['\ud800', null],
])('%j decoded strictly is %j', (encoded, decoded) => {
  expect(decodeStrictly(encoded)).toBe(decoded)
})
