import { beforeEach, describe, expect, test } from 'bun:test'
import { MAKE_ALL_MS } from '../../../src/events/webhooks/delivery-maker.ts'
import { SecretBox } from '../../../src/events/webhooks/secret-box.ts'
import { WebhookSender } from '../../../src/events/webhooks/webhook-sender.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { type MemoryEntry, MemorySenderStore } from './support/memory-sender-store.ts'

/* How the sender makes deliveries from the journal: the store and the clock are in memory, every receiver accepts. */

const BOX = new SecretBox(new Uint8Array(32))

let clock: FakeClock
let journal: MemoryEntry[]
let store: MemorySenderStore
let sender: WebhookSender
let arrived: string[]
let seen: string[]

beforeEach(() => {
  clock = new FakeClock()
  journal = []
  store = new MemorySenderStore(() => journal)
  arrived = []
  seen = []
  for (const name of ['a', 'b']) {
    const owner = { agencyId: `agc_${name}`, endpointId: `whe_${name}` }
    store.addEndpoint({
      agencyId: owner.agencyId,
      id: owner.endpointId,
      secretSealed: BOX.seal(`whsec_${btoa(name)}`, owner),
    })
  }
})

async function start(): Promise<void> {
  sender = new WebhookSender({
    store,
    clock,
    box: BOX,
    dice: () => 0,
    term: await store.takeOver(store.epoch),
    post: async (_, { body }) => {
      arrived.push(body)
      return { outcome: { kind: 'answered', httpStatus: 204 }, durationMs: 1 }
    },
    watch: {
      onSwitchedOff: () => {},
      onFailure: ({ action }) => seen.push(`cannot ${action}`),
      onSecretUnreadable: () => {},
      onEventUnreadable: ({ eventId }) => seen.push(`unreadable ${eventId}`),
      onReplaced: () => seen.push('replaced'),
    },
  })
  sender.wake()
  await clock.advance(50)
}

/** An entry of the journal. */
function happened(id: string, agencyId = 'agc_a', body: () => string | null = () => id): void {
  journal.push({ agencyId, seq: journal.length + 1, id, at: clock.now(), isAnnounced: true, body })
}

test('a wake makes and sends what its agency has new, and looks at no other agency', async () => {
  await start()
  happened('evt_1')
  happened('evt_2', 'agc_b')
  sender.wake(['agc_a'])
  await clock.advance(50)
  expect(arrived).toEqual(['evt_1'])
  expect(store.makes.at(-1)?.agencyIds).toEqual(['agc_a'])
})

test('a wake that brings no agency makes nothing, and a claim alone is not preceded by a look at the journal', async () => {
  await start()
  const { length } = store.makes
  sender.wake()
  await clock.advance(5_000)
  expect(store.makes).toHaveLength(length)
})

describe('W7: no event depends on a wake', () => {
  test('what happened before the start is sent at the start', async () => {
    happened('evt_1')
    happened('evt_2', 'agc_b')
    await start()
    expect(arrived.sort()).toEqual(['evt_1', 'evt_2'])
  })

  test('an event whose wake was lost is sent within a minute', async () => {
    await start()
    happened('evt_1')
    await clock.advance(MAKE_ALL_MS - 1_000)
    expect(arrived).toEqual([])
    await clock.advance(4_000)
    expect(arrived).toEqual(['evt_1'])
  })

  test('a wake that comes while deliveries are made is not forgotten', async () => {
    await start()
    const { makeDeliveries } = store
    store.makeDeliveries = async (options) => {
      const answer = await makeDeliveries.call(store, options)
      store.makeDeliveries = makeDeliveries
      happened('evt_2')
      sender.wake(['agc_a'])
      return answer
    }
    happened('evt_1')
    sender.wake(['agc_a'])
    await clock.advance(50)
    expect(arrived).toEqual(['evt_1', 'evt_2'])
  })

  test.each(['before', 'after'] as const)(
    'deliveries whose making fails %s it was done are made once, and what is due is sent meanwhile',
    async (when) => {
      await start()
      happened('evt_1')
      const due = store.addDelivery('whe_b', clock.now())
      store.failures.push({ call: 'make', when, error: new Error('connection lost') })
      sender.wake(['agc_a'])
      await clock.advance(20)
      expect(due.status).toBe('delivered')
      await clock.advance(1_000)
      expect(arrived.filter((body) => body === 'evt_1')).toHaveLength(1)
      expect(seen).toEqual(['cannot make'])
      expect(sender.stats).toMatchObject({ makeFailures: 1, claimFailures: 0 })
    },
  )

  test('events of an endpoint that is off are sent when it is enabled', async () => {
    const endpoint = store.endpoints.get('whe_a')
    if (endpoint === undefined) throw new Error('Expected an endpoint')
    endpoint.status = 'disabled'
    await start()
    happened('evt_1')
    sender.wake(['agc_a'])
    await clock.advance(5_000)
    expect([arrived, store.deliveries.size]).toEqual([[], 0])
    endpoint.status = 'active'
    sender.endpointChanged({ agencyId: 'agc_a', endpointId: 'whe_a' })
    await clock.advance(50)
    expect(arrived).toEqual(['evt_1'])
  })
})

test('a flood of one agency is made in chunks, and another agency’s event is sent in between', async () => {
  await start()
  for (let n = 0; n < 20_000; n++) happened(`evt_flood${n}`)
  sender.wake(['agc_a'])
  await clock.advance(5)
  happened('evt_calm', 'agc_b')
  sender.wake(['agc_b'])
  await clock.advance(5)
  expect(arrived).toContain('evt_calm')
  expect(store.deliveries.size).toBeLessThan(20_000)
  await clock.advance(1_000)
  expect(store.deliveries.size).toBe(20_001)
})

describe('J8: one agency at fault', () => {
  const cancelled = (code: string) => Object.assign(new Error('canceling statement'), { code })

  /** Statements about this agency fail after some time, while `isAtFault` says so. */
  function atFault(agencyId: string, { ms, code }: { ms: number; code: string }, isAtFault: (room: number) => boolean) {
    const { makeDeliveries } = store
    store.makeDeliveries = async (options) => {
      const { agencyIds, room } = options
      if ((agencyIds === 'all' || agencyIds.includes(agencyId)) && isAtFault(room)) {
        await new Promise<void>((resolve) => clock.after(ms, resolve))
        store.makes.push(options)
        throw cancelled(code)
      }
      return makeDeliveries.call(store, options)
    }
  }

  test('with a backlog that takes too long is made in ever smaller parts, and another agency waits for one of them at most', async () => {
    await start()
    atFault('agc_a', { ms: 5_000, code: '57014' }, (room) => room > 100)
    for (let n = 0; n < 700; n++) happened(`evt_flood${n}`)
    sender.wake(['agc_a'])
    await clock.advance(100)
    happened('evt_calm', 'agc_b')
    sender.wake(['agc_b'])
    // The sender leaves the database as much time as it took.
    await clock.advance(10_300)
    expect(arrived).toEqual(['evt_calm'])
    await clock.advance(60_000)
    expect(store.deliveries.size).toBe(701)
    expect(store.makes.map(({ room }) => room)).toContain(62)
  })

  test('whose endpoint is locked holds up no other, also when all agencies are looked at', async () => {
    let isLocked = true
    for (let n = 0; n < 20; n++) {
      const owner = { agencyId: `agc_n${n}`, endpointId: `whe_n${n}` }
      store.addEndpoint({
        agencyId: owner.agencyId,
        id: owner.endpointId,
        secretSealed: BOX.seal(`whsec_${btoa('n')}`, owner),
      })
      happened(`evt_n${n}`, owner.agencyId)
    }
    happened('evt_a')
    atFault('agc_a', { ms: 2_000, code: '55P03' }, () => isLocked)
    await start()
    await clock.advance(12_000)
    expect(arrived).toHaveLength(20)
    for (let round = 0; round < 20; round++) {
      const { length } = arrived
      happened(`evt_later${round}`, 'agc_b')
      sender.wake(['agc_b', 'agc_a'])
      await clock.advance(5_000)
      expect(arrived).toHaveLength(length + 1)
    }
    // A lock says nothing about the size of what waits for it.
    expect(new Set(store.makes.map(({ room }) => room))).toEqual(new Set([4_000]))
    isLocked = false
    await clock.advance(5_000)
    expect(arrived).toContain('evt_a')
  })

  test('is tried now and then, and not all the time', async () => {
    await start()
    atFault('agc_a', { ms: 0, code: '55P03' }, () => true)
    happened('evt_1')
    sender.wake(['agc_a'])
    const { length } = store.makes
    await clock.advance(30_000)
    expect(store.makes.length - length).toBeLessThan(20)
    expect(store.makes.length - length).toBeGreaterThan(5)
  })
})

test('an event that cannot be read is dead at once, is reported once, and delays no other', async () => {
  happened('evt_1', 'agc_a', () => null)
  happened('evt_2')
  happened('evt_3')
  await start()
  await clock.advance(5_000)
  expect(arrived.sort()).toEqual(['evt_2', 'evt_3'])
  expect(seen).toEqual(['unreadable evt_1'])
  const [dead] = [...store.deliveries.values()]
  expect(dead).toMatchObject({ status: 'dead', attempts: 1, tries: 1, nextAttemptAt: null })
  expect(dead?.finishedAt).toBe(dead?.log[0]?.at ?? 0)
  expect(dead?.log).toMatchObject([
    { attempt: 1, durationMs: 0, httpStatus: null, reason: 'event could not be read', detail: 'entry_unreadable' },
  ])
  expect(store.endpoints.get('whe_a')?.consecutiveFailures).toBe(0)
  expect(sender.stats).toMatchObject({ made: 3, dead: 1, unreadable: 1, delivered: 2, claimed: 0 })
})

test('a sender that was replaced makes nothing more', async () => {
  await start()
  const old = sender
  await start()
  happened('evt_1')
  old.wake(['agc_a'])
  await clock.advance(50)
  expect(seen).toEqual(['replaced'])
  expect(store.deliveries.size).toBe(0)
})
