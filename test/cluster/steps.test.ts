import { describe, expect, test } from 'bun:test'
import {
  LEAVING_MOVES_MAX,
  MOVES_MAX,
  Placements,
  placementOf,
  type Situation,
  type Steps,
  stepsOf,
} from '../../src/cluster/steps.ts'

const MINE = { node: 'a', lease: '1', isServing: true }
const THEIRS = { node: 'b', lease: '2', isServing: true }
/** Of a former run of this node, or of this one before it lost its lease. */
const FORMER = { node: 'a', lease: '9', isServing: true }

/** One shard, in one situation. @returns what is to be done with it */
function stepOf(
  situation: Partial<Situation> & { claim?: Situation['claims'][number]; isOwned?: boolean; owner?: string | null },
) {
  const { claim = null, isOwned = false, owner = 'a', ...rest } = situation
  const steps = stepsOf({
    self: 'a',
    lease: '1',
    claims: [claim],
    wanted: [owner],
    owned: new Set(isOwned ? [0] : []),
    busy: new Set(),
    moving: 0,
    isResting: false,
    isLeaving: false,
    ...rest,
  })
  const names = (Object.keys(steps) as (keyof Steps)[]).filter((name) => steps[name].length > 0)
  expect(names.length).toBeLessThanOrEqual(1)
  return names[0] ?? null
}

describe('what a node does about a shard', () => {
  const TABLE = [
    // claim, owned, wanted owner, step
    ['nobody claims it and it should be ours', null, false, 'a', 'claim'],
    ['nobody claims it and it should be theirs', null, false, 'b', null],
    ['nobody claims it and nobody can have it', null, false, null, null],
    ['ours, and not acquired yet', { ...MINE, isServing: false }, false, 'a', 'acquire'],
    ['ours, served, lost to a fence', MINE, false, 'a', 'acquire'],
    ['ours, not acquired, and it should be theirs by now', { ...MINE, isServing: false }, false, 'b', 'unclaim'],
    ['ours, acquired, and nobody is told', { ...MINE, isServing: false }, true, 'a', 'announce'],
    ['ours and served', MINE, true, 'a', null],
    ['ours and served, and it should be theirs', MINE, true, 'b', 'release'],
    ['ours and served, and nobody else can have it', MINE, true, null, null],
    ['we own it and the key is gone', null, true, 'a', 'announce'],
    ['we own it, the key is gone, and it should be theirs', null, true, 'b', 'drop'],
    ['we own it and they have the key', THEIRS, true, 'a', 'drop'],
    [
      'we own it and the key hangs on the lease that we have lost: the next reading tells more',
      FORMER,
      true,
      'a',
      null,
    ],
    ['theirs, as it should be', THEIRS, false, 'b', null],
    ['theirs, and it should be ours: they will give it up', THEIRS, false, 'a', null],
    ['of a lease that has not ended yet', FORMER, false, 'a', null],
  ] as const

  test.each(TABLE)('%s', (_, claim, isOwned, owner, step) => {
    expect(stepOf({ claim, isOwned, owner })).toBe(step)
  })

  test('a busy shard is left alone', () => {
    for (const [, claim, isOwned, owner] of TABLE)
      expect(stepOf({ claim, isOwned, owner, busy: new Set([0]) })).toBeNull()
  })

  test('a node that leaves claims nothing and gives everything up, but not to nobody', () => {
    expect(stepOf({ isLeaving: true, owner: 'a' })).toBeNull()
    expect(stepOf({ isLeaving: true, claim: MINE, isOwned: true, owner: 'b' })).toBe('release')
    expect(stepOf({ isLeaving: true, claim: MINE, isOwned: true, owner: null })).toBeNull()
    expect(stepOf({ isLeaving: true, claim: null, isOwned: true, owner: null })).toBe('announce')
    expect(stepOf({ isLeaving: true, claim: { ...MINE, isServing: false }, owner: 'b' })).toBe('unclaim')
    expect(stepOf({ isLeaving: true, claim: { ...MINE, isServing: false }, owner: null })).toBe('unclaim')
  })
})

describe('the number of shards that move', () => {
  /** Of this node, which has the first 200 and should have none; the others are served by `b`. */
  const many = ({ isAlone = false, moving = 0, isResting = false, isLeaving = false, served = 56 }): Situation => ({
    self: 'a',
    lease: '1',
    busy: new Set(),
    isLeaving,
    isResting,
    moving,
    claims: Array.from({ length: 200 + served }, (_, shard) => (shard < 200 ? MINE : THEIRS)),
    wanted: Array.from({ length: 200 + served }, () => (isAlone ? null : 'b')),
    owned: new Set(Array.from({ length: 200 }, (_, shard) => shard)),
  })

  test('C2: eight at a time, and the next ones when these are served', () => {
    expect(stepsOf(many({})).release).toHaveLength(MOVES_MAX)
    expect(stepsOf(many({ moving: 1 })).release).toEqual([])
    expect(stepsOf(many({ isResting: true })).release).toEqual([])
  })

  test('more when the node is being stopped', () => {
    expect(stepsOf(many({ isLeaving: true })).release).toHaveLength(LEAVING_MOVES_MAX)
  })

  test('C2: a node that has just joined gets one, and then at most as many as it serves', () => {
    for (const isLeaving of [false, true]) {
      expect(stepsOf(many({ isLeaving, served: 0 })).release).toHaveLength(1)
      for (const served of [1, 2, 4]) expect(stepsOf(many({ isLeaving, served })).release).toHaveLength(served)
    }
    expect(stepsOf(many({ isLeaving: true, served: 16 })).release).toHaveLength(16)
    expect(stepsOf(many({ served: 16 })).release).toHaveLength(MOVES_MAX)
  })

  test('nodes that serve enough get theirs, whatever another one has', () => {
    const situation = many({ served: 56 })
    const wanted = situation.wanted.map((_, shard) => (shard < 10 ? 'c' : 'b'))
    const { release } = stepsOf({ ...situation, wanted })
    expect(release).toEqual([0, 10, 11, 12, 13, 14, 15, 16])
  })

  test('a claim that is not served yet is none', () => {
    const situation = many({ served: 56 })
    const claims = situation.claims.map((claim) => (claim?.node === 'b' ? { ...claim, isServing: false } : claim))
    expect(stepsOf({ ...situation, claims }).release).toHaveLength(1)
  })

  test('the last node keeps all until its process ends: there is nobody to hand them over to', () => {
    expect(stepsOf(many({ isAlone: true, isLeaving: true })).release).toEqual([])
  })
})

describe('the wanted owner of a shard', () => {
  const countsOf = (placement: readonly (string | null)[]) => (node: string) =>
    placement.filter((each) => each === node).length

  test('is the same whatever the order of the nodes', () => {
    expect(placementOf(['c', 'a', 'b'])).toEqual(placementOf(['a', 'b', 'c']))
  })
  test('is spread evenly', () => {
    const nodes = ['node-a', 'node-b', 'node-c', 'node-d']
    for (const shards of nodes.map(countsOf(placementOf(nodes)))) expect(shards).toBeWithin(40, 90)
  })
  test('changes only for the shards of a node that comes or goes', () => {
    const before = placementOf(['a', 'b', 'c'])
    const after = placementOf(['a', 'b'])
    for (const [shard, node] of before.entries()) if (node !== 'c') expect(after[shard]).toBe(node)
    for (const [shard, node] of placementOf(['a', 'b', 'c', 'd']).entries())
      if (node !== 'd') expect(node).toBe(before[shard] as string)
  })
  test('is nobody without a node', () => {
    expect(new Set(placementOf([]))).toEqual(new Set([null]))
  })

  test('is the same with the weights of the nodes kept, whichever come and go', () => {
    const placements = new Placements()
    for (let round = 0; round < 100; round++) {
      const nodes = [`a-${round}`, `b-${round >> 1}`, 'c'].slice(0, 1 + (round % 3))
      expect(placements.of(nodes)).toEqual(placementOf(nodes))
    }
  })
})
