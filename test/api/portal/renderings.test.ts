import { expect, test } from 'bun:test'
import { RENDERINGS_MAX, RENDERINGS_PER_AGENCY_MAX, Renderings } from '../../../src/api/portal/renderings.ts'
import { ListReadError } from '../../../src/core/bookings/booking-lists.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

test('an agency writes two large answers at once, and another one does not wait for it', async () => {
  const clock = new FakeClock()
  const renderings = new Renderings(clock)
  const running: string[] = []
  const held = Promise.withResolvers<void>()
  const run = (agencyId: string) =>
    renderings.run(agencyId, () => {
      running.push(agencyId)
      return held.promise
    })
  const own = Array.from({ length: RENDERINGS_MAX + 1 }, () => run('a').catch((error: unknown) => error))
  const other = run('b')
  await settle()
  expect(running).toEqual([...Array(RENDERINGS_PER_AGENCY_MAX).fill('a'), 'b'])
  await clock.advance(5_001)
  expect(await own.at(-1)).toBeInstanceOf(ListReadError)
  held.resolve()
  await other
})
