import { describe, expect, test } from 'bun:test'
import { FairTurns, SendPool, type Slot } from '../../../src/events/webhooks/send-pool.ts'

describe('turns', () => {
  const member = (agencyId: string, name: string) => ({ agencyId, name })
  const anybody = () => true

  test('rotate among agencies, however many members one of them has', () => {
    const turns = new FairTurns<{ agencyId: string; name: string }>()
    for (let i = 0; i < 5; i++) turns.add(member('flood', `f${i}`))
    turns.add(member('b', 'b0'))
    turns.add(member('c', 'c0'))
    const order = Array.from({ length: 8 }, () => turns.take(anybody)?.name)
    expect(order).toEqual(['f0', 'b0', 'c0', 'f1', 'f2', 'f3', 'f4', undefined])
  })

  test('a queued member keeps its place, and so does a skipped agency', () => {
    const turns = new FairTurns<{ agencyId: string; name: string }>()
    const a = member('a', 'a0')
    turns.add(a)
    turns.add(member('b', 'b0'))
    turns.add(a)
    expect(turns.take((agencyId) => agencyId !== 'a')?.name).toBe('b0')
    expect(turns.take(anybody)?.name).toBe('a0')
    expect(turns.take(anybody)).toBeUndefined()
  })

  test('a deleted member gets no turn', () => {
    const turns = new FairTurns<{ agencyId: string; name: string }>()
    const a = member('a', 'a0')
    turns.add(a)
    turns.delete(a)
    expect(turns.take(anybody)).toBeUndefined()
  })
})

describe('the pools', () => {
  const LIMITS = { fastMax: 2, parkedMax: 3, parkedAtStartMax: 2, perAgencyMax: 4 }

  test('a slow attempt makes room for a fast one', () => {
    let freed = 0
    const pool = new SendPool(LIMITS, () => {
      freed += 1
    })
    const slots = [pool.start('a', 'fast'), pool.start('b', 'fast')]
    expect(pool.hasRoom('fast')).toBe(false)
    slots[0]?.park()
    expect([pool.fast, pool.parked, freed]).toEqual([1, 1, 1])
    expect(pool.hasRoom('fast')).toBe(true)
  })

  test('attempts that start parked leave room for attempts that turn out slow', () => {
    const pool = new SendPool(LIMITS, () => {})
    pool.start('a', 'parked')
    pool.start('b', 'parked')
    expect(pool.hasRoom('parked')).toBe(false)
    pool.start('c', 'fast').park()
    expect([pool.fast, pool.parked]).toEqual([0, 3])
  })

  test('a slow attempt stays in the fast pool until the parked pool has room', () => {
    let freed = 0
    const pool = new SendPool(LIMITS, () => {
      freed += 1
    })
    const parked: Slot[] = [pool.start('a', 'parked'), pool.start('b', 'parked')]
    pool.start('c', 'fast').park()
    const slow = pool.start('d', 'fast')
    slow.park()
    expect([pool.fast, pool.parked, freed]).toEqual([1, 3, 1])
    parked[0]?.end()
    expect([pool.fast, pool.parked, freed]).toEqual([0, 3, 2])
    slow.end()
    expect(freed).toBe(3)
    expect([pool.fast, pool.parked]).toEqual([0, 2])
  })

  test('one agency never gets more than its share', () => {
    const pool = new SendPool({ ...LIMITS, fastMax: 10 }, () => {})
    const slots = Array.from({ length: 4 }, () => pool.start('a', 'fast'))
    expect(pool.hasRoomFor('a')).toBe(false)
    expect(pool.hasRoomFor('b')).toBe(true)
    slots[0]?.end()
    expect(pool.hasRoomFor('a')).toBe(true)
  })
})
