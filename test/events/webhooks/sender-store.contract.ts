import { beforeEach, describe, expect, test } from 'bun:test'
import type { ShardEpoch } from '../../../src/core/journal/journal-store.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import { SenderReplacedError, type SenderStore, type Settled } from '../../../src/events/webhooks/sender-store.ts'
import type { PostgresSenderStore } from '../../../src/postgres/stores/postgres-sender-store.ts'
import { sampleId } from '../../support/samples.ts'
import { MEMORY_MONTH, type MemoryDelivery, type MemoryEndpoint } from './support/memory-sender-store.ts'
import { type SampleEntry, sampleEntry } from './support/sample-entries.ts'

const AGENCY_A = sampleId('agc', 'a')
const DELIVERY_1 = sampleId('dlv', '1')
const DELIVERY_2 = sampleId('dlv', '2')
const DELIVERY_B0 = sampleId('dlv', 'b0')
const ENDPOINT_A = sampleId('whe', 'a')
const ENDPOINT_B = sampleId('whe', 'b')

/** A store and its tables, which tests fill and read. */
export interface SenderTables {
  readonly store: SenderStore & Pick<PostgresSenderStore, 'join' | 'sendFor'>
  /** The epoch of the current writer, with which a sender can take over. */
  readonly epoch: number
  /** Of the shard, as its writer knows it. */
  ownership(shard: number): Promise<ShardEpoch>
  /** Gives the shard to another writer. */
  raiseEpoch(shard: number): Promise<void>
  addEntry(entry: SampleEntry): Promise<void>
  /** Changes what the entry says, so that its checksum no longer matches. */
  damageEntry(entry: SampleEntry): Promise<void>
  /** Its cursor is at the beginning of the journal. */
  addEndpoint(endpoint: { id: string; agencyId: string; status?: 'active' | 'disabled' }): Promise<void>
  /** In the month `MEMORY_MONTH`. */
  addDelivery(deliveryId: string, endpoint: { id: string; agencyId: string }, at: number): Promise<void>
  delivery(
    deliveryId: string,
  ): Promise<
    Pick<MemoryDelivery, 'status' | 'attempts' | 'tries' | 'nextAttemptAt' | 'finishedAt' | 'claimedBy' | 'log'>
  >
  endpoint(id: string): Promise<Pick<MemoryEndpoint, 'status' | 'consecutiveFailures' | 'disabledReason' | 'revision'>>
  setEndpoint(id: string, change: Partial<Pick<MemoryEndpoint, 'status' | 'revision' | 'updatedAt'>>): Promise<void>
  setDelivery(deliveryId: string, change: Pick<MemoryDelivery, 'status'>): Promise<void>
}

const A = { id: ENDPOINT_A, agencyId: AGENCY_A }
const A2 = { id: sampleId('whe', 'a2'), agencyId: AGENCY_A }
const B = { id: ENDPOINT_B, agencyId: sampleId('agc', 'b') }
const NOW = Math.floor(Date.now() / 1_000) * 1_000

/** The contract of every sender store. */
export function senderStoreContract(name: string, open: () => Promise<SenderTables>): void {
  describe(`the sender's store ${name}`, () => {
    let tables: SenderTables
    let store: SenderTables['store']
    let term: number

    beforeEach(async () => {
      tables = await open()
      store = tables.store
      term = await store.takeOver(tables.epoch)
      for (const endpoint of [A, A2, B]) await tables.addEndpoint(endpoint)
    })

    const claim = (change: Partial<Parameters<SenderStore['claim']>[0]> = {}) =>
      store.claim({ term, dueUntil: NOW, room: 100, windowFresh: 2, windows: {}, ...change })
    const ids = (claimed: readonly { deliveryId: string }[]) => claimed.map(({ deliveryId }) => deliveryId).sort()

    function failed(deliveryId: string, change: Partial<Settled> = {}): Settled {
      return {
        agencyId: AGENCY_A,
        deliveryId,
        month: MEMORY_MONTH,
        attemptsBefore: 0,
        attempts: 1,
        tries: 1,
        status: 'pending',
        nextAttemptAt: NOW + 60_000,
        finishedAt: null,
        attempt: {
          attempt: 1,
          at: NOW,
          durationMs: 12,
          httpStatus: null,
          reason: 'endpoint not reachable',
          detail: 'name',
        },
        endpoint: {
          id: A.id,
          revision: 0,
          consecutiveFailures: 1,
          status: 'active',
          disabledReason: null,
          at: NOW,
        },
        ...change,
      }
    }

    const make = (change: Partial<Parameters<SenderStore['makeDeliveries']>[0]> = {}) =>
      store.makeDeliveries({ term, agencyIds: 'all', now: NOW, room: 100, ...change })
    const madeFor = (claimed: readonly { eventId: string; endpoint: { id: string } }[]) =>
      claimed.map(({ eventId, endpoint }) => `${eventId} to ${endpoint.id}`).sort()

    async function addEntries(agencyId: string, count: number, change: { at?: number } = {}): Promise<SampleEntry[]> {
      const entries = Array.from({ length: count }, (_, i) =>
        sampleEntry(agencyId, i + 1, { at: NOW - 60_000, ...change }),
      )
      for (const entry of entries) await tables.addEntry(entry)
      return entries
    }

    test('makes one delivery of an entry for each active endpoint of its agency, due when it happened, and only once', async () => {
      await tables.addEndpoint({ id: sampleId('whe', 'off'), agencyId: A.agencyId, status: 'disabled' })
      const [entry] = await addEntries(A.agencyId, 1)
      expect(await make()).toEqual({ made: 2, mayHaveMore: false })
      expect(await make()).toEqual({ made: 0, mayHaveMore: false })
      const claimed = await claim()
      expect(madeFor(claimed)).toEqual([`${entry?.id} to ${A.id}`, `${entry?.id} to ${A2.id}`])
      expect(claimed[0]).toMatchObject({ agencyId: A.agencyId, event: 'booking.created', attempts: 0, tries: 0 })
      expect(claimed[0]?.nextAttemptAt).toBe(NOW - 60_000)
      expect(JSON.parse(claimed[0]?.body ?? '')).toMatchObject({ id: entry?.id, seq: 1, data: { sourceRef: 'REF-1' } })
      expect(claimed[1]?.body).toBe(claimed[0]?.body ?? '')
      expect(new Set(ids(claimed)).size).toBe(2)
    })

    test('passes entries that are not announced', async () => {
      for (let seq = 1; seq <= 5; seq++)
        await tables.addEntry(sampleEntry(B.agencyId, seq, { at: NOW, isAnnounced: seq === 4 }))
      expect(await make({ room: 3 })).toEqual({ made: 0, mayHaveMore: true })
      expect(await make({ room: 3 })).toEqual({ made: 1, mayHaveMore: false })
    })

    test('makes nothing for an endpoint that is off; once it is on, of all that happened meanwhile, due since then', async () => {
      await tables.setEndpoint(A.id, { status: 'disabled' })
      await tables.setEndpoint(A2.id, { status: 'deleted' })
      await addEntries(A.agencyId, 3)
      expect(await make()).toEqual({ made: 0, mayHaveMore: false })
      await tables.setEndpoint(A.id, { status: 'active', updatedAt: NOW - 1_000 })
      expect(await make()).toEqual({ made: 3, mayHaveMore: false })
      const claimed = await claim({ windowFresh: 10 })
      expect(claimed.map(({ nextAttemptAt }) => nextAttemptAt)).toEqual([NOW - 1_000, NOW - 1_000, NOW - 1_000])
    })

    test('a delivery is due when it is made, even if its event seems to come later: clocks jump', async () => {
      await addEntries(B.agencyId, 1, { at: NOW + 60_000 })
      await make()
      expect((await claim())[0]?.nextAttemptAt).toBe(NOW)
    })

    test('names the agencies that have an active endpoint, each once, to a sender that is not replaced', async () => {
      expect([...(await store.agencies(term))].sort()).toEqual([A.agencyId, B.agencyId].sort())
      await tables.setEndpoint(A.id, { status: 'disabled' })
      expect(await store.agencies(term)).toHaveLength(2)
      await tables.setEndpoint(A2.id, { status: 'deleted' })
      expect(await store.agencies(term)).toEqual([B.agencyId])
      await store.takeOver(tables.epoch)
      await expect(store.agencies(term)).rejects.toBeInstanceOf(SenderReplacedError)
    })

    test('makes deliveries for the agencies it is given, and none for others', async () => {
      await addEntries(A.agencyId, 1)
      await addEntries(B.agencyId, 1)
      expect(await make({ agencyIds: [B.agencyId, sampleId('agc', 'nobody')] })).toEqual({
        made: 1,
        mayHaveMore: false,
      })
      expect(await make({ agencyIds: [] })).toEqual({ made: 0, mayHaveMore: false })
      expect(await make()).toEqual({ made: 2, mayHaveMore: false })
    })

    test('agencies take turns: one with many entries does not delay another', async () => {
      await addEntries(A.agencyId, 40, { at: NOW - 3_600_000 })
      const [entry] = await addEntries(B.agencyId, 1)
      expect(await make({ room: 8 })).toMatchObject({ mayHaveMore: true })
      expect(madeFor(await claim({ windows: { [A.id]: 0, [A2.id]: 0 } }))).toEqual([`${entry?.id} to ${B.id}`])
      let made = 0
      for (;;) {
        const answer = await make({ room: 8 })
        expect(answer.made).toBeLessThanOrEqual(8)
        made += answer.made
        if (!answer.mayHaveMore) break
      }
      expect(made).toBeGreaterThan(72)
      expect(await claim({ windowFresh: 100 })).toHaveLength(80)
    })

    test('makes no more than there is room for, also when it is just enough for one delivery to each endpoint', async () => {
      await addEntries(A.agencyId, 4)
      await addEntries(B.agencyId, 4)
      expect(await make({ room: 3 })).toEqual({ made: 3, mayHaveMore: true })
      const claimed = await claim({ windowFresh: 100 })
      expect(claimed.map(({ endpoint }) => endpoint.id).sort()).toEqual([A.id, A2.id, B.id].sort())
    })

    test('a sender that was replaced makes nothing', async () => {
      await addEntries(A.agencyId, 1)
      const newer = await store.takeOver(tables.epoch)
      await expect(make()).rejects.toBeInstanceOf(SenderReplacedError)
      expect(await make({ term: newer })).toMatchObject({ made: 2 })
    })

    test('an entry that cannot be read is claimed without a body, and the others with theirs', async () => {
      const [, damaged] = await addEntries(B.agencyId, 3)
      if (damaged === undefined) throw new Error('Expected three entries')
      await make()
      await tables.damageEntry(damaged)
      const claimed = await claim({ windowFresh: 10 })
      expect(claimed).toHaveLength(3)
      expect(claimed.filter(({ body }) => body === null).map(({ eventId }) => eventId)).toEqual([damaged.id])
    })

    test('returns a due delivery once, with everything needed to send it', async () => {
      await tables.addDelivery(DELIVERY_1, A, NOW)
      await tables.addDelivery(DELIVERY_2, A, NOW + 1)
      const [claimed, ...more] = await claim()
      expect(more).toEqual([])
      expect(claimed).toMatchObject({
        agencyId: AGENCY_A,
        deliveryId: DELIVERY_1,
        attempts: 0,
        tries: 0,
        nextAttemptAt: NOW,
        endpoint: { id: ENDPOINT_A, consecutiveFailures: 0, revision: 0, previousSecretSealed: null },
      })
      expect(await claim()).toEqual([])
      expect(ids(await claim({ dueUntil: NOW + 1 }))).toEqual([DELIVERY_2])
    })

    test('returns nothing for a disabled or deleted endpoint', async () => {
      await tables.addDelivery(DELIVERY_1, A, NOW)
      await tables.addDelivery(DELIVERY_2, B, NOW)
      await tables.setEndpoint(ENDPOINT_A, { status: 'disabled' })
      await tables.setEndpoint(ENDPOINT_B, { status: 'deleted' })
      expect(await claim()).toEqual([])
      expect(await store.nextDue(NOW - 1)).toBeNull()
    })

    test('returns no more for an endpoint than its window', async () => {
      for (let i = 0; i < 5; i++) await tables.addDelivery(sampleId('dlv', `a${i}`), A, NOW - 5 + i)
      for (let i = 0; i < 5; i++) await tables.addDelivery(sampleId('dlv', `b${i}`), B, NOW)
      expect(ids(await claim({ windows: { [ENDPOINT_B]: 0 } }))).toEqual([sampleId('dlv', 'a0'), sampleId('dlv', 'a1')])
      expect(ids(await claim({ windows: { [ENDPOINT_A]: 1, [ENDPOINT_B]: 4 } }))).toEqual([
        sampleId('dlv', 'a2'),
        DELIVERY_B0,
        sampleId('dlv', 'b1'),
        sampleId('dlv', 'b2'),
        sampleId('dlv', 'b3'),
      ])
    })

    test('lets agencies take turns when there is not room for all, regardless of age', async () => {
      for (let i = 0; i < 4; i++) {
        await tables.addDelivery(sampleId('dlv', `a${i}`), A, NOW - 1_000)
        await tables.addDelivery(sampleId('dlv', `c${i}`), A2, NOW - 1_000)
      }
      await tables.addDelivery(DELIVERY_B0, B, NOW)
      const claimed = ids(await claim({ room: 2, windowFresh: 4 }))
      expect(claimed).toHaveLength(2)
      expect(claimed).toContain(DELIVERY_B0)
    })

    test('a new sender gets everything the old one had not finished; the old one can claim and change nothing', async () => {
      await tables.addDelivery(DELIVERY_1, A, NOW)
      expect(ids(await claim())).toEqual([DELIVERY_1])
      const newer = await store.takeOver(tables.epoch)
      expect(newer).toBeGreaterThan(term)
      expect(ids(await claim({ term: newer }))).toEqual([DELIVERY_1])
      await expect(claim()).rejects.toBeInstanceOf(SenderReplacedError)
      await store.record(term, [failed(DELIVERY_1, { status: 'dead' })])
      expect(await tables.delivery(DELIVERY_1)).toMatchObject({
        status: 'pending',
        attempts: 0,
        log: [],
        claimedBy: newer,
      })
      expect(await tables.endpoint(ENDPOINT_A)).toMatchObject({ consecutiveFailures: 0 })
    })

    test('senders of two nodes claim only what is of their shards, and a shard that passes takes its open claims along', async () => {
      for (const [i, endpoint] of [A, B].entries()) await tables.addDelivery(sampleId('dlv', i), endpoint, NOW)
      const [shardA, shardB] = [shardOf(A.agencyId), shardOf(B.agencyId)]
      const [one, two] = [await store.join(), await store.join()]
      await expect(claim()).rejects.toBeInstanceOf(SenderReplacedError)
      expect(await claim({ term: one })).toEqual([])
      const ofA = await tables.ownership(shardA)
      const ofB = await tables.ownership(shardB)
      expect(await store.sendFor(one, [ofA])).toEqual([shardA])
      expect(await store.sendFor(two, [ofB])).toEqual([shardB])
      const agencies = async (of: number) => (await claim({ term: of })).map(({ agencyId }) => agencyId)
      expect(await agencies(one)).toEqual([A.agencyId])
      expect(await agencies(two)).toEqual([B.agencyId])
      // The shard of A passes to the other node, which does not know its new epoch at first.
      await tables.raiseEpoch(shardA)
      const inOrder = (...of: ShardEpoch[]) => of.sort((x, y) => x.shard - y.shard)
      expect(await store.sendFor(two, inOrder(ofA, ofB))).toEqual([shardB])
      const both = inOrder(await tables.ownership(shardA), ofB)
      expect(await store.sendFor(two, both)).toEqual(both.map(({ shard }) => shard))
      expect(await agencies(one)).toEqual([])
      expect(await agencies(two)).toEqual([A.agencyId])
      // What the former sender still says of it counts for nothing.
      await store.record(one, [failed(sampleId('dlv', 0), { status: 'dead' })])
      expect(await tables.delivery(sampleId('dlv', 0))).toMatchObject({ status: 'pending', claimedBy: two })
      expect(await tables.endpoint(A.id)).toMatchObject({ consecutiveFailures: 0 })
      await store.record(two, [failed(sampleId('dlv', 0))])
      expect(await tables.endpoint(A.id)).toMatchObject({ consecutiveFailures: 1 })
      // A process that takes over all shards replaces both.
      await store.takeOver(tables.epoch)
      for (const of of [one, two]) {
        await expect(claim({ term: of })).rejects.toBeInstanceOf(SenderReplacedError)
        await expect(store.sendFor(of, both)).rejects.toBeInstanceOf(SenderReplacedError)
      }
    })

    test('the sender of a node makes deliveries of its shards alone, and gives up those that it does not name any more', async () => {
      await addEntries(A.agencyId, 1)
      await addEntries(B.agencyId, 1)
      const one = await store.join()
      expect(await make({ term: one })).toEqual({ made: 0, mayHaveMore: false })
      await store.sendFor(one, [await tables.ownership(shardOf(A.agencyId))])
      expect(await make({ term: one })).toEqual({ made: 2, mayHaveMore: false })
      expect(await store.sendFor(one, [await tables.ownership(shardOf(B.agencyId))])).toEqual([shardOf(B.agencyId)])
      expect(await make({ term: one, agencyIds: [A.agencyId, B.agencyId] })).toEqual({ made: 1, mayHaveMore: false })
      expect((await claim({ term: one })).map(({ agencyId }) => agencyId)).toEqual([B.agencyId])
    })

    test('the sender of a node records the failures of endpoints of its shards, and of no others', async () => {
      const one = await store.join()
      await store.sendFor(one, [await tables.ownership(shardOf(A.agencyId))])
      const endpoint = { revision: 0, consecutiveFailures: 1, status: 'active', disabledReason: null, at: NOW } as const
      await store.record(one, [
        failed(DELIVERY_1),
        failed(DELIVERY_B0, { agencyId: B.agencyId, endpoint: { ...endpoint, id: B.id } }),
      ])
      expect(await tables.endpoint(A.id)).toMatchObject({ consecutiveFailures: 1 })
      expect(await tables.endpoint(B.id)).toMatchObject({ consecutiveFailures: 0 })
    })

    test('a process that is no longer the writer cannot take over', async () => {
      await expect(store.takeOver(tables.epoch + 1)).rejects.toBeInstanceOf(SenderReplacedError)
    })

    test('records an attempt, the next due time and the failure count together, and only once', async () => {
      await tables.addDelivery(DELIVERY_1, A, NOW)
      await claim()
      await store.record(term, [failed(DELIVERY_1)])
      await store.record(term, [failed(DELIVERY_1)])
      expect(await tables.delivery(DELIVERY_1)).toEqual({
        status: 'pending',
        attempts: 1,
        tries: 1,
        nextAttemptAt: NOW + 60_000,
        finishedAt: null,
        claimedBy: null,
        log: [
          { attempt: 1, at: NOW, durationMs: 12, httpStatus: null, reason: 'endpoint not reachable', detail: 'name' },
        ],
      })
      expect(await tables.endpoint(ENDPOINT_A)).toMatchObject({ status: 'active', consecutiveFailures: 1 })
      expect(await store.nextDue(NOW)).toBe(NOW + 60_000)
      // After the delivery is claimed again, a late repetition of the first record still changes nothing.
      await claim({ dueUntil: NOW + 60_000 })
      await store.record(term, [failed(DELIVERY_1)])
      expect(await tables.delivery(DELIVERY_1)).toMatchObject({ attempts: 1, claimedBy: term })
    })

    test('records a success, and requeues a delivery that was not attempted unchanged', async () => {
      await tables.addDelivery(DELIVERY_1, A, NOW)
      await tables.addDelivery(DELIVERY_2, A, NOW)
      await claim()
      await store.record(term, [
        failed(DELIVERY_1, {
          status: 'delivered',
          nextAttemptAt: null,
          finishedAt: NOW + 12,
          attempt: { attempt: 1, at: NOW, durationMs: 12, httpStatus: 204, reason: null, detail: null },
          endpoint: null,
        }),
        failed(DELIVERY_2, { attempts: 0, tries: 0, nextAttemptAt: NOW, attempt: null, endpoint: null }),
      ])
      expect(await tables.delivery(DELIVERY_1)).toMatchObject({
        status: 'delivered',
        finishedAt: NOW + 12,
        nextAttemptAt: null,
      })
      expect(await tables.delivery(DELIVERY_2)).toMatchObject({
        status: 'pending',
        attempts: 0,
        nextAttemptAt: NOW,
        log: [],
      })
      expect(ids(await claim())).toEqual([DELIVERY_2])
    })

    test('records the attempts of several deliveries each with its own', async () => {
      const statuses = { [DELIVERY_1]: 500, [DELIVERY_2]: 404 }
      for (const id of Object.keys(statuses)) await tables.addDelivery(id, A, NOW)
      await claim()
      const attempt = { attempt: 1, at: NOW, durationMs: 12, reason: null, detail: null }
      await store.record(
        term,
        Object.entries(statuses).map(([id, httpStatus]) => failed(id, { attempt: { ...attempt, httpStatus } })),
      )
      for (const [id, httpStatus] of Object.entries(statuses))
        expect((await tables.delivery(id)).log.map((logged) => logged.httpStatus)).toEqual([httpStatus])
    })

    test('applies the last of several outcomes of an endpoint', async () => {
      await tables.addDelivery(DELIVERY_1, A, NOW)
      await tables.addDelivery(DELIVERY_2, A, NOW)
      await claim()
      const endpoint = { id: ENDPOINT_A, revision: 0, at: NOW }
      await store.record(term, [
        failed(DELIVERY_1, {
          endpoint: { ...endpoint, consecutiveFailures: 19, status: 'active', disabledReason: null },
        }),
        failed(DELIVERY_2, {
          endpoint: { ...endpoint, consecutiveFailures: 20, status: 'disabled', disabledReason: 'why' },
        }),
      ])
      expect(await tables.endpoint(ENDPOINT_A)).toMatchObject({
        status: 'disabled',
        consecutiveFailures: 20,
        disabledReason: 'why',
      })
    })

    test('does not write the failure count of an earlier revision or a deleted endpoint, but writes the delivery', async () => {
      await tables.addDelivery(DELIVERY_1, A, NOW)
      await claim()
      await tables.setEndpoint(ENDPOINT_A, { revision: 1 })
      await store.record(term, [failed(DELIVERY_1)])
      expect(await tables.endpoint(ENDPOINT_A)).toMatchObject({ consecutiveFailures: 0 })
      expect(await tables.delivery(DELIVERY_1)).toMatchObject({ attempts: 1 })
    })

    test('does not revive a delivery that the agency dropped meanwhile after a failure, but records a success', async () => {
      for (const id of [DELIVERY_1, DELIVERY_2]) await tables.addDelivery(id, A, NOW)
      await claim()
      for (const id of [DELIVERY_1, DELIVERY_2]) await tables.setDelivery(id, { status: 'dropped' })
      await store.record(term, [
        failed(DELIVERY_1),
        failed(DELIVERY_2, { status: 'delivered', nextAttemptAt: null, finishedAt: NOW, endpoint: null }),
      ])
      expect((await tables.delivery(DELIVERY_1)).status).toBe('dropped')
      expect((await tables.delivery(DELIVERY_2)).status).toBe('delivered')
    })

    test('releases the deliveries of a lost claim, and none that the sender still has', async () => {
      await tables.addDelivery(DELIVERY_1, A, NOW)
      await tables.addDelivery(DELIVERY_2, A, NOW)
      await claim()
      await store.release(term, [DELIVERY_1])
      expect(ids(await claim())).toEqual([DELIVERY_2])
      await store.release(term, [])
      expect(ids(await claim())).toEqual([DELIVERY_1, DELIVERY_2])
    })

    test('returns when the next delivery falls due', async () => {
      expect(await store.nextDue(NOW)).toBeNull()
      await tables.addDelivery(DELIVERY_1, A, NOW)
      await tables.addDelivery(DELIVERY_2, A, NOW + 500)
      await tables.addDelivery(sampleId('dlv', '3'), B, NOW + 300)
      expect(await store.nextDue(NOW)).toBe(NOW + 300)
      expect(await store.nextDue(NOW - 1)).toBe(NOW)
    })
  })
}
