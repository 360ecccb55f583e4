import { describe, expect, test } from 'bun:test'
import type { Change } from '../../../src/cluster/etcd/etcd.ts'
import { LeaseStore } from '../../../src/cluster/workers/lease-store.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const NEVER = new AbortController().signal

function open() {
  const clock = new FakeClock()
  const store = new LeaseStore(clock)
  const keys = () => store.read('/').entries.map(({ key }) => key)
  const put = (key: string, lease: string, condition: Change['condition'] = 'absent') =>
    store.commit([{ key, value: 'v', lease, condition }])
  return { clock, store, keys, put }
}

describe('a lease', () => {
  test('ends after its time, and its keys with it, unless it was kept alive meanwhile', async () => {
    const { clock, store, keys, put } = open()
    const [kept, lost] = [store.grant(5), store.grant(5)]
    put('/kept', kept)
    put('/lost', lost)
    await clock.advance(4_000)
    expect(store.keepAlive(kept)).toBe(5)
    await clock.advance(4_999)
    expect(keys()).toEqual(['/kept'])
    expect(store.keepAlive(lost)).toBe(0)
    await clock.advance(1)
    expect(keys()).toEqual([])
  })

  test('that is over is not kept alive, even if nothing has noticed its end yet', () => {
    let nowMs = 0
    const store = new LeaseStore({ now: () => nowMs, monotonicMs: () => nowMs, after: () => () => {} })
    const lease = store.grant(5)
    store.commit([{ key: '/a', value: 'v', lease, condition: 'absent' }])
    nowMs = 5_000
    expect(store.keepAlive(lease)).toBe(0)
    expect(store.read('/').entries).toEqual([])
  })

  test('that is revoked takes its keys, and no others, with it', () => {
    const { store, keys, put } = open()
    const [one, two] = [store.grant(5), store.grant(5)]
    put('/one', one)
    put('/two', two)
    store.revoke(one)
    store.revoke('unknown')
    expect(keys()).toEqual(['/two'])
  })
})

describe('a commit', () => {
  test('makes the changes whose condition holds, all at one revision', () => {
    const { store, put } = open()
    const [mine, theirs] = [store.grant(5), store.grant(5)]
    put('/theirs', theirs)
    const { revision, done } = store.commit([
      { key: '/new', value: 'v', lease: mine, condition: 'absent' },
      { key: '/theirs', value: 'w', lease: mine, condition: 'absent' },
      { key: '/theirs', value: 'w', lease: mine, condition: { lease: mine } },
      { key: '/missing', value: null, lease: mine, condition: { lease: mine } },
    ])
    expect(done).toEqual([true, false, false, false])
    expect(store.read('/')).toEqual({
      revision,
      entries: [
        { key: '/theirs', value: 'v', lease: theirs, revision: revision - 1 },
        { key: '/new', value: 'v', lease: mine, revision },
      ],
    })
  })

  test('makes nothing when a key is to hang on a lease that is over', () => {
    const { store, keys } = open()
    const lease = store.grant(5)
    const change = { value: 'v', condition: 'absent' } as const
    const commit = () =>
      store.commit([
        { key: '/a', lease, ...change },
        { key: '/b', lease: 'unknown', ...change },
      ])
    expect(commit).toThrow('lease unknown is over')
    expect(keys()).toEqual([])
  })

  test('deletes a key of the lease', () => {
    const { store, keys, put } = open()
    const lease = store.grant(5)
    put('/a', lease)
    expect(store.commit([{ key: '/a', value: null, lease, condition: { lease } }]).done).toEqual([true])
    expect(keys()).toEqual([])
  })
})

describe('changes', () => {
  test('since a revision are told at once and in order, with what was deleted', async () => {
    const { store, put } = open()
    const lease = store.grant(5)
    const { revision } = store.read('/')
    put('/a', lease)
    put('/b', lease)
    store.revoke(lease)
    const events = await store.changes(revision + 1, NEVER)
    expect(events?.map(({ key, value, revision: at }) => [key, value, at - revision])).toEqual([
      ['/a', 'v', 1],
      ['/b', 'v', 2],
      ['/a', null, 3],
      ['/b', null, 3],
    ])
  })

  test('that are still to come are waited for, until the signal', async () => {
    const { store, put } = open()
    const lease = store.grant(5)
    const next = store.read('/').revision + 1
    const waiting = store.changes(next, NEVER)
    const controller = new AbortController()
    const cancelled = store.changes(next, controller.signal)
    controller.abort()
    expect(await cancelled).toBeNull()
    expect(await store.changes(next, controller.signal)).toBeNull()
    put('/a', lease)
    expect((await waiting)?.map(({ key }) => key)).toEqual(['/a'])
  })

  test('that are no longer remembered must be read', async () => {
    const { store, put } = open()
    const lease = store.grant(5)
    for (let i = 0; i < 1_025; i++) put('/a', lease, i === 0 ? 'absent' : { lease })
    expect(await store.changes(2, NEVER)).toBeNull()
    expect(await store.changes(3, NEVER)).toHaveLength(1_024)
  })
})
