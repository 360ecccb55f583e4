import { beforeEach, describe, expect, test } from 'bun:test'
import { ClusterKeys } from '../../src/cluster/cluster-keys.ts'
import { ClusterNode } from '../../src/cluster/cluster-node.ts'
import { Confirmation } from '../../src/cluster/confirmation.ts'
import { type Change, type Entry, type Etcd, EtcdError } from '../../src/cluster/etcd/etcd.ts'
import { LEASE_TTL_S, LeaseKeeper } from '../../src/cluster/lease-keeper.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { MemoryShardHost, SharedEpochs } from '../support/memory-shard-host.ts'

const KEYS = new ClusterKeys('/nightledger/x/')
const SELF = { id: 'a', url: 'http://a', version: '1', run: null, startedAt: 0 }

/** etcd in memory, with switches. */
class SmallEtcd implements Etcd {
  readonly entries = new Map<string, Entry>()
  readonly leases = new Set<string>()
  isAway = false
  #revision = 1
  #lastLease = 0

  async grant() {
    this.#answer()
    this.#lastLease += 1
    this.leases.add(String(this.#lastLease))
    return String(this.#lastLease)
  }
  async keepAlive(lease: string) {
    this.#answer()
    return this.leases.has(lease) ? LEASE_TTL_S : 0
  }
  async revoke(lease: string) {
    this.#answer()
    this.end(lease)
  }
  async read() {
    this.#answer()
    return { revision: this.#revision, entries: [...this.entries.values()] }
  }
  async commit(changes: readonly Change[]) {
    this.#answer()
    return this.put(changes)
  }
  watch({ signal }: { signal: AbortSignal }) {
    return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
  }

  put(changes: readonly Change[]) {
    this.#revision += 1
    const done = changes.map(({ key, value, lease, condition }) => {
      const held = this.entries.get(key)
      if (condition === 'absent' ? held !== undefined : held?.lease !== condition.lease) return false
      if (value === null) this.entries.delete(key)
      else this.entries.set(key, { key, value, lease, revision: this.#revision })
      return true
    })
    return { revision: this.#revision, done }
  }

  end(lease: string) {
    this.leases.delete(lease)
    this.#revision += 1
    for (const entry of [...this.entries.values()]) if (entry.lease === lease) this.entries.delete(entry.key)
  }

  #answer() {
    if (this.isAway) throw new EtcdError('away', false)
  }
}

let clock: FakeClock
let etcd: SmallEtcd
let confirmation: Confirmation

beforeEach(() => {
  clock = new FakeClock()
  etcd = new SmallEtcd()
  confirmation = new Confirmation(clock)
})

function keeperOf(onGranted: () => Promise<void> = async () => {}): LeaseKeeper {
  const watch = { onGranted, onLost: () => {}, onRenewed: () => {}, onFailure: () => {}, onTaken: () => {} }
  return new LeaseKeeper(
    { ...SELF, state: 'up' },
    { etcd, clock, keys: KEYS, confirmation, watch, isOver: () => false },
  )
}

describe('the lease of a node', () => {
  test('C6: confirms nothing until what others claimed has been read', async () => {
    const { promise: isRead, resolve: read } = Promise.withResolvers<void>()
    const registering = keeperOf(() => isRead).register({ isFirst: true })
    await clock.advance(100)
    expect([confirmation.hasLease, etcd.entries.size]).toEqual([false, 1])
    read()
    await registering
    expect(confirmation.hasLease).toBe(true)
  })

  test('C6: confirms nothing from when etcd says that it is over, however long it had', async () => {
    const keeper = keeperOf()
    await keeper.register({ isFirst: true })
    void keeper.run()
    await clock.advance(900)
    etcd.end(keeper.lease ?? '')
    const keepAlive = etcd.keepAlive.bind(etcd)
    etcd.keepAlive = async (lease) => {
      const ttlS = await keepAlive(lease)
      etcd.isAway = true
      return ttlS
    }
    await clock.advance(200)
    expect([keeper.lease, confirmation.hasLease]).toEqual([null, false])
    keeper.stop()
  })

  test('is kept while it is renewed, and confirmed for four seconds when it is not', async () => {
    const keeper = keeperOf()
    await keeper.register({ isFirst: true })
    void keeper.run()
    await clock.advance(20_000)
    expect(confirmation.hasLease).toBe(true)
    etcd.isAway = true
    await clock.advance(2_900)
    expect(confirmation.hasLease).toBe(true)
    await clock.advance(1_200)
    expect(confirmation.hasLease).toBe(false)
    keeper.stop()
  })

  test('of an attempt whose answer was lost does not keep the node out', async () => {
    const commit = etcd.commit.bind(etcd)
    let isFirst = true
    etcd.commit = async (changes) => {
      const committed = await commit(changes)
      if (!isFirst) return committed
      isFirst = false
      throw new EtcdError('the answer was lost', false)
    }
    const keeper = keeperOf()
    const registering = keeper.register({ isFirst: true })
    await clock.advance(1_000)
    await registering
    expect([...etcd.leases]).toEqual([keeper.lease ?? ''])
  })
})

test('C6: a node that has a lease again serves nothing that another one claimed meanwhile', async () => {
  const host = new MemoryShardHost(new SharedEpochs())
  const nothing = () => {}
  const node = new ClusterNode({
    ...{ self: SELF, etcd, clock, keys: KEYS, host, isOver: () => false },
    watch: {
      ...{ onJoined: nothing, onNodeIdTaken: nothing, onEtcdFailure: nothing, onEtcdBack: nothing, onFenced: nothing },
      ...{ onAcquired: nothing, onReleased: nothing, onDropped: nothing, onMoveFailure: nothing },
      onLeaseLost: () => {
        // Before the node has another lease.
        etcd.put([{ key: KEYS.shard(7), value: '{"node":"b","isServing":false}', lease: '99', condition: 'absent' }])
      },
    },
  })
  await node.join()
  host.workMs = 0
  for (let i = 0; i < 50 && host.owned.size < 256; i++) {
    await clock.advance(10)
    await Bun.sleep(1)
  }
  expect(node.owners.ownerOf(7)).toBe('self')
  let isServedByLease = false
  const byLease = node.confirmation.byLease.bind(node.confirmation)
  etcd.end([...etcd.leases][0] ?? '')
  node.confirmation.byLease = (...asked) => {
    byLease(...asked)
    isServedByLease ||= host.owned.has(7)
  }
  await clock.advance(1_500)
  expect([node.confirmation.hasLease, isServedByLease, host.owned.has(7), host.owned.has(8)]).toEqual([
    true,
    false,
    false,
    true,
  ])
  await node.close()
})

test.each(['says that it is lost', 'does not answer'])(
  'C6: a node that has a lease again serves nothing that another one had and gave up meanwhile, when Postgres %s',
  async (answer) => {
    const epochs = new SharedEpochs()
    const host = new MemoryShardHost(epochs)
    const nothing = () => {}
    let isLost = false
    const confirm = host.confirm.bind(host)
    let asked = 0
    host.confirm = async () => {
      asked += 1
      // The connection of the first call broke while the node was cut off.
      if (isLost && (asked === 1 || answer === 'does not answer')) throw new Error('Postgres does not answer')
      return confirm()
    }
    const node = new ClusterNode({
      ...{ self: SELF, etcd, clock, keys: KEYS, host, isOver: () => false },
      watch: {
        ...{
          onJoined: nothing,
          onNodeIdTaken: nothing,
          onEtcdFailure: nothing,
          onEtcdBack: nothing,
          onFenced: nothing,
        },
        ...{ onAcquired: nothing, onReleased: nothing, onDropped: nothing, onMoveFailure: nothing },
        onLeaseLost: () => {
          isLost = true
          asked = 0
          // Another node has acquired it, and removed its key since.
          epochs.epochs[7] = 99
        },
      },
    })
    await node.join()
    for (let i = 0; i < 50 && host.owned.size < 256; i++) {
      await clock.advance(10)
      await Bun.sleep(1)
    }
    let isStale = false
    const byLease = node.confirmation.byLease.bind(node.confirmation)
    node.confirmation.byLease = (...given) => {
      byLease(...given)
      isStale ||= host.owned.has(7) && !host.isWriter(7)
    }
    etcd.end([...etcd.leases][0] ?? '')
    await clock.advance(1_500)
    expect([isLost, node.confirmation.hasLease, isStale]).toEqual([true, true, false])
    await node.close()
  },
)
