import { expect, test } from 'bun:test'
import { SandboxWrites, WRITES_MS_MAX } from '../../../src/core/bookings/sandbox-writes.ts'
import { WriteError } from '../../../src/core/bookings/write-error.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { AGENCY, sampleId } from '../../support/samples.ts'

const SANDBOX: Agency = { ...AGENCY, id: sampleId('agc', 'sandbox'), clock: { now: 0, target: 0 } }
const REFUSED = { outcome: 'not_written' }

function harness() {
  const clock = new FakeClock()
  const agencies = new Map([SANDBOX, AGENCY].map((agency) => [agency.id, agency]))
  const memory = { agencies, term: 0 as number | null }
  const writes = new SandboxWrites({
    catalogue: { agencyById: (id) => agencies.get(id) ?? null, termOf: () => memory.term },
    clock,
  })
  return { clock, memory, writes }
}

const done = async () => 'done'

test('E3: a sandbox ends when the writes to it are over, those that failed too, and takes no more meanwhile', async () => {
  const { writes } = harness()
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const writing = [first, second].map(({ promise }) => writes.run(SANDBOX, () => promise))
  const log: string[] = []
  const ending = writes.end(SANDBOX.id, async () => log.push('ended'))
  await expect(writes.run(SANDBOX, done)).rejects.toMatchObject(REFUSED)
  first.resolve()
  await writing[0]
  log.push('one is left')
  second.reject(new Error('x'))
  await expect(writing[1]).rejects.toThrow('x')
  await ending
  expect(log).toEqual(['one is left', 'ended'])
})

test('E3: one that has ended takes no writes, and one that could not be ended does', async () => {
  const { memory, writes } = harness()
  await expect(writes.end(SANDBOX.id, () => Promise.reject(new WriteError('not_written', 'x')))).rejects.toThrow('x')
  expect(await writes.run(SANDBOX, done)).toBe('done')
  await writes.end(SANDBOX.id, async () => memory.agencies.delete(SANDBOX.id))
  await expect(writes.run(SANDBOX, done)).rejects.toMatchObject(REFUSED)
})

test('one that another process has is left to the journal, which sends its requests there', async () => {
  const { memory, writes } = harness()
  memory.agencies.delete(SANDBOX.id)
  memory.term = null
  expect(await writes.run(SANDBOX, done)).toBe('done')
})

test('a write that takes too long keeps a sandbox from ending, and then it takes writes again', async () => {
  const { clock, writes } = harness()
  void writes.run(SANDBOX, () => new Promise<never>(() => {}))
  const ending = writes.end(SANDBOX.id, done).catch((error: unknown) => error)
  await clock.advance(WRITES_MS_MAX)
  expect(await ending).toMatchObject(REFUSED)
  expect(await writes.run(SANDBOX, done)).toBe('done')
})

test('the writes of live agencies are not looked at', async () => {
  const { memory, writes } = harness()
  memory.agencies.delete(AGENCY.id)
  expect(await writes.run(AGENCY, done)).toBe('done')
})
