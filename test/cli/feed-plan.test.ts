import { describe, expect, test } from 'bun:test'
import { type KnownBlock, planFeed, refOf } from '../../src/cli/feed-plan.ts'
import type { FeedEvent } from '../../src/events/ical/feed.ts'
import { night } from '../support/samples.ts'

const OPTIONS = { today: '2027-01-01', keepMissing: false }

function taken(uid: string, arrival: string, departure: string): FeedEvent {
  return { kind: 'taken', uid, stay: { arrival: night(arrival), departure: night(departure) } }
}

function known(uid: string, arrival: string, departure: string): KnownBlock {
  return { id: `bkg_${uid}`, sourceRef: refOf(uid), arrival, departure }
}

test('nights are freed before blocks move, and blocks move before new ones are made', () => {
  const events = [taken('new', '2027-03-01', '2027-03-02'), taken('moved', '2027-03-05', '2027-03-06')]
  const blocks = [known('moved', '2027-03-03', '2027-03-04'), known('gone', '2027-03-01', '2027-03-02')]
  expect(planFeed(events, blocks, OPTIONS).steps.map(({ kind, uid }) => `${kind} ${uid}`)).toEqual([
    'cancel gone',
    'move moved',
    'create new',
  ])
})

test('a refused event leaves its block as it is', () => {
  const refused: FeedEvent = { kind: 'refused', uid: 'a', reason: 'repeats' }
  const plan = planFeed([refused], [known('a', '2027-03-01', '2027-03-02')], OPTIONS)
  expect(plan).toMatchObject({ steps: [], refused: [{ uid: 'a' }] })
})

test('an event that becomes free time gives its nights back', () => {
  const free: FeedEvent = { kind: 'skipped', uid: 'a', reason: 'is marked as free time' }
  expect(planFeed([free], [known('a', '2027-03-01', '2027-03-02')], OPTIONS).steps).toMatchObject([{ kind: 'cancel' }])
})

test('a block that is over is left alone, also by an event that says cancelled or free', () => {
  const events: FeedEvent[] = [
    { kind: 'cancelled', uid: 'a' },
    { kind: 'skipped', uid: 'b', reason: 'is marked as free time' },
  ]
  const over = ['a', 'b'].map((uid) => known(uid, '2026-12-01', '2027-01-01'))
  expect(planFeed(events, over, OPTIONS)).toMatchObject({ steps: [], unchanged: 1, passedOver: [{ uid: 'b' }] })
})

test('a block gives back its nights from today on when its event has ended early', () => {
  const plan = planFeed([taken('a', '2026-12-20', '2027-01-01')], [known('a', '2026-12-20', '2027-01-09')], OPTIONS)
  expect(plan.steps).toMatchObject([{ kind: 'move', arrival: '2026-12-20', departure: '2027-01-01' }])
})

test('a UID too long for a reference is found again by its hash', () => {
  const uid = 'u'.repeat(500)
  expect(refOf(uid)).toHaveLength(71)
  const plan = planFeed([taken(uid, '2027-03-01', '2027-03-02')], [known(uid, '2027-03-01', '2027-03-02')], OPTIONS)
  expect(plan).toMatchObject({ steps: [], unchanged: 1 })
})

describe('a feed is suspicious', () => {
  const stay = ['2027-03-01', '2027-03-02'] as const
  const blocks = (n: number) => Array.from({ length: n }, (_, i) => known(`${i}`, ...stay))
  /** What is planned when a feed still has `kept` of `n` blocks. */
  const planOf = (kept: number, n: number, options = {}) =>
    planFeed(
      Array.from({ length: kept }, (_, i) => taken(`${i}`, ...stay)),
      blocks(n),
      { ...OPTIONS, ...options },
    )
  const suspicion = (...args: Parameters<typeof planOf>) => planOf(...args).suspicion

  test('without events, however few blocks are upcoming, and says what it would cancel', () => {
    expect(suspicion(0, 1)).toBe('the feed has no events and would cancel 1 of 1 upcoming blocks')
    expect(suspicion(0, 3)).toBe('the feed has no events and would cancel 3 of 3 upcoming blocks')
  })

  test('when it cancels more than half of three or more upcoming blocks', () => {
    expect(suspicion(1, 3)).toBe('the feed would cancel 2 of 3 upcoming blocks')
    expect([suspicion(2, 3), suspicion(2, 4), suspicion(1, 2)]).toEqual([null, null, null])
    expect(suspicion(1, 4)).toBe('the feed would cancel 3 of 4 upcoming blocks')
    expect(planFeed([taken('other', ...stay)], blocks(2), OPTIONS).suspicion).toBeNull()
  })

  test('not without events when no block is upcoming: nothing would be cancelled', () => {
    expect(suspicion(0, 0)).toBeNull()
    expect(planFeed([], [known('x', '2026-03-01', '2026-03-02')], OPTIONS).suspicion).toBeNull()
  })

  test('and the plan has no steps to run, but says what they would be; allowed mass cancellation is not suspicious', () => {
    expect(planOf(0, 3)).toMatchObject({
      steps: [],
      withheld: [{ kind: 'cancel' }, { kind: 'cancel' }, { kind: 'cancel' }],
    })
    const allowed = planOf(0, 3, { allowMassCancellation: true })
    expect([allowed.suspicion, allowed.steps.length]).toEqual([null, 3])
  })

  test('not when missing blocks are kept, which cancels none', () => {
    expect([suspicion(0, 3, { keepMissing: true }), suspicion(1, 4, { keepMissing: true })]).toEqual([null, null])
  })

  test('by its events, too: cancelled in so many words or marked as free', () => {
    const events: FeedEvent[] = [
      { kind: 'cancelled', uid: '0' },
      { kind: 'skipped', uid: '1', reason: 'is marked as free time' },
      taken('2', ...stay),
    ]
    expect(planFeed(events, blocks(3), { ...OPTIONS, keepMissing: true }).suspicion).toContain('2 of 3')
  })

  test('by upcoming blocks only: those that are over neither hide a loss nor make one', () => {
    const over = ['x', 'y', 'z', 'w'].map((uid) => known(uid, '2026-03-01', '2026-03-02'))
    const events = [taken('0', ...stay)]
    expect(planFeed(events, [...over, ...blocks(3)], OPTIONS).suspicion).toContain('2 of 3')
    expect(planFeed(events, [...over, ...blocks(2)], OPTIONS).suspicion).toBeNull()
  })
})
