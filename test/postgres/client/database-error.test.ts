import { describe, expect, test } from 'bun:test'
import { DeadlineError } from '../../../src/lib/deadline.ts'
import {
  CLASS_OF_CODE,
  CLASS_OF_PREFIX,
  classifyDatabaseError,
  type DatabaseErrorClass,
  isErrorResponse,
} from '../../../src/postgres/client/database-error.ts'

const withCode = (code: unknown) => Object.assign(new Error('failed'), { code })

/** Written out a second time on purpose, from the measured list, not derived from the table under test. */
const EXPECTED: Record<DatabaseErrorClass, readonly string[]> = {
  connection: [
    ...[
      'CONNECTION_CLOSED',
      'CONNECTION_DESTROYED',
      'CONNECTION_ENDED',
      'CONNECTION_CONNECT_TIMEOUT',
      'CONNECTION_NEW',
    ],
    ...[
      'CONNECT_TIMEOUT',
      'ECONNRESET',
      'ECONNREFUSED',
      'ECONNABORTED',
      'EPIPE',
      'ETIMEDOUT',
      'EHOSTUNREACH',
      'ENETUNREACH',
    ],
    ...[
      'ENOTFOUND',
      'EAI_AGAIN',
      '57P01',
      '57P02',
      '57P03',
      '53300',
      '08000',
      '08001',
      '08003',
      '08004',
      '08006',
      '08007',
      '08P01',
    ],
  ],
  retry: ['40001', '40P01', '55P03', 'NL005'],
  too_slow: ['57014'],
  unfit: ['25006', '53000', '53100', '53200', '53400', '57000', '57P04', '57P05'],
  poison: [
    '22000',
    '22001',
    '22003',
    '22007',
    '22008',
    '22P02',
    '22P05',
    '22021',
    '23000',
    '23502',
    '23503',
    '23505',
    '23514',
    '23P01',
    'NL003',
  ],
  fenced: ['NL001', 'NL002'],
  other: [
    '',
    '42601',
    '42P01',
    '42883',
    '40000',
    '25001',
    '58000',
    '58030',
    'XX000',
    'XX001',
    'XX002',
    '55006',
    'P0001',
    '28P01',
    '3D000',
    'toString',
    'constructor',
    '__proto__',
  ],
}

describe('classifyDatabaseError', () => {
  for (const [kind, codes] of Object.entries(EXPECTED)) {
    test.each([...codes])(`%s is ${kind}`, (code) => {
      expect(classifyDatabaseError(withCode(code))).toBe(kind as DatabaseErrorClass)
    })
  }

  test('the list above has every code and every beginning of the table', () => {
    const listed = Object.values(EXPECTED).flat()
    expect(Object.keys(CLASS_OF_CODE).filter((code) => !listed.includes(code))).toEqual([])
    for (const [prefix] of CLASS_OF_PREFIX) expect(listed.some((code) => code.startsWith(prefix))).toBe(true)
  })

  test('a missed deadline leaves the outcome unknown, as a lost connection does', () => {
    expect(classifyDatabaseError(new DeadlineError(5))).toBe('connection')
  })

  test.each(['FATAL', 'PANIC'])(
    'an error of severity %s ended the session: whether a commit got through is unknown',
    (severity) => {
      for (const code of ['53100', '58030', 'XX000', '22003', '57014']) {
        const error = Object.assign(withCode(code), { severity })
        expect([code, classifyDatabaseError(error), isErrorResponse(error)]).toEqual([code, 'connection', false])
      }
    },
  )

  test('only what the server answered is an error response', () => {
    expect(isErrorResponse(Object.assign(withCode('25006'), { severity: 'ERROR' }))).toBe(true)
    for (const error of [
      withCode('ECONNRESET'),
      withCode('UNDEFINED_VALUE'),
      new DeadlineError(5),
      new Error('x'),
      null,
    ])
      expect(isErrorResponse(error)).toBe(false)
  })

  test('what is no error of a database is other', () => {
    for (const thrown of [null, undefined, 'ECONNRESET', { code: 'ECONNRESET' }, new Error('x'), withCode(23505)]) {
      expect(classifyDatabaseError(thrown)).toBe('other')
    }
  })
})
