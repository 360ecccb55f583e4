import { expect, test } from 'bun:test'
import { type KnownBlock, planFeed, refOf } from '../../src/cli/feed-plan.ts'
import type { FeedEvent } from '../../src/ical/feed.ts'
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
  const free: FeedEvent = { kind: 'passed_over', uid: 'a', reason: 'is marked as free time' }
  expect(planFeed([free], [known('a', '2027-03-01', '2027-03-02')], OPTIONS).steps).toMatchObject([{ kind: 'cancel' }])
})

test('a UID too long for a reference is found again by its hash', () => {
  const uid = 'u'.repeat(500)
  expect(refOf(uid)).toHaveLength(71)
  const plan = planFeed([taken(uid, '2027-03-01', '2027-03-02')], [known(uid, '2027-03-01', '2027-03-02')], OPTIONS)
  expect(plan).toMatchObject({ steps: [], unchanged: 1 })
})
