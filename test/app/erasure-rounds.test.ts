import { expect, test } from 'bun:test'
import type { BegunErasure } from '../../src/accounts/guest-erasures.ts'
import { ErasureRounds } from '../../src/app/erasure-rounds.ts'
import { FakeClock } from '../support/fake-clock.ts'

const MINUTE_MS = 60_000
const erasure = (guestId: string): BegunErasure => ({
  agencyId: 'a',
  guestId,
  at: 0,
  isLogged: true,
  isComplete: false,
})
const settled = () => new Promise((resolve) => setImmediate(resolve))

function roundsOf(
  change: { begun?: BegunErasure[]; isVacuumDue?: boolean; failing?: string; isVacuumFailing?: boolean } = {},
) {
  const clock = new FakeClock()
  const did: string[] = []
  const rounds = new ErasureRounds({
    clock,
    begun: async () => change.begun ?? [],
    complete: async ({ guestId }) => {
      did.push(`complete ${guestId}`)
      if (change.failing === guestId) throw new Error('away')
    },
    isVacuumDue: async () => change.isVacuumDue ?? false,
    vacuum: async () => {
      did.push('vacuum')
      if (change.isVacuumFailing === true) throw new Error('may not')
    },
    onFailure: (error) => did.push(String(error)),
  })
  const after = async (ms: number) => {
    clock.advance(ms)
    await settled()
  }
  return { rounds, did, after }
}

test('erasures that were interrupted are completed at start, then what is due is vacuumed, and so every minute', async () => {
  const { rounds, did, after } = roundsOf({ begun: [erasure('one'), erasure('two')], isVacuumDue: true })
  rounds.start()
  await settled()
  const round = ['complete one', 'complete two', 'vacuum']
  expect(did).toEqual(round)
  await after(MINUTE_MS - 1)
  expect(did).toEqual(round)
  await after(1)
  expect(did).toEqual([...round, ...round])
  await rounds.stop()
  await after(10 * MINUTE_MS)
  expect(did).toEqual([...round, ...round])
})

test('an erasure that fails does not hold up those after it or the vacuum, and the next round waits longer', async () => {
  const begun = [erasure('one'), erasure('two')]
  const { rounds, did, after } = roundsOf({ begun, isVacuumDue: true, failing: 'one' })
  rounds.start()
  await settled()
  const round = ['complete one', 'Error: away', 'complete two', 'vacuum']
  expect(did).toEqual(round)
  await after(10 * MINUTE_MS - 1)
  expect(did).toEqual(round)
  await after(1)
  expect(did).toEqual([...round, ...round])
})

test('a vacuum that fails is tried again later, and erasures are completed every minute all the same', async () => {
  const { rounds, did, after } = roundsOf({ begun: [erasure('one')], isVacuumDue: true, isVacuumFailing: true })
  rounds.start()
  await settled()
  const failed = ['complete one', 'vacuum', 'Error: may not']
  expect(did).toEqual(failed)
  for (let minute = 1; minute < 10; minute++) await after(MINUTE_MS)
  expect(did).toEqual([...failed, ...Array.from({ length: 9 }, () => 'complete one')])
  did.length = 0
  await after(MINUTE_MS)
  expect(did).toEqual(failed)
  await rounds.stop()
})
