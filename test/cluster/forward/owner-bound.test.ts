import { expect, test } from 'bun:test'
import { HOLD_MS_MAX } from '../../../src/cluster/forward/holding.ts'
import { ownerBound, ShardWatch } from '../../../src/cluster/forward/owner-bound.ts'
import type { CallOutcome } from '../../../src/cluster/forward/owner-calls.ts'
import type { NodeAddress } from '../../../src/cluster/shard-owners.ts'
import { sleep } from '../../../src/lib/clock.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

const NODE: NodeAddress = { id: 'b', url: 'http://b' }
/** How often a call looks at the owner of its shard while nothing changes. */
const LOOK_MS = 500

/** A call to a node that answers when it is told to. */
function opened() {
  const clock = new FakeClock()
  const requests: { owner: NodeAddress | null; isEnded: boolean } = { owner: NODE, isEnded: false }
  const never = new AbortController().signal
  const answered = Promise.withResolvers<CallOutcome>()
  void ownerBound(
    {
      owners: { ownerOf: () => requests.owner },
      watch: new ShardWatch({ changed: (_, ms) => sleep(clock, ms) }),
      clock,
      node: NODE,
      shard: 1,
      isRead: true,
      isWait: false,
      client: never,
      leaving: never,
      onEnd: () => {},
    },
    (signal) => {
      signal.addEventListener('abort', () => {
        requests.isEnded = true
      })
      return answered.promise
    },
  )
  const answer = () => answered.resolve({ kind: 'answered', response: new Response(), isStream: false })
  return { clock, requests, answer }
}

test('a call ends when its shard has been without an owner for as long as a request may wait, not earlier', async () => {
  const { clock, requests } = opened()
  requests.owner = null
  // Seen at the first look.
  await clock.advance(LOOK_MS)
  await clock.advance(HOLD_MS_MAX - 1)
  expect(requests.isEnded).toBe(false)
  await clock.advance(1)
  expect(requests.isEnded).toBe(true)
})

test('nothing is left of a call that was answered while its shard moved to another node', async () => {
  const { clock, requests, answer } = opened()
  requests.owner = { id: 'c', url: 'http://c' }
  await clock.advance(LOOK_MS)
  answer()
  await settle()
  // That of the look that is under way, which ends the watch.
  expect(clock.nextTimerIn).toBe(LOOK_MS)
})

test('a call does not end if its node has the shard again before that', async () => {
  const { clock, requests } = opened()
  requests.owner = null
  await clock.advance(HOLD_MS_MAX - LOOK_MS)
  requests.owner = NODE
  await clock.advance(LOOK_MS)
  requests.owner = null
  await clock.advance(HOLD_MS_MAX - LOOK_MS)
  expect(requests.isEnded).toBe(false)
})
