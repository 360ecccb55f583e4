import { describe, expect, test } from 'bun:test'
import {
  Place,
  WAITING_MAX,
  WAITING_PER_AGENCY_MAX,
  WAITING_PER_KEY_MAX,
  type Waiting,
  WaitingPlaces,
} from '../../../src/events/changes/waiting-places.ts'
import { FakeClock } from '../../support/fake-clock.ts'

function opened() {
  const clock = new FakeClock()
  const places = new WaitingPlaces(clock)
  const revoked = new Set<string>()
  const take = (keyId: string, kind: Waiting['kind'] = 'request', ownerId = keyId) =>
    places.take({ ownerId, keyId, kind, isServed: () => !revoked.has(keyId) })
  const taken = (keyId: string, kind?: Waiting['kind'], ownerId?: string): Place => {
    const place = take(keyId, kind, ownerId)
    if (typeof place === 'string') throw new Error(`Expected a place, got ${place}`)
    return place
  }
  return { clock, places, revoked, take, taken }
}

describe('places', () => {
  test(`a key has ${WAITING_PER_KEY_MAX}, requests and streams together; one that is released can be taken again`, () => {
    const { take, taken } = opened()
    const held = Array.from({ length: WAITING_PER_KEY_MAX }, (_, n) => taken('a', n % 2 === 0 ? 'request' : 'stream'))
    expect([take('a'), take('a', 'stream')]).toEqual(['key_full', 'key_full'])
    expect(take('b')).toBeInstanceOf(Place)
    held[0]?.release()
    held[0]?.release()
    expect(take('a')).toBeInstanceOf(Place)
    expect(take('a')).toBe('key_full')
  })

  test(`an agency has ${WAITING_PER_AGENCY_MAX}, however many keys it has; another agency has its own`, () => {
    const { take, taken } = opened()
    const held = Array.from({ length: WAITING_PER_AGENCY_MAX }, (_, n) => taken(`key ${n >> 3}`, 'request', 'agency'))
    expect([take('new', 'request', 'agency'), take('new', 'stream', 'agency')]).toEqual(['agency_full', 'agency_full'])
    expect(take('other')).toBeInstanceOf(Place)
    held[0]?.release()
    held[0]?.release()
    expect(take('new', 'stream', 'agency')).toBeInstanceOf(Place)
    expect(take('new', 'stream', 'agency')).toBe('agency_full')
  })

  test(`the process has ${WAITING_MAX}`, () => {
    const { take, taken, places } = opened()
    const held = Array.from({ length: WAITING_MAX }, (_, n) => taken(`key ${n >> 3}`))
    expect(take('another')).toBe('process_full')
    held[7]?.release()
    expect(take('another')).toBeInstanceOf(Place)
    expect(places.stats).toEqual({ requests: WAITING_MAX, streams: 0 })
    for (const place of held) place.release()
    expect(places.stats).toEqual({ requests: 1, streams: 0 })
  })

  test('requests and streams share those of the process', () => {
    const { take, taken, places } = opened()
    for (let n = 0; n < WAITING_MAX; n++) taken(`key ${n >> 3}`, n % 2 === 0 ? 'request' : 'stream')
    expect([take('another'), take('another', 'stream')]).toEqual(['process_full', 'process_full'])
    expect(places.stats).toEqual({ requests: WAITING_MAX / 2, streams: WAITING_MAX / 2 })
  })

  test('of a session that has ended end within a second, those of the same token’s other sessions stay', async () => {
    const { clock, places } = opened()
    const ended = new Set<string | null>()
    const asks: (string | null)[] = []
    const held = [null, 'one', 'two', 'one', null].map((sessionId) => {
      const isServed = () => {
        asks.push(sessionId)
        return !ended.has(sessionId)
      }
      const place = places.take({ ownerId: 'agency', keyId: 'token', sessionId, kind: 'stream', isServed })
      if (typeof place === 'string') throw new Error(`Expected a place, got ${place}`)
      return place
    })
    ended.add('one')
    await clock.advance(999)
    expect(held.map(({ isEnded }) => isEnded)).toEqual([false, true, false, true, false])
    // Each once, however many places it has.
    expect(asks).toEqual([null, 'one', 'two'])
  })

  test('of a key that is not served any more end within a second, those of others stay', async () => {
    const { clock, revoked, taken } = opened()
    const [one, two, other] = [taken('a'), taken('a', 'stream'), taken('b')]
    const ended: string[] = []
    one.onEnd = () => ended.push('one')
    await clock.advance(700)
    revoked.add('a')
    await clock.advance(999)
    expect([one, two, other].map(({ isEnded }) => isEnded)).toEqual([true, true, false])
    expect(ended).toEqual(['one'])
  })

  test('nothing is looked at while nobody waits', async () => {
    const { clock, taken } = opened()
    expect(clock.nextTimerIn).toBeNull()
    const place = taken('a')
    expect(clock.nextTimerIn).toBe(500)
    place.release()
    await clock.advance(500)
    expect(clock.nextTimerIn).toBeNull()
  })

  test('all end at once when the process stops serving, and later ones have ended from the start', () => {
    const { places, taken } = opened()
    const before = [taken('a'), taken('b', 'stream')]
    places.endAll()
    const later = taken('c')
    expect([...before, later].map(({ isEnded }) => isEnded)).toEqual([true, true, true])
    for (const place of [...before, later]) place.release()
    expect(places.stats).toEqual({ requests: 0, streams: 0 })
  })

  test('P3: all end at once in a pause, new ones with them, until it is over; not after the process has stopped serving', () => {
    const { places, taken } = opened()
    const before = taken('a')
    places.pause(true)
    const meanwhile = taken('b', 'stream')
    expect([before, meanwhile].map(({ isEnded }) => isEnded)).toEqual([true, true])
    places.pause(false)
    expect(taken('c').isEnded).toBe(false)
    places.endAll()
    places.pause(false)
    expect(taken('d').isEnded).toBe(true)
  })
})
