import { describe, expect, test } from 'bun:test'
import { type Engine, NodeShards, type ShardContents } from '../../src/cluster/node-shards.ts'
import type { ShardEpoch, WriterTerm } from '../../src/core/journal/journal-store.ts'
import { NO_LINK, shardOf } from '../../src/core/journal/shard.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'
import { agenciesOfShards } from '../support/journal-records.ts'
import { AGENCY } from '../support/samples.ts'

const [A = '', B = ''] = agenciesOfShards(2)
const [ONE, TWO] = [shardOf(A), shardOf(B)]

/** The shards of a node over parts that record what is done to them, in `log`. */
function open() {
  const clock = new FakeClock()
  const log: string[] = []
  const failures: unknown[] = []
  const epochs = new Map<number, number>()
  const gates: Record<string, Promise<void>> = {}
  const note = (what: string) => log.push(what)
  const step = async (what: string): Promise<void> => {
    note(what)
    await gates[what]
  }
  /** By shard: the epoch that the database has by now. */
  const stored = new Map<number, number>()
  const store = {
    take: async (shards: readonly number[]): Promise<WriterTerm> => {
      await step('take')
      const taken = shards.map((shard) => {
        epochs.set(shard, (epochs.get(shard) ?? 0) + 1)
        return { shard, epoch: epochs.get(shard) ?? 0, lastSeq: 0, lastMonth: '2027-01-01', lastLink: NO_LINK }
      })
      return { shards: taken, newestMonth: '2027-01-01' }
    },
    giveUp: async () => void note('give up'),
    ping: async () => {},
    lost: async (owned: readonly ShardEpoch[]) => {
      await step('ask')
      return owned.filter(({ shard, epoch }) => (stored.get(shard) ?? epoch) !== epoch).map(({ shard }) => shard)
    },
  }
  const load = async (shards: readonly number[]): Promise<ShardContents> => {
    await step('load')
    const agencies = [A, B].filter((id) => shards.includes(shardOf(id))).map((id) => ({ ...AGENCY, id }))
    return { agencies, keys: [], accessTokens: [], people: [], used: [], passed: [], sessions: [] }
  }
  const shards = new NodeShards({ clock, store, load, onFailure: (error) => failures.push(error) })
  const agencies = new Set<string>()
  const counters = (name: string) => ({
    forget: () => {},
    load: () => {},
    restore: () => {},
    adopt: () => {},
    flush: () => step(`flush ${name}`),
  })
  const engine: Engine = {
    journal: {
      adopt: () => void note('adopt'),
      retire: () => void note('retire'),
      settled: () => step('settled'),
      isOwned: () => true,
      epochOfShard: (shard) => epochs.get(shard) ?? -1,
    },
    directory: {
      close: () => void note('close'),
      left: () => step('left'),
      snapshotAll: () => step('snapshots'),
      noteChanged: (agencyId) => void note(`changed ${shardOf(agencyId)}`),
    },
    catalogue: {
      agencies: () => [...agencies].map((id) => ({ id })),
      putPart: (part) => {
        for (const { id } of part.agencies) agencies.add(id)
      },
      forget: (agencyId) => agencies.delete(agencyId),
    },
    usage: counters('usage'),
    limiter: counters('limiter'),
    sessions: counters('sessions'),
    rateSlots: counters('rate slots'),
    refusals: counters('refusals'),
    feeds: [{ forget: () => void note('feeds end') }],
    holdTimer: { expectExpiry: () => {} },
  }
  shards.serveWith(engine)
  const lose = (some: readonly number[], epoch = 9) => {
    for (const shard of some) stored.set(shard, epoch)
  }
  return { shards, clock, log, failures, agencies, epochs, gates, lose }
}

const endingOf = (promise: Promise<unknown>) => {
  const seen = { state: 'open' }
  promise.then(
    () => (seen.state = 'done'),
    (error: Error) => (seen.state = error.message),
  )
  return seen
}

describe('acquiring (C3)', () => {
  test('reads what the shards have after their epochs were raised, and serves them only then', async () => {
    const { shards, log, gates, agencies } = open()
    const gate = Promise.withResolvers<void>()
    gates['load'] = gate.promise
    const acquired = endingOf(shards.acquire([ONE]))
    await settle()
    expect(log).toEqual(['left', 'settled', 'take', 'load'])
    expect([shards.owned.size, shards.termOf(ONE)]).toEqual([0, null])
    gate.resolve()
    await settle()
    expect(acquired.state).toBe('done')
    expect(log.slice(4)).toEqual([`changed ${ONE}`, 'feeds end', 'adopt'])
    expect([[...shards.owned], [...agencies]]).toEqual([[ONE], [A]])
  })

  test('ends in an error when a shard was dropped meanwhile, and none of them is served', async () => {
    const { shards, gates, log } = open()
    const gate = Promise.withResolvers<void>()
    gates['load'] = gate.promise
    const acquired = endingOf(shards.acquire([ONE, TWO]))
    await settle()
    shards.drop([TWO])
    gate.resolve()
    await settle()
    expect(acquired.state).toContain(`shard ${TWO} was dropped meanwhile`)
    expect(shards.owned.size).toBe(0)
    expect(log).not.toContain('adopt')
    await shards.acquire([ONE, TWO])
    expect(shards.owned.size).toBe(2)
  })

  test.each(['left', 'settled'])(
    'ends when a shard is dropped, although what is left of it does not end: %s',
    async (what) => {
      const { shards, gates, log } = open()
      gates[what] = new Promise(() => {})
      const acquired = endingOf(shards.acquire([ONE, TWO]))
      await settle()
      shards.drop([TWO])
      await settle()
      expect(acquired.state).toContain(`shard ${TWO} was dropped meanwhile`)
      expect(log).not.toContain('take')
      delete gates[what]
      await shards.acquire([ONE, TWO])
      expect(shards.owned.size).toBe(2)
    },
  )

  test('is another ownership each time', async () => {
    const { shards } = open()
    await shards.acquire([ONE])
    const first = shards.termOf(ONE)
    shards.drop([ONE])
    expect(shards.termOf(ONE)).toBeNull()
    await shards.acquire([ONE])
    expect(shards.termOf(ONE)).not.toBe(first)
    expect(shards.termOfAgency(A)).toBe(shards.termOf(ONE))
  })
})

describe('releasing (C5)', () => {
  test('stops deciding at once, waits for what runs, writes what was counted, and then forgets', async () => {
    const { shards, log, gates, agencies } = open()
    await shards.acquire([ONE, TWO])
    log.length = 0
    const [left, flush] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    gates['left'] = left.promise
    gates['flush usage'] = flush.promise
    const released = endingOf(shards.release([ONE]))
    expect([...shards.owned]).toEqual([TWO])
    await settle()
    expect(log).toEqual(['snapshots', 'close', 'left'])
    left.resolve()
    await settle()
    expect(log.slice(3, 5)).toEqual(['settled', 'retire'])
    expect([released.state, agencies.has(A)]).toEqual(['open', true])
    flush.resolve()
    await settle()
    expect([released.state, [...agencies]]).toEqual(['done', [B]])
    expect(log.slice(-2)).toEqual(['feeds end', 'give up'])
  })

  test('does not wait for ever for what runs, nor for what cannot be written', async () => {
    const { shards, clock, gates } = open()
    await shards.acquire([ONE])
    gates['left'] = new Promise(() => {})
    gates['flush sessions'] = new Promise(() => {})
    const released = endingOf(shards.release([ONE]))
    await clock.advance(2_500)
    expect(released.state).toBe('open')
    await clock.advance(1_000)
    expect(released.state).toBe('done')
  })

  test('ends also when nothing can be written: the next owner is slower, or counts less', async () => {
    const { shards, gates, failures } = open()
    await shards.acquire([ONE])
    const left = Promise.withResolvers<void>()
    gates['left'] = left.promise
    const away = new Error('the database is away')
    for (const what of ['snapshots', 'flush usage']) {
      gates[what] = Promise.reject(away)
      gates[what]?.catch(() => {})
    }
    const released = shards.release([ONE])
    // Long enough that a rejection which nobody looks at would end the process.
    await Bun.sleep(1)
    left.resolve()
    await released
    expect(failures).toEqual([away, away])
  })
})

describe('confirming (C6)', () => {
  test('drops what another writer has taken, and tells', async () => {
    const { shards, lose } = open()
    const reported: (readonly number[])[] = []
    shards.onFenced = (some) => reported.push(some)
    await shards.acquire([ONE, TWO])
    expect(await shards.confirm()).toEqual([])
    lose([TWO])
    expect(await shards.confirm()).toEqual([TWO])
    expect([[...shards.owned], reported]).toEqual([[ONE], [[TWO]]])
  })

  test('leaves alone what this node has acquired again, or raised itself, while it asked', async () => {
    const { shards, lose, gates, epochs } = open()
    await shards.acquire([ONE, TWO])
    lose([ONE])
    lose([TWO], 7)
    const gate = Promise.withResolvers<void>()
    gates['ask'] = gate.promise
    const confirmed = shards.confirm()
    shards.drop([ONE])
    await shards.acquire([ONE])
    epochs.set(TWO, 7)
    gate.resolve()
    expect(await confirmed).toEqual([])
    expect(shards.owned.size).toBe(2)
  })

  test('asks again about a shard that this node raised itself while it asked: another writer may have taken it since', async () => {
    const { shards, lose, gates, epochs } = open()
    await shards.acquire([ONE, TWO])
    lose([TWO], 8)
    const gate = Promise.withResolvers<void>()
    gates['ask'] = gate.promise
    const confirmed = shards.confirm()
    epochs.set(TWO, 7)
    gate.resolve()
    expect(await confirmed).toEqual([TWO])
    expect([...shards.owned]).toEqual([ONE])
  })
})
