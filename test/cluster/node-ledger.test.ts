import { expect, test } from 'bun:test'
import { NodeLedger } from '../../src/cluster/node-ledger.ts'
import { FakeClock } from '../support/fake-clock.ts'

/** Without a shard. What else a ledger has is not used. */
function ledgerWithout(shards: { hasStandby: boolean }) {
  const stores = {
    sessionRows: { writtenByNode: () => ({}) },
    writers: {
      beat: () => {
        throw new Error('There is no row')
      },
    },
    writerId: 'a',
  } as unknown as ConstructorParameters<typeof NodeLedger>[0]['stores']
  const onFailure = () => {}
  return new NodeLedger({ ...shards, stores, shardStore: {} as never, clock: new FakeClock(), onFailure })
}

test('a worker without a shard has asked nobody whether a standby waits, so it says that one does (P3)', async () => {
  expect(await ledgerWithout({ hasStandby: true }).beat()).toEqual({ isAwaited: true })
  expect(await ledgerWithout({ hasStandby: false }).beat()).toEqual({ isAwaited: false })
})
