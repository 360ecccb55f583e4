import { expect, test } from 'bun:test'
import { KeyedTurns } from '../../src/lib/queues.ts'
import { settle } from '../support/fake-clock.ts'

test('tasks of a key run one after the other, of other keys at once, and a failure holds nobody up', async () => {
  const turns = new KeyedTurns()
  const log: string[] = []
  const pauses = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const first = turns.run('a', async () => {
    log.push('first begins')
    await pauses[0]?.promise
    throw new Error('failed')
  })
  const second = turns.run('a', async () => {
    log.push('second begins')
    return 2
  })
  const other = turns.run('b', async () => {
    log.push('other begins')
    return 'b'
  })
  expect(await other).toBe('b')
  expect(log).toEqual(['first begins', 'other begins'])
  pauses[0]?.resolve()
  const [failed] = await Promise.allSettled([first])
  expect(failed?.status).toBe('rejected')
  expect(await second).toBe(2)
  await settle()
  expect(await turns.run('a', async () => 3)).toBe(3)
})
