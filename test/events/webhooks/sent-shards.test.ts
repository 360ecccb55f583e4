import { expect, test } from 'bun:test'
import type { ShardEpoch } from '../../../src/core/journal/journal-store.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import { SenderReplacedError } from '../../../src/events/webhooks/sender-store.ts'
import { SentShards } from '../../../src/events/webhooks/sent-shards.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { agenciesOfShards } from '../../support/journal-records.ts'

const [A = '', B = ''] = agenciesOfShards(2)
const of = (...agencyIds: readonly string[]): ShardEpoch[] =>
  agencyIds.map((agencyId) => ({ shard: shardOf(agencyId), epoch: 1 }))

function open(answer: (wanted: readonly ShardEpoch[]) => Promise<readonly number[]>) {
  const clock = new FakeClock()
  const requests: number[][] = []
  const left: string[][] = []
  let wakes = 0
  const shards = new SentShards({
    clock,
    sendFor: (wanted) => {
      requests.push(wanted.map(({ shard }) => shard))
      return answer(wanted)
    },
    sender: {
      leave: (isAsked) => void left.push([A, B].filter(isAsked)),
      wake: (agencies) => {
        expect(agencies).toBe('all')
        wakes += 1
      },
    },
  })
  return { clock, shards, requests, left, wakes: () => wakes }
}

const all = async (wanted: readonly ShardEpoch[]) => wanted.map(({ shard }) => shard)

test('a sender looks at all agencies when its node has got a shard, and leaves those of a shard that it has lost', async () => {
  const { shards, left, wakes } = open(all)
  shards.want(of(A))
  await settle()
  shards.want(of(A, B))
  await settle()
  expect([left, wakes()]).toEqual([[], 2])
  shards.want(of(B))
  await settle()
  shards.want(of(B))
  await settle()
  expect([left, wakes()]).toEqual([[[A]], 2])
})

test('a shard that is lost before Postgres has answered for it is left too: its deliveries may have been claimed', async () => {
  const { shards, left } = open(() => new Promise(() => {}))
  shards.want(of(A))
  shards.want(of(B))
  expect(left).toEqual([[A]])
})

test('what Postgres does not give, or cannot answer, is asked for again', async () => {
  let failures = 2
  const { shards, requests, clock, wakes } = open(async (wanted) => {
    if (failures-- > 0) throw new Error('the database is away')
    return all(wanted)
  })
  shards.want(of(A))
  await clock.advance(600)
  expect([requests.length, wakes()]).toEqual([2, 0])
  await clock.advance(600)
  expect([requests.length, wakes()]).toEqual([3, 1])
})

test('the newest wish counts, however many come while one is asked', async () => {
  const gate = Promise.withResolvers<void>()
  const { shards, requests } = open(async (wanted) => {
    await gate.promise
    return all(wanted)
  })
  shards.want(of(A))
  shards.want(of(A, B))
  shards.want(of(B))
  gate.resolve()
  await settle()
  expect(requests).toEqual([[shardOf(A)], [shardOf(B)]])
})

test('a sender that was replaced asks no more', async () => {
  const { shards, requests, clock } = open(() => Promise.reject(new SenderReplacedError('replaced')))
  shards.want(of(A))
  await clock.advance(10_000)
  expect(requests).toHaveLength(1)
})
