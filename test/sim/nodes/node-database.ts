/** The database of the simulated nodes: what PostgreSQL does there beside the journal, and the network between. */
import type { ShardEpoch, WriterTerm } from '../../../src/core/journal/journal-store.ts'
import type { SeededRandom } from '../../../src/lib/seeded-random.ts'
import type { FakeClock } from '../../support/fake-clock.ts'
import type { SimStore } from '../sim-store.ts'

/** How long a statement waits at most for a database that says nothing. */
const SILENCE_MS_MAX = 3_000

/** A statement of a node, on its way there and back. @throws when the network, or the node, has lost one of both */
export async function request<T>(
  { store, clock, dice, isCut }: { store: SimStore; clock: FakeClock; dice: SeededRandom; isCut: () => boolean },
  what: () => T,
): Promise<T> {
  const sleep = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve))
  const travel = () => sleep(dice.below(20))
  await travel()
  // Refused, or never answered.
  if (isCut() && dice.chance(0.5)) await sleep(dice.below(SILENCE_MS_MAX))
  if (isCut() || dice.chance(store.troublePercent / 300)) throw new Error('Cannot reach the database')
  const answer = what()
  await travel()
  if (isCut() || dice.chance(store.troublePercent / 300)) throw new Error('The answer of the database was lost')
  return answer
}

/** The store, for a node that may be cut off from it: what it asks then is not heard. */
export function behindNetwork(store: SimStore, isCut: () => boolean, clock: FakeClock): SimStore {
  const cutOff = () => new Promise<void>((resolve) => clock.after(500, resolve))
  return new Proxy(store, {
    get: (target, name) => {
      const member = Reflect.get(target, name, target)
      if (name === 'lane')
        return (index: number) => {
          const lane = target.lane(index)
          return {
            appendBatch: async (batch: Parameters<typeof lane.appendBatch>[0]) => {
              if (isCut()) {
                await cutOff()
                return { kind: 'not_sent', cause: new Error('cut off') }
              }
              const outcome = await lane.appendBatch(batch)
              return isCut() ? { kind: 'unknown', cause: new Error('cut off') } : outcome
            },
            renewEpochs: async (...of: Parameters<typeof lane.renewEpochs>) => {
              if (isCut()) {
                await cutOff()
                return { kind: 'not_sent', cause: new Error('cut off') }
              }
              return lane.renewEpochs(...of)
            },
            wasWritten: async (batch: Parameters<typeof lane.wasWritten>[0]) => {
              if (isCut()) {
                await cutOff()
                return null
              }
              return lane.wasWritten(batch)
            },
            reconnect: () => lane.reconnect(),
          }
        }
      if (typeof member !== 'function') return member
      return async (...args: unknown[]) => {
        if (isCut()) {
          await cutOff()
          throw new Error('Cannot reach the database')
        }
        return member.apply(target, args)
      }
    },
  })
}

/** `take_shards`. */
export function take(store: SimStore, shards: readonly number[], holder: string, keepsEpochs: boolean): WriterTerm {
  store.cutBackSnapshots(new Set(shards))
  const taken = shards.map((shard) => {
    const row = store.shards[shard]
    if (row === undefined) throw new Error(`There is no shard ${shard}`)
    const epoch = keepsEpochs ? Math.max(1, row.epoch) : row.epoch + 1
    Object.assign(row, { epoch, holder, renewal: null })
    return { shard, epoch, ...store.headOf(shard) }
  })
  return { shards: taken, newestMonth: '2029-12-01' }
}

/** `lost_shards`. */
export function lost(store: SimStore, owned: readonly ShardEpoch[]): readonly number[] {
  return owned.flatMap(({ shard, epoch }) => (store.shards[shard]?.epoch === epoch ? [] : shard))
}
