import { beforeEach, describe, expect, test } from 'bun:test'
import type { HeldClaim } from '../../src/cluster/cluster-view.ts'
import { Confirmation, FAILSAFE_MS } from '../../src/cluster/confirmation.ts'
import type { NodeAddress } from '../../src/cluster/shard-owners.ts'
import { ShardOwners } from '../../src/cluster/shard-owners.ts'
import { FakeClock } from '../support/fake-clock.ts'

const B: NodeAddress = { id: 'b', url: 'http://b' }

let clock: FakeClock
let isConfirmed: boolean
let isServed: boolean
let claim: HeldClaim | null
let guess: NodeAddress | null
let owners: ShardOwners

beforeEach(() => {
  clock = new FakeClock()
  isConfirmed = true
  isServed = false
  claim = null
  guess = null
  owners = new ShardOwners({
    self: { id: 'a', url: 'http://a' },
    clock,
    isConfirmed: () => isConfirmed,
    isServed: () => isServed,
    claimOf: () => claim,
    addressOf: (id) => (id === 'b' ? B : null),
    guess: () => guess,
  })
})

describe('the owner of a shard', () => {
  test('C6: is this node only while it is confirmed', () => {
    isServed = true
    expect(owners.ownerOf(1)).toBe('self')
    isConfirmed = false
    expect(owners.ownerOf(1)).toBeNull()
  })
  test('is who has the key', () => {
    claim = { node: 'b', lease: '1', isServing: true }
    expect(owners.ownerOf(1)).toEqual(B)
  })
  test('is nobody while this node acquires it, or the owner is unknown', () => {
    claim = { node: 'a', lease: '1', isServing: false }
    expect(owners.ownerOf(1)).toBeNull()
    claim = { node: 'c', lease: '1', isServing: true }
    expect(owners.ownerOf(1)).toBeNull()
  })
  test('is a guess when this node has lost it and etcd does not say to whom', () => {
    claim = { node: 'a', lease: '1', isServing: true }
    guess = B
    expect(owners.ownerOf(1)).toEqual(B)
  })
})

describe('waiting for another owner', () => {
  test('ends with the change, and not before', async () => {
    let isOver = false
    const waiting = owners.changed(1, 1_000).then(() => {
      isOver = true
    })
    owners.tell()
    await clock.advance(10)
    expect(isOver).toBe(false)
    claim = { node: 'b', lease: '1', isServing: true }
    owners.tell()
    await waiting
    expect(clock.nextTimerIn).toBeNull()
  })
  test('ends when its time is over', async () => {
    const waiting = owners.changed(1, 1_000)
    await clock.advance(1_000)
    await waiting
  })
})

describe('C6: a node is confirmed', () => {
  test('by its lease, until a second before etcd may end it', async () => {
    const confirmation = new Confirmation(clock)
    expect(confirmation.isConfirmed).toBe(false)
    confirmation.byLease(clock.monotonicMs(), 5)
    await clock.advance(3_999)
    expect(confirmation.isConfirmed).toBe(true)
    await clock.advance(1)
    expect(confirmation.isConfirmed).toBe(false)
  })
  test(`by Postgres for ${FAILSAFE_MS} ms from when it was asked`, async () => {
    const confirmation = new Confirmation(clock)
    const askedAt = clock.monotonicMs()
    await clock.advance(1_000)
    confirmation.byPostgres(askedAt)
    expect(confirmation.isFailsafe).toBe(true)
    await clock.advance(200)
    expect(confirmation.isConfirmed).toBe(false)
  })
  test('not by an answer that came later than one to a later question', async () => {
    const confirmation = new Confirmation(clock)
    await clock.advance(1_000)
    confirmation.byLease(1_000, 5)
    confirmation.byLease(0, 5)
    await clock.advance(3_900)
    expect(confirmation.isConfirmed).toBe(true)
  })
  test('by Postgres alone when the lease is lost', () => {
    const confirmation = new Confirmation(clock)
    confirmation.byLease(0, 5)
    confirmation.endLease()
    expect(confirmation.isConfirmed).toBe(false)
    confirmation.byPostgres(0)
    expect(confirmation.isConfirmed).toBe(true)
  })
})
