import { expect, test } from 'bun:test'
import { Problem } from '../../src/page/api/problem.ts'

test.each([502, 503, 504])(
  'a proxy that answers %p in the place of a service that is restarted says what to do',
  (status) => {
    expect(new Problem(status, {}).message).toBe(
      `The service is not available (status ${status}). Try again in a moment.`,
    )
  },
)

test('what the service says is shown as it is', () => {
  expect(new Problem(503, { title: 'The database is not available' }).message).toBe('The database is not available')
  expect(new Problem(418, {}).message).toBe('The service answered with status 418')
})

test('an entry that is refused is named in the words of people', () => {
  const message = 'guest.email must be an e-mail address of at most 254 characters or null'
  const problem = new Problem(400, { title: message, errors: [{ field: 'guest.email', message }] })
  expect(problem.message).toBe('Some of what was entered is not accepted.')
  expect(problem.of('guest.email')).toBe('Must be an e-mail address of at most 254 characters.')
})
