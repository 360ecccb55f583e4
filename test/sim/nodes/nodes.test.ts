import { describe, expect, test } from 'bun:test'
import type { Entry, Etcd } from '../../../src/cluster/etcd/etcd.ts'
import { HOP_HEADER } from '../../../src/cluster/forward/hop.ts'
import type { NodeFetch } from '../../../src/cluster/forward/node-call.ts'
import { HOUR_MS } from '../../../src/lib/clock.ts'
import { seedsOf, someBuilds } from '../seeds.ts'
import { assertOnDamage } from '../sim-damage.ts'
import { brokenPromises } from './nodes-oracle.ts'
import { NodesWorld } from './nodes-world.ts'
import type { NodeFaults } from './sim-node.ts'

/** Seeds that broke a promise once: they always run. Add what a run prints. */
const ONCE_BROKEN: readonly number[] = [110_767_894, 387_984_311]

/* `SIM_FIRST=1234 SIM_SEEDS=1 bun test test/sim/nodes` runs one seed again, exactly. */
const { first, count } = seedsOf({ quick: 3, push: 20, long: 500 })
const STEPS = 300
/** Generous: 10,000 seeds on a machine that has much else to do. */
const ALL_MS_MAX = 12 * HOUR_MS

describe('whatever becomes of nodes, their leases, their networks and their clocks, every promise holds', () => {
  test(
    `${count} seeds from SIM_FIRST=${first}`,
    async () => {
      const broken: string[] = []
      let [reads, acknowledged] = [0, 0]
      for (const seed of [...ONCE_BROKEN, ...Array.from({ length: count }, (_, i) => first + i)]) {
        const world = await NodesWorld.run(seed, STEPS)
        reads += world.clients.reads
        acknowledged += world.clients.acknowledged.length
        for (const promise of new Set(await brokenPromises(world))) broken.push(`seed ${seed}: ${promise}`)
      }
      expect(broken).toEqual([])
      // It did something.
      expect(reads).toBeGreaterThan(count)
      expect(acknowledged).toBeGreaterThan(count)
    },
    ALL_MS_MAX,
  )
})

const SEEDS_MAX = 60

/** Without the word that it is a node that sends them: they are taken for requests of clients. */
function withoutHops(fetch: NodeFetch): NodeFetch {
  return (url, { headers, ...init }) => {
    const sent = new Headers(headers)
    sent.delete(HOP_HEADER)
    return fetch(url, { ...init, headers: sent })
  }
}

/** Without the keys that nodes give to writes that have none. */
function withoutKeys(fetch: NodeFetch): NodeFetch {
  return (url, { headers, ...init }) => {
    const sent = new Headers(headers)
    if (headers.get('idempotency-key')?.startsWith('nightledger-op-') === true) sent.delete('idempotency-key')
    return fetch(url, { ...init, headers: sent })
  }
}

/** They read that every node reaches the database. */
function believingInOthers(etcd: Etcd): Etcd {
  const changed = (entry: Entry): Entry => ({
    ...entry,
    value: entry.value?.replace('"reachesDatabase":false', '"reachesDatabase":true') ?? null,
  })
  return {
    ...etcd,
    read: async (prefix) => {
      const { revision, entries } = await etcd.read(prefix)
      return { revision, entries: entries.map(changed) }
    },
    watch: (params, onEvents) => etcd.watch(params, (events) => onEvents(events.map(changed))),
  }
}

/**
 * By what is wrong: the build, what is noticed of it, at least, and the seed to begin with: the first that notices it, because searching
 * for it took most of the time.
 */
const BROKEN: Record<string, [NodeFaults, noticed: RegExp, from?: number]> = {
  'writes without looking at the fences': [
    {
      changeStore: (store) => {
        store.unchecked = 'fences'
      },
    },
    /^J5/,
    2,
  ],
  'serves whatever becomes of its lease': [{ ignoresLease: true }, /^C6/, 9],
  'sends on what another node has sent it': [{ wrapFetch: withoutHops }, /^C8: r\d+ came in by/],
  'sends a write again without a key': [{ wrapFetch: withoutKeys }, /was denied and is there/, 2],
  'answers what it decided before it lost the shard': [{ hasOneTerm: true }, /^(C5|C6)/, 4],
  'repeats an answer that it has not put into the audit trail': [{ repeatsUnrecorded: true }, /^C6/, 387_984_311],
  "continues with what its feeds knew before the shard was another node's": [{ keepsFeeds: true }, /^F1/, 2],
  'keeps its shards though it alone reaches no database': [
    { missesNothing: true },
    /^C10: though .* can, nobody serves/,
    6,
  ],
  'gives its shards up though no other node reaches the database': [
    { wrapEtcd: believingInOthers },
    /^C10: \d+ shards moved though no node reaches the database/,
    30,
  ],
  'sends the webhooks of any shard': [{ uncheckedBySenders: 'shards' }, /^W2: \d+ has claimed/],
  'leaves what a lost sender had claimed': [
    { uncheckedBySenders: 'lost claims' },
    /^W7: \S+ has never been delivered/,
    2,
  ],
  'does not tell its webhook sender of the shards that it gets later': [
    { sendsForFirst: true },
    /^W7: \S+ has never been delivered/,
    3,
  ],
  'sends the webhooks that it had queued when it lost their shard': [
    { keepsQueue: true },
    /^W2: .* had left it to others/,
  ],
  'takes damaged rows for a bug': [{ changeStore: assertOnDamage }, /^A bug ended/, 24],
  'claims shards without raising their epochs': [{ keepsEpochs: true }, /^(C6|U1|S1|\S+ is sold)/, 2],
}

describe('the simulation of nodes catches a build that', () => {
  for (const [what, [faults, noticed, from = 1]] of someBuilds(BROKEN)) {
    test(
      what,
      async () => {
        for (let seed = from; seed < from + SEEDS_MAX; seed++) {
          const world = await NodesWorld.run(seed, STEPS, faults)
          if ((await brokenPromises(world)).some((promise) => noticed.test(promise))) return
        }
        expect.unreachable(`No such promise broke in ${SEEDS_MAX} seeds`)
      },
      ALL_MS_MAX,
    )
  }
})
