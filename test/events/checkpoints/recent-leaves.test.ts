import { describe, expect, test } from 'bun:test'
import { shardOf } from '../../../src/core/journal/shard.ts'
import { RecentLeaves } from '../../../src/events/checkpoints/recent-leaves.ts'
import { sampleId } from '../../support/samples.ts'

const A = sampleId('agc', 'a')
const B = sampleId('agc', 'b')

/** Leaves of two agencies of different shards. */
function open({ leavesMax = 100, agencyLeavesMax = 100 } = {}) {
  let epoch = 1
  const recent = new RecentLeaves({ epochOf: () => epoch, leavesMax, agencyLeavesMax })
  return {
    recent,
    note: (agencyId: string, ...seqs: number[]) => {
      for (const seq of seqs)
        recent.note({
          agencyId,
          shard: shardOf(agencyId),
          seq,
          month: '2030-01-01',
          id: `evt_${seq}`,
          leaf: new Uint8Array([seq]),
        })
    },
    after: (agencyId: string, seq: number, limit = 100) =>
      recent.after(agencyId, seq, limit)?.map((leaf) => leaf.seq) ?? null,
    setEpoch: (next: number) => {
      epoch = next
    },
  }
}

/** The tree of A ends with entry 7, which was noted. */
function followed() {
  const opened = open()
  opened.note(A, 7)
  opened.recent.follow(A)
  opened.recent.settle(A, 7)
  return opened
}

describe('the leaves of an agency that were just made', () => {
  test('are those after the end of its tree, as many as are wanted, with what a tree keeps of the last one', () => {
    const { recent, note, after } = followed()
    note(A, 8, 9, 10)
    expect(after(A, 7)).toEqual([8, 9, 10])
    expect(after(A, 8)).toEqual([9, 10])
    expect(after(A, 7, 2)).toEqual([8, 9])
    expect(after(A, 10)).toEqual([])
    expect(recent.after(A, 9, 1)).toEqual([{ seq: 10, month: '2030-01-01', id: 'evt_10', leaf: new Uint8Array([10]) }])
  })

  test('are not trusted before it is known what comes before them: in the shard, and in the tree', () => {
    const { recent, note, after } = open()
    recent.follow(A)
    note(A, 8)
    expect(after(A, 7)).toBeNull()
    recent.follow(A)
    note(A, 9, 10)
    expect(after(A, 8)).toBeNull()
    recent.settle(A, 8)
    expect(after(A, 8)).toEqual([9, 10])
  })

  test('are not trusted by a tree that ends before they begin, as after the loss of its last row', () => {
    const { recent, note, after } = followed()
    note(A, 8, 9)
    recent.settle(A, 8)
    expect(after(A, 8)).toEqual([9])
    expect(after(A, 7)).toBeNull()
    recent.follow(A)
    expect(after(A, 7)).toBeNull()
  })

  test('are forgotten when an entry of the shard is missing between them', () => {
    const { recent, note, after } = followed()
    note(A, 8, 10)
    expect(after(A, 7)).toBeNull()
    expect(recent.size).toBe(0)
  })

  test('are forgotten when a number comes twice, as after a fail-over that has lost entries', () => {
    const { note, after } = followed()
    note(A, 8, 9, 9)
    expect(after(A, 7)).toBeNull()
  })

  test('are forgotten when the shard has another epoch, even if nothing was written since or the numbers go on', () => {
    for (const noteNext of [false, true]) {
      const { recent, note, after, setEpoch } = open()
      note(A, 7)
      recent.follow(A)
      recent.settle(A, 7)
      note(A, 8)
      setEpoch(2)
      if (noteNext) note(A, 9)
      expect(after(A, 7)).toBeNull()
      expect(recent.size).toBe(0)
    }
  })

  test('are forgotten when they are too many, and kept again once they are followed', () => {
    const { recent, note, after } = open({ agencyLeavesMax: 2 })
    note(A, 7)
    recent.follow(A)
    recent.settle(A, 7)
    note(A, 8, 9)
    expect(after(A, 7)).toEqual([8, 9])
    note(A, 10)
    expect(after(A, 7)).toBeNull()
    expect(recent.size).toBe(0)
    recent.follow(A)
    note(A, 11)
    recent.settle(A, 10)
    expect(after(A, 10)).toEqual([11])
  })

  test('of all agencies have a limit together, which costs the one that exceeds it its own', () => {
    const { recent, note, after } = open({ leavesMax: 3 })
    for (const agencyId of [A, B]) {
      note(agencyId, 0)
      recent.follow(agencyId)
      recent.settle(agencyId, 0)
    }
    note(A, 1, 2)
    note(B, 1, 2)
    expect([after(A, 0), after(B, 0)]).toEqual([[1, 2], null])
    expect(recent.size).toBe(2)
    recent.settle(A, 1)
    expect(recent.size).toBe(1)
    recent.forget(A)
    recent.forget(A)
    expect(recent.size).toBe(0)
  })
})
