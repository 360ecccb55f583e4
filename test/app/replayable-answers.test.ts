import { beforeEach, describe, expect, test } from 'bun:test'
import { replayableAnswers } from '../../src/app/replayable-answers.ts'
import { type IdempotencyScope, NO_AGENCY } from '../../src/http/idempotent-writes.ts'
import { FENCED_SQLSTATE } from '../../src/postgres/client/database-error.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'
import { sampleId } from '../support/samples.ts'

const SCOPE: IdempotencyScope = { agencyId: sampleId('agc', 'a'), keyId: '', route: '', idempotencyKey: 'k' }
const KEPT = { requestHash: 'h', status: 201, body: '{}' }

let clock: FakeClock
let events: string[]
/** The batch in flight. */
let batch: PromiseWithResolvers<void>
/** Of the process, and of the database. */
let epoch: number
let epochInDatabase: number
let isKept: boolean

const find = (scope = SCOPE) =>
  replayableAnswers({
    clock,
    rows: {
      seen: async () => (isKept ? KEPT : null),
      confirmed: async (_, __, claimed) => {
        events.push(`read under ${claimed}`)
        if (claimed !== null && claimed !== epochInDatabase)
          throw Object.assign(new Error('fenced'), { code: FENCED_SQLSTATE })
        return KEPT
      },
    },
    journal: () => ({ epochOf: () => epoch, batchSettled: () => batch.promise }),
    findLost: async () => void events.push('looked for what is lost'),
  })(scope, 0)

beforeEach(() => {
  clock = new FakeClock()
  events = []
  batch = Promise.withResolvers()
  epoch = 7
  epochInDatabase = 7
  isKept = true
})

describe('I6: an answer', () => {
  test('that is not there is not waited for', async () => {
    isKept = false
    expect(await find()).toBeNull()
    expect(events).toEqual([])
  })

  test('that may be of the batch in flight is replayed when its outcome is known here, under the epoch that the shard then has', async () => {
    const found = find()
    await settle()
    expect(events).toEqual([])
    epoch = epochInDatabase = 8
    batch.resolve()
    expect(await found).toEqual(KEPT)
    expect(events).toEqual(['read under 8'])
  })

  test('is not waited for longer than 5 s: whether there is one stays unknown', async () => {
    const found = find().catch((error: Error) => error.name)
    await clock.advance(4_999)
    expect(await Promise.race([found, 'open'])).toBe('open')
    await clock.advance(1)
    expect(await found).toBe('DeadlineError')
  })

  test('of a shard that another process has taken over is not replayed, and this process looks for what it has lost first', async () => {
    batch.resolve()
    epochInDatabase = 8
    expect(await find().catch((error: Error) => error.message)).toBe('fenced')
    expect(events).toEqual(['read under 7', 'looked for what is lost'])
  })

  test('of a route that belongs to no agency is of no shard', async () => {
    expect(await find({ ...SCOPE, agencyId: NO_AGENCY })).toEqual(KEPT)
    expect(events).toEqual(['read under null'])
  })
})
