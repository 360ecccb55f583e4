import { describe, expect, test } from 'bun:test'
import { ClusterKeys, claimText, type MemberState, memberText } from '../../src/cluster/cluster-keys.ts'
import { ClusterView } from '../../src/cluster/cluster-view.ts'
import type { Entry } from '../../src/cluster/etcd/etcd.ts'

const KEYS = new ClusterKeys('/nightledger/x/')

function claim(shard: number, node: string | null, revision: number): Entry {
  return {
    key: KEYS.shard(shard),
    value: node === null ? null : claimText({ node, isServing: true }),
    lease: '1',
    revision,
  }
}

function member(id: string, revision: number, state: MemberState = 'up'): Entry {
  const value = memberText({ id, url: `http://${id}`, version: '1', run: null, startedAt: 0, state })
  return { key: KEYS.member(id), value, lease: '1', revision }
}

describe('the view of the keys', () => {
  test.each([
    ['http://10.0.0.1:3000/', 'http://10.0.0.1:3000'],
    ['https://a.example', 'https://a.example'],
    ['http://user:password@a:3000', null],
    ['http://a:3000/path', null],
    ['http://a:3000?x', null],
    ['file:///etc/passwd', null],
    ['a:3000', null],
    [7, null],
  ])('a member at %p is reached at %p', (url, origin) => {
    const unreadable: string[] = []
    const view = new ClusterView(KEYS, (key) => void unreadable.push(key))
    const { value } = member('a', 1)
    const reported = (revision: number): Entry => ({
      ...member('a', revision),
      value: JSON.stringify({ ...JSON.parse(value ?? ''), url }),
    })
    view.apply([member('a', 1), claim(3, 'a', 1)])
    view.apply([reported(2)])
    view.apply([reported(3)])
    expect(view.members.get('a')?.url ?? null).toBe(origin)
    expect(view.candidates).toEqual(origin === null ? [] : ['a'])
    expect(unreadable).toEqual(origin === null ? [KEYS.member('a')] : [])
  })

  test.each(['', '{', 'null', '7', '{"node":7,"isServing":true}'])(
    'a value that no node has written is no owner and no member: %p',
    (value) => {
      const view = new ClusterView(KEYS)
      view.apply([
        { key: KEYS.shard(3), value, lease: '9', revision: 1 },
        { key: KEYS.member('a'), value, lease: '9', revision: 1 },
      ])
      expect([view.members.size, view.claims[3]]).toEqual([0, { node: '', isServing: false, lease: '9' }])
    },
  )

  const nodeOf = (view: ClusterView, shard: number) => view.claims[shard]?.node ?? null

  test('keeps the newest of each key, in whatever order they come', () => {
    const view = new ClusterView(KEYS)
    view.apply([claim(1, 'a', 5)])
    expect(view.apply([claim(1, 'b', 4)])).toBe(false)
    expect(nodeOf(view, 1)).toBe('a')
    view.apply([claim(1, null, 7)])
    // The watch tells late what was done before the deletion.
    view.apply([claim(1, 'b', 6)])
    expect(nodeOf(view, 1)).toBeNull()
  })

  test('a whole reading removes what is gone, but nothing that is newer than the reading', () => {
    const view = new ClusterView(KEYS)
    view.apply([claim(1, 'a', 5), claim(2, 'a', 9), member('a', 3)])
    expect(view.replace({ revision: 7, entries: [member('a', 3)] })).toBe(true)
    expect(nodeOf(view, 1)).toBeNull()
    expect(nodeOf(view, 2)).toBe('a')
    expect(view.members.size).toBe(1)
  })

  test('a reading that says what is known changes nothing', () => {
    const view = new ClusterView(KEYS)
    view.apply([claim(1, 'a', 5)])
    expect(view.replace({ revision: 9, entries: [claim(1, 'a', 5)] })).toBe(false)
  })

  test('keys of other databases, and what is none of ours, is not taken for ours', () => {
    const view = new ClusterView(KEYS)
    const value = claimText({ node: 'a', isServing: true })
    for (const key of [
      '/nightledger/y/shards/1',
      '/nightledger/x/shards/256',
      '/nightledger/x/shards/-1',
      '/nightledger/x/shards/1/2',
    ])
      view.apply([{ key, value, lease: '1', revision: 1 }])
    expect(view.claims.every((each) => each === null)).toBe(true)
  })
})

describe('the nodes that shards should go to', () => {
  const candidatesOf = (entries: readonly Entry[]) => {
    const view = new ClusterView(KEYS)
    view.apply(entries)
    return view.candidates
  }
  const drain = (id: string): Entry => ({ key: KEYS.drain(id), value: '{}', lease: '1', revision: 9 })

  test('are those that are up, and not drained', () => {
    const all = [member('d', 1), member('a', 1), member('b', 1, 'leaving'), drain('d')]
    expect(candidatesOf(all)).toEqual(['a'])
  })
  test('are the drained ones rather than none', () => {
    expect(candidatesOf([member('a', 1), drain('a'), member('b', 1, 'leaving')])).toEqual(['a'])
  })
  test('are those that last reached no database rather than none', () => {
    const rest = [member('a', 1, 'no_database'), member('b', 1, 'leaving')]
    expect(candidatesOf([...rest, member('c', 1)])).toEqual(['c'])
    expect(candidatesOf([...rest, member('c', 1), drain('c')])).toEqual(['c'])
    expect(candidatesOf(rest)).toEqual(['a'])
  })
  test('are none when all are leaving', () => {
    expect(candidatesOf([member('a', 1, 'leaving')])).toEqual([])
  })
})
