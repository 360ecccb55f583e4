import { describe, expect, test } from 'bun:test'
import { RevocationNotStoredError } from '../../src/accounts/store-retries.ts'
import { WriteError } from '../../src/core/bookings/write-error.ts'
import type { Rejection } from '../../src/core/domain/night-guard.ts'
import type { Refusal } from '../../src/core/domain/restrictions.ts'
import { JournalError, type JournalErrorKind } from '../../src/core/journal/journal-error.ts'
import { MailboxFullError } from '../../src/core/units/unit-actor.ts'
import { IdempotencyFullError } from '../../src/http/idempotent-writes.ts'
import { failureOf, problemOfRejection } from '../../src/http/problem-of.ts'
import { invalid, problemBody } from '../../src/http/problems.ts'
import { AssertionError } from '../../src/lib/assert.ts'
import { DeadlineError } from '../../src/lib/deadline.ts'
import { night } from '../support/samples.ts'

describe('a rejection becomes', () => {
  const rows: [Rejection, number, object][] = [
    [{ code: 'MIN_STAY', minStay: 3 }, 422, { minStay: 3 }],
    [
      {
        code: 'BOOKING_CONFLICT',
        conflict: {
          from: night('2027-03-01'),
          to: night('2027-03-03'),
          nights: [night('2027-03-01'), night('2027-03-02')],
          bookableFrom: null,
        },
      },
      409,
      { conflict: { from: '2027-03-01', to: '2027-03-03', nights: ['2027-03-01', '2027-03-02'], bookableFrom: null } },
    ],
    [
      {
        code: 'TURNOVER_BLOCK_CONFLICT',
        conflict: { bookableFrom: night('2027-03-06'), departure: night('2027-03-04') },
      },
      409,
      { conflict: { bookableFrom: '2027-03-06', departure: '2027-03-04' } },
    ],
    [
      { code: 'EXPECTED_EXTENSION_CONFLICT', conflicts: [{ from: night('2027-03-04'), to: night('2027-03-08') }] },
      409,
      { conflicts: [{ from: '2027-03-04', to: '2027-03-08' }] },
    ],
    [
      { code: 'INVALID_TRANSITION', from: 'cancelled', to: 'confirmed', possible: [] },
      409,
      { from: 'cancelled', to: 'confirmed', possible: [] },
    ],
    [
      { code: 'VALIDATION', field: 'x', message: 'x must be y' },
      400,
      { errors: [{ field: 'x', message: 'x must be y' }] },
    ],
  ]
  test.each(rows)('%j → %i', (rejection, status, members) => {
    const problem = problemOfRejection(rejection)
    expect(problem).toMatchObject({ code: rejection.code, status })
    expect(JSON.parse(problemBody(problem, { requestId: 'req_1' }))).toEqual({
      code: rejection.code,
      title: problem.title,
      requestId: 'req_1',
      ...members,
    })
  })
})

test('a refusal by restrictions says why, with numbers that agree, and which arrivals to try', () => {
  const date = night('2027-07-04')
  const none = { previousArrival: null, nextArrival: null }
  const title = (rule: Refusal['rule'], value: number | true, alternatives: object = {}) =>
    problemOfRejection({
      code: 'RESTRICTED',
      restrictions: [{ rule, date, value }],
      alternatives: { ...none, ...alternatives },
    }).title
  const noOther = 'For the same number of nights, no arrival within 30 days is available'
  expect([
    title('closedToDeparture', true, { nextArrival: night('2027-07-05') }),
    title('maxStay', 1),
    title('stopSell', true),
    title('advanceNoticeHours', 24),
    title('bookingWindowDays', 1),
  ]).toEqual([
    'This stay cannot be booked: no departures on 2027-07-04. For the same number of nights, try an arrival on 2027-07-05',
    `This stay cannot be booked: maximum stay for an arrival on 2027-07-04: 1 night. ${noOther}`,
    `This stay cannot be booked: the night of 2027-07-04 is not for sale. ${noOther}`,
    `This stay cannot be booked: stays must be booked at least 24 hours before check-in, too late for 2027-07-04. ${noOther}`,
    `This stay cannot be booked: arrivals can be booked at most 1 day ahead, and 2027-07-04 is later. ${noOther}`,
  ])
})

describe('what was thrown becomes 500 INTERNAL, saying what is known', () => {
  const kinds: [JournalErrorKind, RegExp][] = [
    ['full', /^Nothing was changed/],
    ['held_too_long', /^Nothing was changed/],
    ['fenced', /^Nothing was changed/],
    ['closed', /^Nothing was changed/],
    ['poisoned', /^Nothing was changed/],
    ['outcome_unknown', /may or may not have been made.* GET \/bookings.* Idempotency-Key/],
  ]
  test.each(kinds)('a journal that is %s', (kind, title) => {
    const { problem, isBug } = failureOf(new JournalError(kind, 'secret detail'))
    expect(problem).toMatchObject({ code: 'INTERNAL', status: 500 })
    expect(problem.title).toMatch(title)
    expect(problem.title).not.toContain('secret')
    expect([problem.retryAfterS !== null, isBug]).toEqual([true, false])
  })
  const ofPostgres = (code: string) => Object.assign(new Error('select secret'), { code })
  const rows: [string, unknown, RegExp, RegExp][] = [
    ['a full mailbox', new MailboxFullError('x'), /^Nothing was changed/, /^The service could not answer/],
    ['too many idempotency keys', new IdempotencyFullError('x'), /^Nothing was changed/, /^The service could/],
    ['a statement taken back', new WriteError('not_written', 'x'), /^Nothing was changed/, /^The service could/],
    [
      'a write without an answer',
      new WriteError('unknown', 'x'),
      /^The change may or may not have been made.* Check/,
      /^The service could/,
    ],
    ['a write cut short', new WriteError('started', 'x'), /^The change was started .* repeat/, /^The service could/],
    ['a write that cannot be shown', new WriteError('made', 'x'), /^The change was made/, /^The service could/],
    ['a look-up without an answer', new DeadlineError(5), /^Nothing was changed/, /^The database did not answer/],
    ['a look-up refused', ofPostgres('57014'), /^Nothing was changed/, /^The database did not answer/],
    ['a look-up cut', ofPostgres('CONNECTION_CLOSED'), /^Nothing was changed/, /^The database did not answer/],
    ['a look-up not sent', ofPostgres('ECONNREFUSED'), /^Nothing was changed/, /^The database did not answer/],
    [
      'a key not stored',
      new RevocationNotStoredError('key', { cause: 1 }),
      /^The key is refused for now.* repeat/,
      /The key is refused/,
    ],
    [
      'a suspension',
      new RevocationNotStoredError('agency', { cause: 1 }),
      /^The agency is suspended for now.* repeat/,
      /agency is suspended/,
    ],
    [
      'an address',
      new RevocationNotStoredError('calendar_address', { cause: 1 }),
      /^The old address is refused/,
      /old address/,
    ],
    [
      'a sign-out, of this session or of others',
      new RevocationNotStoredError('session', { cause: 1 }),
      /^The sign-out is in effect for now.* again$/,
      /^The sign-out/,
    ],
    // For any other error, it is not known when it happened.
    [
      'a fault of ours',
      new TypeError('secret is undefined'),
      /^The change may or may not/,
      /^The service could not answer/,
    ],
    ['a fault of Bun', ofPostgres('ERR_INVALID_URL'), /^The change may or may not/, /^The service could not answer/],
    ['a text', 'secret', /^The change may or may not/, /^The service could not answer/],
  ]
  test.each(rows)('%s, of a write and of a read', (_, error, ofWrite, ofRead) => {
    for (const [isWrite, title] of [
      [true, ofWrite],
      [false, ofRead],
    ] as const) {
      const { problem, isBug } = failureOf(error, { isWrite })
      expect(problem.title).toMatch(title)
      expect(problem.title).not.toContain('secret')
      expect([problem.status, isBug]).toEqual([500, false])
      if (!isWrite) expect(problem.title).not.toMatch(/was changed|was made/)
    }
  })
  test('a broken invariant ends the process, and promises nothing', () => {
    const { problem, isBug } = failureOf(new AssertionError('Cannot occupy nights: one is taken'))
    expect(isBug).toBe(true)
    expect(problem.title).toContain('may or may not')
  })
})

test('a body that is wrong in thousands of places is answered with twenty', () => {
  const errors = Array.from({ length: 5_000 }, (_, i) => ({ field: `x[${i}]`, message: 'm' }))
  expect(invalid(errors).members['errors']).toHaveLength(20)
})
