import { describe, expect, test } from 'bun:test'
import {
  CLIENTS_MAX,
  FLOOD_PER_MINUTE,
  WRONG_TOKENS_PER_MINUTE,
  WrongTokenThrottle,
} from '../../src/accounts/wrong-token-throttle.ts'
import { FakeClock } from '../support/fake-clock.ts'

const ADDRESS = '198.51.100.1'

function throttleAt(options: { clientsMax?: number; perMinute?: number } = {}) {
  const clock = new FakeClock()
  const reported: string[] = []
  const counted: string[] = []
  const throttle = new WrongTokenThrottle({
    clock,
    onThrottled: (address) => reported.push(address),
    onCounted: (network) => counted.push(network),
    ...options,
  })
  const takes = (count: number, address = ADDRESS) => Array.from({ length: count }, () => throttle.take(address))
  return { clock, reported, counted, throttle, takes }
}

describe('wrong tokens from one client', () => {
  test('are answered with 401 twenty times a minute, then with 429 until the first is a minute old', async () => {
    const { clock, takes } = throttleAt()
    expect(takes(1)).toEqual([null])
    await clock.advance(10_000)
    expect(takes(WRONG_TOKENS_PER_MINUTE - 1).filter((wait) => wait !== null)).toEqual([])
    expect(takes(2)).toEqual([50, 50])
    await clock.advance(49_999)
    expect(takes(1)).toEqual([1])
    await clock.advance(1)
    // What was answered with 429 does not count, so that patience is rewarded.
    expect(takes(2)).toEqual([null, 10])
  })

  test('no longer count after a minute while another client, quiet for longer, still has some that do', async () => {
    const { clock, takes } = throttleAt()
    takes(WRONG_TOKENS_PER_MINUTE - 1)
    await clock.advance(40_000)
    takes(1, '198.51.100.2')
    await clock.advance(10_000)
    takes(1)
    await clock.advance(10_000)
    expect(takes(1)).toEqual([null])
  })

  test('may be more where the next one is not even looked at', () => {
    const { throttle, takes } = throttleAt({ perMinute: FLOOD_PER_MINUTE })
    takes(FLOOD_PER_MINUTE - 1)
    expect(throttle.isOver(ADDRESS)).toBe(false)
    takes(1)
    expect(throttle.isOver(ADDRESS)).toBe(true)
  })

  test('say nothing about another client', () => {
    const { takes } = throttleAt()
    takes(WRONG_TOKENS_PER_MINUTE + 1)
    expect(takes(1, '198.51.100.2')).toEqual([null])
  })

  test('count together for the /64 of an IPv6 address, and apart beyond it', () => {
    const { throttle, takes } = throttleAt()
    for (let i = 0; i < WRONG_TOKENS_PER_MINUTE; i++) expect(throttle.take(`2001:db8:1:2::${i}`)).toBeNull()
    expect(throttle.take('2001:db8:1:2:ffff::1')).toBe(60)
    expect(takes(1, '2001:db8:1:3::1')).toEqual([null])
  })

  test('are reported at most once a minute for each client', async () => {
    const { clock, reported, takes } = throttleAt()
    takes(WRONG_TOKENS_PER_MINUTE)
    expect(reported).toEqual([])
    takes(100)
    takes(100, '198.51.100.2')
    expect(reported).toEqual([ADDRESS, '198.51.100.2'])
    await clock.advance(60_000)
    takes(100)
    expect(reported).toEqual([ADDRESS, '198.51.100.2', ADDRESS])
  })

  test('are reported again after exactly a minute, also while they never pause', async () => {
    const { clock, reported, takes } = throttleAt()
    takes(1)
    await clock.advance(30_000)
    takes(WRONG_TOKENS_PER_MINUTE)
    expect(reported).toEqual([ADDRESS])
    await clock.advance(59_999)
    takes(WRONG_TOKENS_PER_MINUTE)
    expect(reported).toEqual([ADDRESS])
    await clock.advance(1)
    takes(WRONG_TOKENS_PER_MINUTE)
    expect(reported).toEqual([ADDRESS, ADDRESS])
  })

  test('and requests without a token are counted for the metrics', () => {
    const { throttle, takes } = throttleAt()
    takes(WRONG_TOKENS_PER_MINUTE + 3)
    throttle.countMissing()
    expect(throttle.stats).toEqual({ missing: 1, wrong: WRONG_TOKENS_PER_MINUTE, throttled: 3 })
  })
})

describe('wrong tokens that several workers count', () => {
  test('are told with their network, at most as many as the limit allows in any minute', async () => {
    const { clock, counted, throttle, takes } = throttleAt()
    takes(3 * WRONG_TOKENS_PER_MINUTE)
    throttle.take('2001:db8:1:2::1')
    expect(counted).toEqual([...Array(WRONG_TOKENS_PER_MINUTE).fill(ADDRESS), '2001:db8:1:2::'])
    await clock.advance(60_000)
    takes(1)
    expect(counted).toHaveLength(WRONG_TOKENS_PER_MINUTE + 2)
  })

  test('have one limit together, whichever worker they come to', () => {
    const [first, second] = [throttleAt(), throttleAt()]
    const answers: (number | null)[] = []
    for (let i = 0; i < 2 * WRONG_TOKENS_PER_MINUTE; i++) {
      const [own, other] = i % 2 === 0 ? [first, second] : [second, first]
      answers.push(...own.takes(1))
      for (const network of own.counted.splice(0)) other.throttle.countElsewhere(network)
    }
    expect(answers.filter((wait) => wait === null)).toHaveLength(WRONG_TOKENS_PER_MINUTE)
    expect(answers.indexOf(60)).toBe(WRONG_TOKENS_PER_MINUTE)
    expect(first.throttle.stats.wrong + second.throttle.stats.wrong).toBe(WRONG_TOKENS_PER_MINUTE)
  })

  test('are not told again by the worker that was told of them, nor are they in its stats', () => {
    const { counted, throttle, reported } = throttleAt()
    for (let i = 0; i < 2 * WRONG_TOKENS_PER_MINUTE; i++) throttle.countElsewhere(ADDRESS)
    expect([counted, reported]).toEqual([[], []])
    expect(throttle.isOver(ADDRESS)).toBe(true)
    expect(throttle.stats).toEqual({ missing: 0, wrong: 0, throttled: 0 })
  })

  test('beyond the limit do not make the wait longer', async () => {
    const { clock, throttle, takes } = throttleAt()
    for (let i = 0; i < WRONG_TOKENS_PER_MINUTE; i++) throttle.countElsewhere(ADDRESS)
    await clock.advance(59_000)
    throttle.countElsewhere(ADDRESS)
    expect(takes(1)).toEqual([1])
  })
})

describe('the memory of the throttle', () => {
  test('has a limit: the client that was quiet for longest is forgotten first', () => {
    const { throttle, takes } = throttleAt({ clientsMax: 3 })
    for (const address of ['a', 'b', 'c']) takes(WRONG_TOKENS_PER_MINUTE - 1, address)
    takes(1, 'a')
    takes(1, 'd')
    expect(throttle.clientCount).toBe(3)
    expect([takes(1, 'a'), takes(1, 'b')]).toEqual([[60], [null]])
  })

  test('holds no more than its limit against many addresses', () => {
    const { throttle } = throttleAt()
    for (let i = 0; i < 3 * CLIENTS_MAX; i++) throttle.take(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`)
    expect(throttle.clientCount).toBe(CLIENTS_MAX)
  })

  test('holds no more than its limit against many addresses of other workers', () => {
    const { throttle } = throttleAt({ clientsMax: 3 })
    for (let i = 0; i < 10; i++) throttle.countElsewhere(`10.0.0.${i}`)
    expect(throttle.clientCount).toBe(3)
  })

  test('is given back when a client has been quiet for a minute', async () => {
    const { clock, throttle, takes } = throttleAt()
    for (let i = 0; i < 100; i++) throttle.take(`10.0.0.${i}`)
    await clock.advance(60_000)
    takes(1)
    expect(throttle.clientCount).toBe(1)
  })
})
