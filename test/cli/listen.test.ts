import { beforeEach, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { CliError, EXIT, RefusedError } from '../../src/cli/exit-codes.ts'
import { forwardAll } from '../../src/cli/listen.ts'
import { type Chaos, Forwarder, isMet, type Outcome, RETRY_S } from '../../src/cli/listen-forwarder.ts'
import { type ChangeReader, changesAfter, cursorAt, type Reading, spanOf } from '../../src/cli/listen-source.ts'
import { ListenState } from '../../src/cli/listen-state.ts'
import { NoStreamError } from '../../src/cli/partner-client.ts'
import { resendParts } from '../../src/cli/resend.ts'
import type { PostResult } from '../../src/events/webhooks/guarded-post.ts'
import { serviceSignature } from '../../src/events/webhooks/secret-box.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/* What `listen` does with changes, answers and time, all of them the test's. With the real service: desk.fault.test.ts. */

const bodyOf = (id: string, event = 'booking.created') => `{"id":"${id}","event":"${event}","data":{"id":"bkg_${id}"}}`
const reading = (id: string, event?: string): Reading => ({
  cursor: `c-${id}`,
  change: bodyOf(id, event).replace('{', `{"cursor":"c-${id}",`),
})
const answered = (httpStatus: number): PostResult => ({ outcome: { kind: 'answered', httpStatus }, durationMs: 3 })
const UNREACHED: PostResult = { outcome: { kind: 'unreachable', cause: 'connection' }, durationMs: 1 }
const ids = (chaos: Chaos, met: boolean, count: number) =>
  Array.from({ length: 200 }, (_, i) => `evt_${i}`)
    .filter((id) => isMet(chaos, id) === met)
    .slice(0, count)

let stop: AbortController
let sent: { body: string; headers: Record<string, string> }[]
let kept: string[]
let outcomes: Outcome[]
let pauses: number[]
/** The next answers; afterwards 204. */
let answers: PostResult[]
beforeEach(() => {
  stop = new AbortController()
  sent = []
  kept = []
  outcomes = []
  pauses = []
  answers = []
})

const pause = async (ms: number) => void pauses.push(ms)

function forwarderWith(options: { chaos?: Chaos[]; events?: string[] } = {}): Forwarder {
  return new Forwarder({
    forward: 'http://localhost:4000/hook',
    secret: 'whsec_c2VjcmV0',
    events: options.events ?? ['booking.created'],
    chaos: options.chaos ?? [],
    post: async (_, message) => {
      sent.push(message)
      return answers.shift() ?? answered(204)
    },
    now: () => 1_800_000_000_000,
    keep: (cursor) => kept.push(cursor),
    report: (outcome) => outcomes.push(outcome),
    stop: stop.signal,
    pause,
  })
}

const sentIds = () => sent.map(({ body }) => JSON.parse(body).id)

describe('an event', () => {
  test('is posted as a webhook is: the bytes of the body without the cursor, signed with the secret', async () => {
    await forwarderWith().take(reading('a'))
    expect(sent[0]?.body).toBe(bodyOf('a'))
    const v1 = serviceSignature('whsec_c2VjcmV0', 1_800_000_000, bodyOf('a'))
    expect(sent[0]?.headers).toMatchObject({ 'x-service-signature': `t=1800000000, v1=${v1}`, 'webhook-id': 'a' })
    expect(outcomes).toMatchObject([{ outcome: 'delivered', status: 204, ms: 3, about: 'bkg_a' }])
  })

  test('is tried again after an answer that is not 2xx, and its cursor is kept only then', async () => {
    answers = [answered(500), answered(302)]
    await forwarderWith().take(reading('a'))
    expect(outcomes.map(({ outcome, attempt }) => [outcome, attempt])).toEqual([
      ['failed', 1],
      ['failed', 2],
      ['delivered', 3],
    ])
    expect([pauses, kept]).toEqual([[1_000, 2_000], ['c-a']])
  })

  test('is given up after the last retry, and the next one is sent', async () => {
    answers = Array.from({ length: RETRY_S.length + 1 }, () => answered(500))
    const forwarder = forwarderWith()
    await forwarder.take(reading('a'))
    await forwarder.take(reading('b'))
    expect(outcomes.at(-2)).toMatchObject({ outcome: 'given_up', attempt: 6 })
    expect([sent.length, kept]).toEqual([7, ['c-a', 'c-b']])
  })

  test('waits for a receiver that cannot be reached, for as long as it takes', async () => {
    answers = Array.from({ length: 50 }, () => UNREACHED)
    await forwarderWith().take(reading('a'))
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['waiting', 'delivered'])
    expect([sent.length, kept]).toEqual([51, ['c-a']])
  })

  test('that was not settled when the command was stopped keeps no cursor, so that the next run sends it', async () => {
    answers = [answered(500)]
    stop.abort()
    await forwarderWith().take(reading('a'))
    expect([sent.length, kept]).toEqual([1, []])
  })

  test('that was not asked for is passed over, and its cursor is kept', async () => {
    const forwarder = forwarderWith({ events: ['booking.cancelled'] })
    await forwarder.take(reading('a'))
    await forwarder.take({ cursor: 'c-later', change: null })
    expect([sent, kept]).toEqual([[], ['c-a', 'c-later']])
  })
})

describe('chaos', () => {
  test('duplicate sends an event again, with the same id and body', async () => {
    const [id = ''] = ids('duplicate', true, 1)
    await forwarderWith({ chaos: ['duplicate'] }).take(reading(id))
    expect(sentIds()).toEqual([id, id])
    expect(outcomes.map(({ isDuplicate }) => isDuplicate)).toEqual([false, true])
  })

  test('drop sends nothing and keeps the cursor: a restart does not send it either', async () => {
    const [id = ''] = ids('drop', true, 1)
    await forwarderWith({ chaos: ['drop'] }).take(reading(id))
    await forwarderWith({ chaos: ['drop'] }).take(reading(id))
    expect([sent, kept]).toEqual([[], [`c-${id}`, `c-${id}`]])
  })

  test('reorder sends an event after the next one, and keeps no cursor before both are sent', async () => {
    const [held = ''] = ids('reorder', true, 1)
    const forwarder = forwarderWith({ chaos: ['reorder'] })
    await forwarder.take(reading(held))
    await forwarder.take({ cursor: 'c-beat', change: null })
    expect([sentIds(), kept]).toEqual([[], []])
    await forwarder.take(reading('next'))
    expect([sentIds(), kept]).toEqual([['next', held], ['c-next']])
  })

  test('reorder sends what is held back when nothing else comes, and when the command is stopped', async () => {
    const [held = ''] = ids('reorder', true, 1)
    const forwarder = forwarderWith({ chaos: ['reorder'] })
    async function* one(): AsyncGenerator<Reading> {
      yield reading(held)
    }
    await forwardAll(one(), forwarder, pause)
    expect([sentIds(), kept]).toEqual([[held], [`c-${held}`]])
  })
})

describe('the changes', () => {
  type Step = Reading[] | Error
  function readerOf(steps: Step[], pages: Record<string, unknown>[] = []) {
    const asked: string[] = []
    const reader: ChangeReader = {
      async *events(path) {
        asked.push(`stream ${path}`)
        const step = steps.shift()
        if (step === undefined) return stop.abort()
        if (step instanceof Error) throw step
        for (const { cursor, change } of step) yield { id: cursor, data: change }
      },
      async get(path) {
        asked.push(path)
        const page = pages.shift()
        if (page === undefined) {
          stop.abort()
          return { changes: [], cursor: 'end', hasMore: false }
        }
        if (page instanceof Error) throw page
        return page
      },
    }
    return { reader, asked }
  }
  const read = async (reader: ChangeReader) => {
    const troubles: string[] = []
    const options = {
      after: 'c0',
      include: undefined,
      stop: stop.signal,
      pause,
      onTrouble: (t: string) => troubles.push(t),
    }
    const readings = await Array.fromAsync(changesAfter(reader, options))
    return { cursors: readings.map(({ cursor }) => cursor), troubles }
  }

  test('go on from the last cursor when a connection ends or fails', async () => {
    const lost = new CliError('Cannot reach the service', EXIT.unreachable)
    const { reader, asked } = readerOf([[reading('a')], lost, [reading('b')]])
    expect(await read(reader)).toEqual({
      cursors: ['c-a', 'c-b'],
      troubles: ['Cannot reach the service: trying again'],
    })
    expect(asked.map((path) => path.split('after=')[1])).toEqual(['c0', 'c-a', 'c-a', 'c-b'])
  })

  test('are polled where a stream does not get through', async () => {
    const page = { changes: [{ cursor: 'c-a', id: 'a' }], cursor: 'c-a', hasMore: false }
    const { reader, asked } = readerOf([new NoStreamError('No stream')], [page])
    expect((await read(reader)).cursors).toEqual(['c-a', 'c-a', 'end'])
    expect(asked.slice(1)).toEqual(['/changes?after=c0&wait=20&limit=500', '/changes?after=c-a&wait=20&limit=500'])
  })

  test('end with what the service refuses', async () => {
    const gone = new RefusedError(410, { code: 'CURSOR_EXPIRED', title: 'gone' })
    expect(read(readerOf([[reading('a')], gone]).reader)).rejects.toBe(gone)
    expect(read(readerOf([new CliError('Cannot reach', EXIT.unreachable)]).reader)).rejects.toThrow('Cannot reach')
  })

  test('since a time begin before the first change at that time or later, found page after page', async () => {
    const change = (cursor: string, at: number) => ({ cursor, occurredAt: new Date(at).toISOString() })
    const limited = new RefusedError(429, { code: 'RATE_LIMITED' })
    const pages = () => [
      { changes: [change('1', 10), change('2', 20)], cursor: '2', hasMore: true },
      limited as never,
      { changes: [change('3', 30), change('4', 40)], cursor: '4', hasMore: false },
    ]
    const at = (since: number) => cursorAt(readerOf([], pages()).reader, since, { include: undefined, pause })
    expect(await at(0)).toEqual({ cursor: 'start', requests: 1 })
    expect(await at(20)).toEqual({ cursor: '1', requests: 1 })
    expect(await at(31)).toEqual({ cursor: '3', requests: 2 })
    expect(await at(50)).toEqual({ cursor: '4', requests: 2 })
  })

  test('a span is a number and a unit', () => {
    expect(['90s', '30m', '24h', '7d', 'h', '1w', '', 'start'].map(spanOf)).toEqual([
      ...[90_000, 1_800_000, 86_400_000, 604_800_000],
      ...[null, null, null, null],
    ])
  })
})

describe('the kept state', () => {
  const folder = temporaryFolder('listen-state')

  test('is a file of mode 600 named by a hash of the key, and outlives a run', () => {
    const env = { XDG_STATE_HOME: folder }
    const first = new ListenState('hr_test_secret', env)
    expect(first.cursor).toBeNull()
    first.keep('c1')
    const second = new ListenState('hr_test_secret', env)
    expect([second.secret, second.cursor]).toEqual([first.secret, 'c1'])
    const files = readdirSync(join(folder, 'nightledger/listen'))
    expect(files).toHaveLength(1)
    expect(statSync(first.path).mode & 0o777).toBe(0o600)
    expect(files[0] + readFileSync(first.path, 'utf8')).not.toContain('hr_test_secret')
    expect(new ListenState('hr_test_other', env).secret).not.toBe(first.secret)
  })
})

describe('webhooks resend --since', () => {
  const part = (resent: number, remaining: number, after: string) => ({
    resend: { resent, remaining, until: 'U', after },
  })
  const run = async (parts: object[], stopAfter = Number.POSITIVE_INFINITY) => {
    const bodies: unknown[] = []
    const client = {
      send: async (_: string, __: string, body?: unknown) => {
        bodies.push(body)
        return parts[bodies.length - 1] as Record<string, unknown>
      },
    }
    const onPart = () => bodies.length >= stopAfter && stop.abort()
    const done = await resendParts(client, '/resend', { since: 'S' }, { stop: stop.signal, onPart })
    return { bodies, done }
  }
  const PARTS = [part(100, 150, 'd1'), part(100, 50, 'd2'), part(20, 0, 'd3')]

  test('goes on after the last delivery, up to the `until` of the first part, until nothing remains', async () => {
    const { bodies, done } = await run(PARTS)
    expect(bodies).toEqual([
      { since: 'S' },
      { since: 'S', until: 'U', after: 'd1' },
      { since: 'S', until: 'U', after: 'd2' },
    ])
    expect(done).toEqual({ resent: 220, remaining: 0, until: 'U', after: 'd3' })
  })

  test('stops between two parts, and knows where it would continue', async () => {
    const { bodies, done } = await run(PARTS, 2)
    expect([bodies.length, done]).toEqual([2, { resent: 200, remaining: 50, until: 'U', after: 'd2' }])
  })
})
