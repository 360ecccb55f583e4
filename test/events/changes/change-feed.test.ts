import { describe, expect, test } from 'bun:test'
import { Journal } from '../../../src/core/journal/journal.ts'
import type { JournalRecord } from '../../../src/core/journal/record.ts'
import {
  ChangeFeed,
  type ChangeStream,
  type ChangesRequest,
  HEARTBEAT_MS,
} from '../../../src/events/changes/change-feed.ts'
import type { ChangePage } from '../../../src/events/changes/change-page.ts'
import { PARTNER_VIEW } from '../../../src/events/changes/change-page.ts'
import { WaitingPlaces } from '../../../src/events/changes/waiting-places.ts'
import { HOUR_MS } from '../../../src/lib/clock.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { agenciesOfShards, booked, unitSet } from '../../support/journal-records.ts'
import { MemoryChangeRows } from '../../support/memory-change-rows.ts'
import { MemoryJournalStore } from '../../support/memory-journal-store.ts'
import { CHAIN_KEYS, sampleId, sampleRules, sampleUnit } from '../../support/samples.ts'

const [A = '', B = ''] = agenciesOfShards(2)
const HISTORY = '01020304-0506-4708-890a-0b0c0d0e0f10'
let records = 0

/** The feed over a journal in memory. */
async function opened({ isSandbox = false } = {}) {
  const clock = new FakeClock()
  const store = new MemoryJournalStore()
  const rows = new MemoryChangeRows(store)
  const start = async () => {
    const journal: Journal = new Journal({
      store,
      clock,
      chainKeys: CHAIN_KEYS,
      term: await store.takeOver(),
      limits: { waitingMax: 100, batchMax: 10, queuedMsMax: 5_000 },
      lanes: 1,
      onFenced: () => {},
      onDurable: (entries) => feed.noteDurable(entries),
      newRenewalId: () => 'renewal',
    })
    const feed = new ChangeFeed({
      view: PARTNER_VIEW,
      rows,
      clock,
      historyId: HISTORY,
      places: new WaitingPlaces(clock),
      endOf: (agencyId) => journal.endOf(agencyId),
      isSandbox: () => isSandbox,
    })
    return { journal, feed }
  }
  const { journal, feed } = await start()
  const append = (record: JournalRecord) => journal.append(record)
  const book = (agencyId = A) => append(booked(`${++records}`, { agencyId }))
  const requestOf = (after: string | null, change: Partial<ChangesRequest> = {}) => ({
    ...askedFor(A, after),
    ...change,
  })
  const page = async (after: string | null, waitMs = 0, change: Partial<ChangesRequest> = {}): Promise<ChangePage> =>
    pageIn(await feed.page({ ...requestOf(after, change), waitMs }))
  return { clock, store, rows, journal, feed, start, append, book, requestOf, page }
}

function askedFor(agencyId: string, after: string | null): ChangesRequest {
  const signal = new AbortController().signal
  const keyId = sampleId('key', ++records)
  // Each with a share of its own.
  return { agencyId, ownerId: keyId, keyId, after, limit: 100, isServed: () => true, signal }
}

function pageIn(answer: Awaited<ReturnType<ChangeFeed['page']>>): ChangePage {
  if ('kind' in answer) throw new Error(`Expected a page, got ${answer.kind}`)
  return answer
}

function streamIn(answer: Awaited<ReturnType<ChangeFeed['stream']>>): ChangeStream {
  if ('kind' in answer) throw new Error(`Expected a stream, got ${answer.kind}`)
  return answer
}

const seqs = ({ changes }: ChangePage) => changes.map(({ json }) => JSON.parse(json).seq as number)
/** What a promise has given by now. */
function seen<T>(promise: Promise<T>): { value: T | undefined } {
  const seen: { value: T | undefined } = { value: undefined }
  promise.then((value) => {
    seen.value = value
  })
  return seen
}

describe('reading', () => {
  test.each([
    [true, 'test'],
    [false, undefined],
  ])('of a sandbox (%p) shows the mode %p, among the newest changes and from the log', async (isSandbox, mode) => {
    const { book, page } = await opened({ isSandbox })
    const { cursor } = await page(null)
    await book()
    for (const after of [cursor, 'start'])
      expect((await page(after)).changes.map(({ json }) => JSON.parse(json).mode)).toEqual([mode])
  })

  test('readers of an agency at the same place share one read, and none is needed for those that are woken', async () => {
    const { rows, feed, book, page, requestOf } = await opened()
    await book()
    const { cursor } = await page('start')
    rows.reads.length = 0
    const waiting = Array.from({ length: 1_000 }, () => page(cursor, 20_000))
    await settle()
    expect(feed.stats.waiting.requests).toBe(1_000)
    expect(rows.reads).toEqual([])
    await book()
    expect((await Promise.all(waiting)).map(seqs)).toEqual(Array(1_000).fill([2]))
    expect(rows.reads).toEqual([])
    expect(feed.stats.waiting.requests).toBe(0)
    const pages = await Promise.all([1, 2, 3].map(() => feed.page({ ...requestOf('start'), waitMs: 0 })))
    expect(pages.map((each) => seqs(pageIn(each)))).toEqual(Array(3).fill([1, 2]))
    expect(rows.reads).toHaveLength(1)
  })

  test('at the end of the log, or among its newest changes, costs no read', async () => {
    const { rows, append, book, page } = await opened()
    await book()
    let { cursor } = await page(null)
    expect(rows.reads).toEqual([])
    await append(unitSet(sampleId('unt', 'x'), { agencyId: A }))
    await book(B)
    for (let n = 0; n < 5; n++) cursor = (await page(cursor)).cursor
    expect(rows.reads).toEqual([])
    await book()
    await book()
    const { changes } = await page(cursor)
    expect(changes.map(({ json }) => JSON.parse(json).seq)).toEqual([3, 4])
    expect(seqs(await page(changes[0]?.cursor ?? ''))).toEqual([4])
    expect(rows.reads).toEqual([])
  })

  test('changes that were noted are those of the log, byte for byte, page by page', async () => {
    const { append, book, page, start, rows } = await opened()
    const { cursor } = await page(null)
    await append(booked(`${++records}`, { agencyId: A, sourceRef: 'Ref "1"' }))
    await append(unitSet(sampleId('unt', 'v'), { agencyId: A }))
    for (let n = 0; n < 4; n++) await book()
    const noted = [await page(cursor, 0, { limit: 2 })]
    for (const each of noted) if (each.hasMore) noted.push(await page(each.cursor, 0, { limit: 2 }))
    expect(rows.reads).toEqual([])
    const later = await start()
    const read: ChangePage[] = []
    for (let after = cursor; read.at(-1)?.hasMore !== false; after = read.at(-1)?.cursor ?? '')
      read.push(pageIn(await later.feed.page({ ...askedFor(A, after), limit: 2, waitMs: 0 })))
    expect(rows.reads).toHaveLength(3)
    expect(noted.map(({ changes, cursor, hasMore }) => [changes, cursor, hasMore])).toEqual(
      read.map(({ changes, cursor, hasMore }) => [changes, cursor, hasMore]),
    )
  })

  test('a full page after which the log ends says that there is no more, whether its changes were noted or read', async () => {
    const { book, page, rows } = await opened()
    const { cursor } = await page(null)
    await book()
    await book()
    const noted = await page(cursor, 0, { limit: 2 })
    expect([seqs(noted), noted.hasMore, rows.reads.length]).toEqual([[1, 2], false, 0])
    const read = await page('start', 0, { limit: 2 })
    expect([seqs(read), read.hasMore, rows.reads.length]).toEqual([[1, 2], false, 1])
  })

  test('only the newest changes of all agencies are kept in memory; the others are read', async () => {
    const { append, page, rows, feed } = await opened()
    const { cursor } = await page(null)
    for (let n = 0; n < 42; n++)
      await Promise.all(Array.from({ length: 98 }, () => append(booked(`${++records}`, { agencyId: A }))))
    expect((await page(cursor, 0, { limit: 500 })).changes).toHaveLength(500)
    expect(rows.reads).toHaveLength(1)
    let last = await page(cursor, 0, { limit: 500 })
    const shown = seqs(last)
    while (last.hasMore) {
      last = await page(last.cursor, 0, { limit: 500 })
      shown.push(...seqs(last))
    }
    expect(shown).toEqual(Array.from({ length: 4_116 }, (_, n) => n + 1))
    expect(rows.reads.length).toBeLessThan(4)
    expect(feed.stats.waiting.requests).toBe(0)
  })

  test('of large changes few are kept in memory, and a page of them is made in slices', async () => {
    const { feed, rows, append, page } = await opened()
    const include = ['rates.updated'] as const
    const { cursor } = await page(null, 0, { include })
    const row = { from: null, to: null, weekdays: null, rule: 'maxStay', value: 366 } as const
    const rows500 = Array.from({ length: 500 }, () => row)
    const restrictions = { rows: rows500, advanceNoticeHours: null, bookingWindowDays: null }
    const unit = sampleUnit({ rules: sampleRules({ restrictions }) })
    const change = { kind: 'rates_set', unit, changed: { from: null, to: null } } as const
    for (let i = 0; i < 1_000; i++) await append(unitSet(unit.id, { agencyId: A }, change))
    rows.reads.length = 0
    const newest = pageIn(await feed.page({ ...askedFor(A, cursor), include, limit: 100, waitMs: 0 }))
    expect(newest.changes).toHaveLength(100)
    expect(rows.reads).toHaveLength(1)
    let turns = 0
    const turn = () => {
      turns += 1
      pending = setImmediate(turn)
    }
    let pending = setImmediate(turn)
    await page('start', 0, { include })
    clearImmediate(pending)
    expect(turns).toBeGreaterThan(10)
  })

  test('of two changes that are each larger than the room in memory, the newer alone is kept there', async () => {
    const { rows, append, page } = await opened()
    const include = ['unit.updated'] as const
    const { cursor } = await page(null, 0, { include })
    const unit = sampleUnit({ name: 'x'.repeat(17 * 1_024 * 1_024) })
    const change = { unit, changed: { from: null, to: null } }
    for (let i = 0; i < 2; i++) await append(unitSet(unit.id, { agencyId: A }, change))
    const { changes } = await page(cursor, 0, { include, limit: 1 })
    expect(rows.reads).toHaveLength(1)
    const newer = await page(changes[0]?.cursor ?? '', 0, { include })
    expect([seqs(newer), rows.reads.length]).toEqual([[2], 1])
    // Small ones then have all of the room again.
    for (let i = 0; i < 2; i++)
      await append(unitSet(sampleId('unt', 's'), { agencyId: A }, { changed: change.changed }))
    expect(seqs(await page(newer.cursor, 0, { include }))).toEqual([3, 4])
    expect(rows.reads).toHaveLength(1)
  })

  test('without a cursor begins after every change there is, also one that came while another reader read', async () => {
    const { rows, book, page } = await opened()
    await book()
    const held = Promise.withResolvers<void>()
    rows.delay = () => held.promise
    const reading = page('start')
    await settle()
    await book()
    held.resolve()
    expect(seqs(await reading)).toEqual([1])
    const end = await page(null)
    await book()
    const later = await page(null)
    expect([end, later].map(({ position }) => position.seq)).toEqual([2, 3])
    expect(seqs(await page(end.cursor))).toEqual([3])
    expect(seqs(await page(later.cursor))).toEqual([])
  })

  test('a cursor of another log has expired, however new its number is', async () => {
    const [here, elsewhere] = [await opened(), await opened()]
    for (const { book, page } of [here, elsewhere]) {
      await page(null)
      await book()
      await book()
    }
    const [own] = (await here.page('start')).changes
    const [other] = (await elsewhere.page('start')).changes
    expect(seqs(await here.page(own?.cursor ?? ''))).toEqual([2])
    expect(await here.feed.page({ ...askedFor(A, other?.cursor ?? ''), waitMs: 0 })).toEqual({ kind: 'expired' })
  })

  test('the cursors of a quiet agency continue with the log, so that they do not expire', async () => {
    const { clock, append, page } = await opened()
    const { cursor, position } = await page(null)
    await append(unitSet(sampleId('unt', 'y'), { agencyId: A }))
    expect((await page(cursor)).position).toEqual(position)
    await clock.advance(HOUR_MS)
    const later = await page(cursor)
    expect([position.seq, later.position.seq]).toEqual([0, 1])
    expect((await page(later.cursor)).changes).toEqual([])
  })

  test('the cursor of a quiet agency stays the same for an hour, however long the process has run', async () => {
    const { clock, append, page } = await opened()
    await clock.advance(100 * HOUR_MS)
    const { cursor } = await page(null)
    await append(unitSet(sampleId('unt', 'u'), { agencyId: A }))
    await clock.advance(HOUR_MS - 1)
    expect((await page(cursor)).cursor).toBe(cursor)
    await clock.advance(1)
    expect((await page(cursor)).cursor).not.toBe(cursor)
  })
})

describe('changes of units', () => {
  const changed = { from: null, to: null }
  const [ANY, RATES] = [['rates.updated', 'unit.updated'], ['rates.updated']] as const
  const rates = () => unitSet(sampleId('unt', 'x'), { agencyId: A }, { kind: 'rates_set', changed })
  const unit = () => unitSet(sampleId('unt', 'x'), { agencyId: A }, { changed })

  test('wake only readers that include them; each is shown what it includes, from memory or from the log', async () => {
    const { rows, append, book, page, start } = await opened()
    await book()
    const { cursor } = await page(null)
    await page(null, 0, { include: ANY })
    const waiting = {
      none: seen(page(cursor, 20_000)),
      rates: seen(page(cursor, 20_000, { include: RATES })),
      any: seen(page(cursor, 20_000, { include: ANY })),
    }
    await settle()
    await append(unit())
    await settle()
    expect([waiting.none.value, waiting.rates.value]).toEqual([undefined, undefined])
    expect(waiting.any.value && seqs(waiting.any.value)).toEqual([2])
    await append(rates())
    await settle()
    expect(waiting.rates.value && seqs(waiting.rates.value)).toEqual([3])
    expect(waiting.none.value).toBeUndefined()
    await book()
    await settle()
    expect(waiting.none.value && seqs(waiting.none.value)).toEqual([4])
    expect(rows.reads).toEqual([])
    const { feed } = await start()
    for (const [include, expected] of [
      [[], [1, 4]] as const,
      [RATES, [1, 3, 4]] as const,
      [ANY, [1, 2, 3, 4]] as const,
    ]) {
      const request = { ...askedFor(A, 'start'), include }
      expect(seqs(pageIn(await feed.page({ ...request, waitMs: 0 })))).toEqual([...expected])
    }
  })
})

describe('waiting', () => {
  test('F1: a change that becomes durable while an earlier place is read is not missed', async () => {
    const { rows, book, page } = await opened()
    await book()
    const { cursor } = await page('start')
    await book()
    // The answer to the first reader, in which the second change is the last, is on its way while the third is made.
    const held = Promise.withResolvers<void>()
    rows.delay = () => held.promise
    const first = page(cursor, 20_000)
    await settle()
    await book()
    rows.delay = async () => {}
    held.resolve()
    expect(seqs(await first)).toEqual([2])
    const second = await page((await first).cursor, 20_000)
    expect(seqs(second)).toEqual([3])
  })

  test('F1: a change that becomes durable while the log is read is not missed by whoever then waits', async () => {
    const { rows, book, append, page, start } = await opened()
    await book()
    const { cursor } = await page('start')
    await append(unitSet(sampleId('unt', 'w'), { agencyId: A }))
    // A new process has verified nothing.
    const { feed, journal } = await start()
    const held = Promise.withResolvers<void>()
    rows.delay = () => held.promise
    const waiting = seen(feed.page({ ...askedFor(A, cursor), waitMs: 20_000 }))
    await settle()
    await journal.append(booked(`${++records}`, { agencyId: A }))
    held.resolve()
    await settle()
    expect(waiting.value).toMatchObject({ changes: [{ event: 'booking.created' }], position: { seq: 3 } })
    expect(rows.reads).toHaveLength(2)
  })

  test('ends empty after the time that was asked for, not earlier', async () => {
    const { clock, page } = await opened()
    const { cursor } = await page(null)
    await clock.advance(100)
    const waits: number[] = []
    const waiting = seen(page(cursor, 20_000, { onWaited: (ms) => waits.push(ms) }))
    await clock.advance(19_999)
    expect([waiting.value, waits]).toEqual([undefined, []])
    await clock.advance(1)
    expect(waiting.value).toMatchObject({ changes: [], hasMore: false })
    // The request is told how long it only waited.
    expect(waits).toEqual([20_000])
  })

  test('a change that others know from before this process does is shown once', async () => {
    const { clock, store, journal, page } = await opened()
    const { cursor } = await page(null)
    // The reply to the batch is lost, and the next sends get no answer: its outcome is in doubt.
    let sends = 0
    store.fate = () => (sends++ === 0 ? 'lose_reply' : 'refuse_connection')
    const booking = journal.append(booked(`${++records}`, { agencyId: A }))
    await clock.advance(100)
    const shown = await page(cursor, 0, { limit: 3 })
    // Nothing has told this process of the change: it does not look for it.
    expect(shown.changes).toEqual([])
    const fromStart = await page('start')
    expect(seqs(fromStart)).toEqual([1])
    const waiting = seen(page(fromStart.cursor, 1_000))
    await clock.advance(1_000)
    expect(waiting.value).toMatchObject({ changes: [], position: fromStart.position })
    const again = seen(page(fromStart.cursor, 20_000))
    store.fate = () => 'deliver'
    await clock.advance(100)
    expect((await booking).seq).toBe(1)
    await clock.advance(1_000)
    expect(again.value).toBeUndefined()
  })

  test('F1: a reader does not pass a change that others have read before this process knows of it', async () => {
    const { clock, store, append, book, page } = await opened()
    await book()
    const { cursor } = await page('start')
    await append(unitSet(sampleId('unt', 'z'), { agencyId: A }))
    const first = seen(page(cursor, 1_000, { limit: 3 }))
    await settle()
    store.fate = () => 'lose_reply'
    void append(booked(`${++records}`, { agencyId: A }))
    await clock.advance(5)
    expect(seqs(await page('start'))).toEqual([1, 3])
    store.fate = () => 'refuse_connection'
    await clock.advance(1_000)
    expect(first.value?.changes).toEqual([])
    store.fate = () => 'deliver'
    await clock.advance(100)
    expect(seqs(await page(first.value?.cursor ?? ''))).toEqual([3])
  })

  test('a read that fails is the answer, and nobody waits after it', async () => {
    const { rows, feed, book, page } = await opened()
    await book()
    rows.delay = () => Promise.reject(new Error('connection lost'))
    expect(await page('start', 20_000).catch((error: Error) => error.message)).toBe('connection lost')
    expect(feed.stats.waiting.requests).toBe(0)
    rows.delay = async () => {}
    expect(seqs(await page('start'))).toEqual([1])
  })

  test('ends at once, empty, when the process stops serving; later requests do not begin to wait', async () => {
    const { feed, requestOf, page } = await opened()
    const { cursor } = await page(null)
    const waiting = page(cursor, 20_000)
    const stream = streamIn(await feed.stream(requestOf(cursor)))
    const next = stream.next()
    feed.end()
    expect([(await waiting).changes, await next]).toEqual([[], null])
    expect((await page(cursor, 20_000)).changes).toEqual([])
    const late = streamIn(await feed.stream(requestOf(cursor)))
    expect(await late.next()).toBeNull()
  })

  test('ends at once, empty, when another process has the agency, and only for that agency', async () => {
    const { feed, requestOf, page } = await opened()
    const { cursor } = await page(null)
    const waiting = seen(page(cursor, 20_000))
    const stream = streamIn(await feed.stream(requestOf(cursor)))
    const next = seen(stream.next())
    const other = streamIn(await feed.stream(askedFor(B, null)))
    const nextOfOther = seen(other.next())
    await settle()
    feed.forget((agencyId) => agencyId === A)
    await settle()
    expect([waiting.value?.changes, next.value, nextOfOther.value]).toEqual([[], null, undefined])
  })

  test('waits again once the agency has come back', async () => {
    const { feed, page } = await opened()
    const { cursor } = await page(null)
    feed.forget((agencyId) => agencyId === A)
    const waiting = seen(page(cursor, 20_000))
    await settle()
    expect(waiting.value).toBeUndefined()
    feed.forget(() => true)
    await settle()
    expect(waiting.value?.changes).toEqual([])
  })

  test('ends for a client that is gone', async () => {
    const { feed, page } = await opened()
    const { cursor } = await page(null)
    const leaving = new AbortController()
    const waiting = page(cursor, 20_000, { signal: leaving.signal })
    await settle()
    leaving.abort()
    expect((await waiting).changes).toEqual([])
    expect(feed.stats.waiting.requests).toBe(0)
    expect((await page(cursor, 20_000, { signal: leaving.signal })).changes).toEqual([])
  })
})

describe('a stream', () => {
  test('has a page for each batch of changes, and an empty one every 15 seconds', async () => {
    const { clock, feed, requestOf, book } = await opened()
    const stream = streamIn(await feed.stream(requestOf(null)))
    expect(stream.first.changes).toEqual([])
    let next = seen(stream.next())
    await clock.advance(HEARTBEAT_MS - 1)
    expect(next.value).toBeUndefined()
    await clock.advance(1)
    expect(next.value).toMatchObject({ changes: [] })
    next = seen(stream.next())
    await book()
    await settle()
    expect(next.value && seqs(next.value)).toEqual([1])
  })

  test('that has had a change still ends at once with the process, also after the time of its earlier wait', async () => {
    const { clock, feed, requestOf, book } = await opened()
    const stream = streamIn(await feed.stream(requestOf(null)))
    const first = stream.next()
    await clock.advance(5_000)
    await book()
    expect((await first)?.changes).toHaveLength(1)
    const next = seen(stream.next())
    await clock.advance(HEARTBEAT_MS - 1)
    expect(next.value).toBeUndefined()
    feed.end()
    await settle()
    expect(next.value).toBeNull()
  })

  test('that is behind reads on without waiting', async () => {
    const { clock, feed, requestOf, book } = await opened()
    for (let n = 0; n < 5; n++) await book()
    const stream = streamIn(await feed.stream(requestOf('start', { limit: 2 })))
    const read = [stream.first, await stream.next(), await stream.next()]
    expect(read.map((page) => page && seqs(page))).toEqual([[1, 2], [3, 4], [5]])
    const next = seen(stream.next())
    await clock.advance(100)
    expect(next.value).toBeUndefined()
  })

  test('takes a place from its beginning until it is closed', async () => {
    const { feed, requestOf, book } = await opened()
    await book()
    const stream = streamIn(await feed.stream(requestOf('start')))
    expect(feed.stats.waiting).toEqual({ requests: 0, streams: 1 })
    stream.close()
    expect(feed.stats.waiting).toEqual({ requests: 0, streams: 0 })
    expect(await stream.next()).toBeNull()
  })

  test('gives its place back at once when its client leaves while the log is read', async () => {
    const { feed, rows, requestOf, book } = await opened()
    await book()
    const held = Promise.withResolvers<void>()
    rows.delay = () => held.promise
    const leaving = new AbortController()
    const opening = feed.stream(requestOf('start', { signal: leaving.signal }))
    expect(feed.stats.waiting.streams).toBe(1)
    leaving.abort()
    expect(feed.stats.waiting.streams).toBe(0)
    held.resolve()
    expect(await streamIn(await opening).next()).toBeNull()
  })

  test('that cannot begin gives its place back: the cursor is malformed or has expired, or the read fails', async () => {
    const { feed, requestOf, page, rows, store, book } = await opened()
    await book()
    await book()
    const { cursor } = await page('start', 0, { limit: 1 })
    rows.delay = () => Promise.reject(new Error('connection lost'))
    expect(await feed.stream(requestOf('start')).catch((error: Error) => error.message)).toBe('connection lost')
    rows.delay = async () => {}
    store.journal.length = 0
    expect(await feed.stream(requestOf(cursor))).toEqual({ kind: 'expired' })
    expect(await feed.stream(requestOf('x'))).toEqual({ kind: 'malformed' })
    expect(feed.stats.waiting).toEqual({ requests: 0, streams: 0 })
  })
})
