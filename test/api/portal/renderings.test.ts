import { expect, test } from 'bun:test'
import { RENDERINGS } from '../../../src/api/portal/renderings.ts'
import { FairShares, NoPlaceError } from '../../../src/lib/queues.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

test('an agency writes two large answers at once, and another one does not wait for it', async () => {
  const clock = new FakeClock()
  const renderings = new FairShares({ ...RENDERINGS, clock })
  const running: string[] = []
  const held = Promise.withResolvers<void>()
  const run = (agencyId: string) =>
    renderings.run(agencyId, () => {
      running.push(agencyId)
      return held.promise
    })
  const own = Array.from({ length: RENDERINGS.runningMax + 1 }, () => run('a').catch((error: unknown) => error))
  const other = run('b')
  await settle()
  expect(running).toEqual([...Array(RENDERINGS.shareMax).fill('a'), 'b'])
  await clock.advance(5_001)
  expect(await own.at(-1)).toBeInstanceOf(NoPlaceError)
  held.resolve()
  await other
})
