/** The builder over rows in memory. That SQL keeps and reads trees in the same way is in checkpoint-builder.pg.test.ts. */
import { describe, expect, test } from 'bun:test'
import { SHARDS, shardOf } from '../../../src/core/journal/shard.ts'
import {
  AGENCIES_AT_ONCE,
  CheckpointBuilder,
  LEAVES_AT_ONCE,
  LEAVES_PER_READ,
  RECENT_PER_STATEMENT,
} from '../../../src/events/checkpoints/checkpoint-builder.ts'
import type { BuiltPart, CheckpointRows, TreeEnd } from '../../../src/events/checkpoints/checkpoint-rows.ts'
import { type Hash, isSameHash, placeOf, TreeEdge, type TreeNode } from '../../../src/events/checkpoints/merkle-tree.ts'
import type { DurableEntry } from '../../../src/events/checkpoints/recent-leaves.ts'
import { leafHash } from '../../../src/lib/merkle-hash.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import { hashesIn } from '../../../src/postgres/stores/postgres-checkpoint-rows.ts'
import { recentLeaves } from '../../support/checkpoints.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { rounds } from '../../support/long-run.ts'
import { sampleId } from '../../support/samples.ts'

/** A log of some shards and the trees of its agencies, as the database has them. */
class MemoryRows implements Omit<CheckpointRows, 'leavesOfBooking' | 'listKey'> {
  log: DurableEntry[] = []
  /** What was kept, in order. */
  parts: BuiltPart[] = []
  reads = 0
  /** What happens once the journal has been read, and before the builder knows it. */
  duringRead: () => void = () => {}
  /** In the largest statement. */
  leavesKept = 0
  failing: 'all' | 'none' | ReadonlySet<string> = 'none'
  #ids = 0

  write(agencyId: string, times = 1): DurableEntry[] {
    const shard = shardOf(agencyId)
    let seq = Math.max(0, ...this.log.filter((entry) => entry.shard === shard).map((entry) => entry.seq))
    const entries = Array.from({ length: times }, () => {
      const id = `evt_${this.#ids++}`
      return { shard, seq: ++seq, month: '2030-01-01', agencyId, id, leaf: leafHash(id) }
    })
    this.log.push(...entries)
    return entries
  }

  /** The end of the log of a shard, as a fail-over loses it. */
  lose(shard: number, count: number): void {
    const ends = new Set(this.log.filter((entry) => entry.shard === shard).slice(-count))
    this.log = this.log.filter((entry) => !ends.has(entry))
    // So do the trees that were built of it.
    this.parts = this.parts.filter(({ lastId }) => this.log.some(({ id }) => id === lastId))
  }

  async behind() {
    const agencyIds = [...new Set(this.log.map(({ agencyId }) => agencyId))]
    return {
      agencyIds: agencyIds.filter((id) => (this.#of(id).at(-1)?.seq ?? 0) > this.#end(id).lastSeq),
      lastId: null,
    }
  }

  async end(agencyId: string) {
    return this.#end(agencyId)
  }

  async hashes(agencyId: string, nodes: readonly TreeNode[]) {
    const all = this.#hashesOf(agencyId)
    return nodes.map((node) => all[placeOf(node).place] as Hash)
  }

  async nextLeaves(ends: readonly TreeEnd[], limit: number) {
    this.reads += 1
    const read = this.#nextLeaves(ends, limit)
    this.duringRead()
    return read
  }

  #nextLeaves(ends: readonly TreeEnd[], limit: number) {
    return ends.flatMap(({ agencyId, lastSeq }) => {
      const entries = this.#of(agencyId)
        .filter(({ seq }) => seq > lastSeq)
        .slice(0, limit)
      const last = entries.at(-1)
      if (last === undefined) return []
      const leaves = entries.map(({ leaf }) => leaf)
      return { agencyId, leaves, lastSeq: last.seq, lastMonth: last.month, lastId: last.id }
    })
  }

  async keep(parts: readonly BuiltPart[]) {
    const { failing } = this
    if (failing === 'all' || (failing !== 'none' && parts.some(({ agencyId }) => failing.has(agencyId))))
      throw new Error('no database')
    this.leavesKept = Math.max(
      this.leavesKept,
      parts.reduce((sum, { leaves }) => sum + leaves.length, 0),
    )
    const kept = parts.filter(
      ({ agencyId, firstLeaf, lastId }) =>
        firstLeaf === this.#end(agencyId).size && this.log.some(({ id }) => id === lastId),
    )
    this.parts.push(...kept)
    return new Set(kept.map(({ agencyId }) => agencyId))
  }

  /** Whether the agency's tree is that of all its entries. */
  isWhole(agencyId: string): boolean {
    const tree = new TreeEdge()
    const hashes: Hash[] = []
    for (const { leaf } of this.#of(agencyId)) tree.append(leaf, { onComplete: (hash) => void hashes.push(hash) })
    const stored = this.#hashesOf(agencyId)
    return stored.length === hashes.length && stored.every((hash, i) => isSameHash(hash, hashes[i] as Hash))
  }

  #hashesOf(agencyId: string): Hash[] {
    return this.parts.filter((part) => part.agencyId === agencyId).flatMap(({ hashes }) => hashesIn(hashes))
  }

  #of(agencyId: string): DurableEntry[] {
    return this.log.filter((entry) => entry.agencyId === agencyId)
  }

  #end(agencyId: string): TreeEnd {
    const last = this.parts.findLast((part) => part.agencyId === agencyId)
    return { agencyId, size: last?.size ?? 0, lastSeq: last?.lastSeq ?? 0, lastMonth: last?.lastMonth ?? '0001-01-01' }
  }
}

function open(rows: MemoryRows, epochOf = () => 1, limits: { leavesMax?: number; agencyLeavesMax?: number } = {}) {
  return new CheckpointBuilder({
    rows: rows as unknown as CheckpointRows,
    clock: new FakeClock(),
    owned: () => Array.from({ length: SHARDS }, (_, shard) => ({ shard, epoch: epochOf() })),
    recent: recentLeaves({ epochOf, ...limits }),
    onFailure: () => {},
  })
}

const A = sampleId('agc', 'a')
const OTHERS = Array.from({ length: AGENCIES_AT_ONCE }, (_, n) => sampleId('agc', `other-${n}`))

describe('a round', () => {
  test('gives every agency its turn before one with many entries gets another', async () => {
    for (const leaves of [LEAVES_PER_READ, LEAVES_AT_ONCE]) {
      const isRecent = leaves === LEAVES_AT_ONCE
      const rows = new MemoryRows()
      const own = open(rows)
      for (const id of [A, ...OTHERS]) for (const entry of rows.write(id)) own.note(entry)
      // The first note of a shard, and the read after it.
      for (const pass of isRecent ? [1, 2] : []) {
        for (const id of pass === 1 ? [] : [A, ...OTHERS]) for (const entry of rows.write(id)) own.note(entry)
        await own.round()
      }
      const before = rows.parts.length
      const entries = [...rows.write(A, leaves + 1), ...OTHERS.flatMap((id) => rows.write(id))]
      for (const entry of entries) own.note(entry)
      await own.round()
      const grown = rows.parts.slice(before).map(({ agencyId }) => agencyId)
      expect(grown.filter((id) => id === A)).toHaveLength(2)
      expect([grown.length, grown.at(-1)]).toEqual([OTHERS.length + 2, A])
      expect([A, ...OTHERS].every((id) => rows.isWhole(id))).toBe(true)
    }
  })

  test('that fails leaves the rest to the next one, also of an agency that had a part of its leaves', async () => {
    const rows = new MemoryRows()
    const own = open(rows)
    await own.round()
    const entries = [...rows.write(A, LEAVES_PER_READ + 1), ...OTHERS.flatMap((id) => rows.write(id))]
    for (const entry of entries) own.note(entry)
    rows.failing = new Set(OTHERS.slice(-1))
    await expect(own.round()).rejects.toThrow('no database')
    expect(rows.isWhole(A)).toBe(false)
    rows.failing = 'none'
    await own.round()
    expect([A, ...OTHERS].every((id) => rows.isWhole(id))).toBe(true)
  })
})

test('what is added to trees in one statement has a limit', async () => {
  const rows = new MemoryRows()
  const own = open(rows)
  const agencies = OTHERS.slice(0, 6)
  for (let pass = 0; pass < 2; pass++) {
    for (const id of agencies) for (const entry of rows.write(id)) own.note(entry)
    await own.round()
  }
  for (const id of agencies) for (const entry of rows.write(id, LEAVES_AT_ONCE)) own.note(entry)
  const { reads } = rows
  await own.round()
  expect(agencies.every((id) => rows.isWhole(id))).toBe(true)
  expect([rows.reads - reads, rows.leavesKept]).toEqual([0, RECENT_PER_STATEMENT])
})

test('what the log has lost is in no tree, and the rest gets its leaves although nothing is written', async () => {
  const rows = new MemoryRows()
  const own = open(rows)
  for (let pass = 0; pass < 2; pass++) {
    for (const entry of rows.write(A)) own.note(entry)
    await own.round()
  }
  for (const entry of rows.write(A, 5)) own.note(entry)
  rows.lose(shardOf(A), 2)
  await own.round()
  await own.round()
  expect(rows.isWhole(A)).toBe(true)
})

const EVENTS = [
  'an entry is not noted',
  'another process writes',
  'the epoch rises',
  'another process builds',
  'the last row is lost',
  'the log loses its end',
  'the process restarts',
  'the database is away',
] as const

test('the trees are those of all entries, whatever is lost, missed, repeated or built elsewhere meanwhile (M2, M4)', async () => {
  // Of two shards: the last two share one.
  const agencies = ['tree-a', 'tree-b'].map((name) => sampleId('agc', name))
  const shared = OTHERS.concat(Array.from({ length: 2_000 }, (_, n) => sampleId('agc', `shared-${n}`)))
  agencies.push(shared.find((id) => shardOf(id) === shardOf(agencies[1] ?? '')) ?? '')
  const seen = { recent: 0, read: 0 }
  for (let seed = 1; seed <= rounds({ push: 60, long: 1_000 }); seed++) {
    const random = new SeededRandom(seed)
    const rows = new MemoryRows()
    let epoch = 1
    const restarted = () => open(rows, () => epoch, { leavesMax: 40, agencyLeavesMax: 20 })
    let own = restarted()
    let isBusy = true
    rows.duringRead = () => {
      if (isBusy && random.below(2) === 0) for (const entry of rows.write(random.pick(agencies))) own.note(entry)
    }
    for (let step = 0; step < 40; step++) {
      const agencyId = random.pick(agencies)
      const event = random.below(2) === 0 ? random.pick(EVENTS) : null
      if (event === 'another process writes') epoch += 1
      const entries = rows.write(agencyId, 1 + random.below(random.below(4) === 0 ? 30 : 6))
      // Not the last one: what follows a gap shows it.
      const missed = event === 'an entry is not noted' ? entries[random.below(entries.length)] : undefined
      if (event !== 'another process writes')
        for (const entry of entries) if (entry !== missed || entry === entries.at(-1)) own.note(entry)
      if (event === 'the epoch rises') epoch += 1
      if (event === 'another process builds') await open(rows).round()
      if (event === 'the last row is lost') {
        const lost = rows.parts.pop()
        // It is noticed with the next entry.
        if (lost !== undefined) for (const entry of rows.write(lost.agencyId)) own.note(entry)
      }
      if (event === 'the log loses its end') {
        rows.lose(shardOf(agencyId), 1 + random.below(entries.length + 3))
        // The writer notices before it writes again.
        if (random.below(2) === 0) await own.round()
        epoch += 1
      }
      if (event === 'the process restarts') own = restarted()
      if (random.below(3) === 0) continue
      if (event === 'the database is away') {
        rows.failing = 'all'
        await own.round().catch(() => {})
        rows.failing = 'none'
      }
      const reads = rows.reads
      await own.round()
      seen[rows.reads > reads ? 'read' : 'recent'] += 1
      // A tree that had another end than was remembered is read again in the next round.
      isBusy = false
      await own.round()
      isBusy = true
      const lacking = agencies.filter((id) => !rows.isWhole(id))
      expect([seed, step, event, lacking]).toEqual([seed, step, event, []])
    }
  }
  expect(Math.min(seen.recent, seen.read)).toBeGreaterThan(200)
})
