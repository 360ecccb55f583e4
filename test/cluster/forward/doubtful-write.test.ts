import { expect, test } from 'bun:test'
import { HOLD_MS_MAX } from '../../../src/cluster/forward/holding.ts'
import { DOUBT_HEADER, HOP_HEADER, Hops, SERVED_BY_HEADER } from '../../../src/cluster/forward/hop.ts'
import type { NodeFetch } from '../../../src/cluster/forward/node-call.ts'
import { NodeCalls } from '../../../src/cluster/forward/node-calls.ts'
import { RequestEntry } from '../../../src/cluster/forward/request-entry.ts'
import { RequestHomes } from '../../../src/cluster/forward/request-home.ts'
import { NOT_OWNER_STATUS } from '../../../src/http/problem-of.ts'
import { sleep } from '../../../src/lib/clock.ts'
import { systemIds } from '../../../src/lib/ids.ts'
import { DIRECTORY, keyOf } from '../../support/entry-nodes.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const SHARD = 7
const HOPS = new Hops(['s'.repeat(32)])
const B = { id: 'b', url: 'http://b' }
const URL = 'http://a/partner/v1/bookings'

/** An entry whose shard is lost, to nobody, when it is asked for the first time. */
class LosingEntry {
  readonly clock = new FakeClock()
  owner: 'self' | typeof B | null
  term = 1

  constructor(owner: 'self' | typeof B) {
    this.owner = owner
  }

  /** @param status that its app answers with after the loss */
  answer(status: number, { fetch, hop = false }: { fetch?: NodeFetch; hop?: boolean } = {}): Promise<Response> {
    const common = {
      owners: {
        self: { id: 'a', url: 'http://a' },
        ownerOf: () => this.owner,
        changed: (_: number, ms: number) => sleep(this.clock, ms),
      },
      clock: this.clock,
      newId: systemIds,
      leaving: new AbortController().signal,
    }
    const nobody = () => Promise.reject(new Error('There is nobody else'))
    const entry = new RequestEntry({
      ...common,
      calls: new NodeCalls({ ...common, hops: HOPS, fetch: fetch ?? nobody }),
      termOf: () => this.term,
      refreshSession: async () => {},
      onRefused: () => {},
    })
    const listener = {
      name: 'public',
      homes: new RequestHomes({ directory: DIRECTORY, operatorTokens: [] }),
      peerOf: () => null,
      connectionOf: () => null,
      withoutIdleTimeout: <T>(_: Request, run: () => Promise<T>) => run(),
    } as const
    const app = () => {
      this.lose()
      return new Response(null, { status })
    }
    const headers = new Headers({
      authorization: `Bearer ${keyOf(SHARD)}`,
      'idempotency-key': 'k',
      'content-length': '2',
    })
    const request = { method: 'POST', url: URL }
    if (hop) headers.set(HOP_HEADER, HOPS.text({ shard: SHARD, listener: 'public', peer: null }, request))
    return Promise.resolve(entry.wrap(listener, app)(app)(new Request(URL, { ...request, headers, body: '{}' })))
  }

  lose(): void {
    this.owner = null
    this.term += 1
  }

  /** Of what the client is told when nobody takes the shard over. */
  async titleOf(answer: Promise<Response>): Promise<string> {
    await this.clock.advance(HOLD_MS_MAX + 1_000)
    const response = await answer
    expect(response.status).toBe(500)
    return ((await response.json()) as { title: string }).title
  }
}

test('a write that failed here as the shard was lost may have been made: without a next owner, the client is not told that nothing was done', async () => {
  const entry = new LosingEntry('self')
  expect(await entry.titleOf(entry.answer(500))).toStartWith('The change may or may not have been made')
})

test('a write that was refused here as the shard was lost was not made, and the client is told so', async () => {
  const entry = new LosingEntry('self')
  expect(await entry.titleOf(entry.answer(401))).toStartWith('This request was not handled')
})

test('a node tells the one that has forwarded a write to it whether it may have been made before the shard was lost', async () => {
  const failed = await new LosingEntry('self').answer(500, { hop: true })
  expect([failed.status, failed.headers.get(DOUBT_HEADER)]).toEqual([NOT_OWNER_STATUS, 'unknown'])
  const refused = await new LosingEntry('self').answer(401, { hop: true })
  expect([refused.status, refused.headers.get(DOUBT_HEADER)]).toEqual([NOT_OWNER_STATUS, null])
})

test('what another node says about a write when it has lost the shard, the client is told', async () => {
  for (const [doubt, title] of [
    [{ [DOUBT_HEADER]: 'unknown' }, 'The change may or may not have been made'],
    [{}, 'This request was not handled'],
  ] as const) {
    const entry = new LosingEntry(B)
    const fetch: NodeFetch = async () => {
      entry.lose()
      return new Response(null, { status: NOT_OWNER_STATUS, headers: { [SERVED_BY_HEADER]: 'b', ...doubt } })
    }
    expect(await entry.titleOf(entry.answer(500, { fetch }))).toStartWith(title)
  }
})

test('after an attempt without an answer, a failure of the next one, or that it is not let in, does not tell that nothing was done; a refusal is the answer', async () => {
  const doubt = 'The change may or may not have been made'
  for (const [status, answered, reported] of [
    [500, 500, doubt],
    [429, 500, doubt],
    [401, 500, doubt],
    [403, 500, doubt],
    [409, 409, 'Nothing was changed'],
  ] as const) {
    const entry = new LosingEntry(B)
    let sent = 0
    const fetch: NodeFetch = async () => {
      sent += 1
      if (sent === 1) throw new Error('The connection was lost')
      return Response.json({ title: 'Nothing was changed' }, { status, headers: { [SERVED_BY_HEADER]: 'b' } })
    }
    const answer = entry.answer(500, { fetch })
    await entry.clock.advance(1_000)
    const response = await answer
    expect(response.status).toBe(answered)
    expect(((await response.json()) as { title: string }).title).toStartWith(reported)
  }
})

test('an owner that only this node cannot reach is not waited for again and again', async () => {
  const entry = new LosingEntry(B)
  let calls = 0
  const silent: NodeFetch = (_, { signal }) => {
    calls += 1
    return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  }
  const answer = entry.answer(200, { fetch: silent })
  await entry.clock.advance(100_000)
  expect(calls).toBe(1)
  expect(((await (await answer).json()) as { title: string }).title).toStartWith('The change may or may not')
})
