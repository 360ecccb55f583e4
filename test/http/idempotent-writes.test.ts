import { describe, expect, test } from 'bun:test'
import { AlreadyAnsweredError, WriteError } from '../../src/core/bookings/write-error.ts'
import { JournalError, type JournalErrorKind } from '../../src/core/journal/journal-error.ts'
import type { IdempotencyDraft } from '../../src/core/journal/record.ts'
import {
  type Answer,
  type Execution,
  hasNewKey,
  IdempotencyFullError,
  type IdempotentRequest,
  IdempotentWrites,
  type Keep,
  type KeepReturned,
  markNewKey,
} from '../../src/http/idempotent-writes.ts'
import { AssertionError } from '../../src/lib/assert.ts'
import { DAY_MS, HOUR_MS } from '../../src/lib/clock.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'
import { sampleId } from '../support/samples.ts'

const CREATED: Answer = { status: 201, body: '{"booking":{"id":"bkg_1"}}' }
const ANSWERED = { kind: 'answered' } as const
const REFUSED = { kind: 'refused', refusal: 'BOOKING_CONFLICT' } as const
type Executed = Execution<'BOOKING_CONFLICT'>

const REQUEST: IdempotentRequest = {
  agencyId: sampleId('agc', 'a'),
  keyId: sampleId('key', 'a'),
  route: 'POST /partner/v1/bookings',
  idempotencyKey: 'order 1',
  requestHash: 'hash 1',
}
const OTHER_BODY = { ...REQUEST, requestHash: 'hash 2' }

const OTHER_SCOPES: [string, Partial<IdempotentRequest>][] = [
  ['key', { keyId: sampleId('key', 'b') }],
  ['route', { route: 'POST /partner/v1/bookings/{id}/cancel' }],
  ['agency', { agencyId: sampleId('agc', 'b') }],
  ['idempotency key', { idempotencyKey: 'order 2' }],
]

/** The booking commands over answers kept in memory; the journal's part is played by `commit`. */
class Kept {
  readonly clock = new FakeClock()
  readonly rows: (IdempotencyDraft & { agencyId: string; createdAt: number })[] = []
  finds = 0
  /** What the next look-ups wait for. */
  access: Promise<void> = Promise.resolve()
  commands = this.restart()

  restart(openMax?: number, openPerAgencyMax?: number): IdempotentWrites {
    this.commands = new IdempotentWrites({
      clock: this.clock,
      find: async (scope, newerThan) => {
        this.finds += 1
        await this.access
        const row = this.rows.find(
          (row) =>
            row.agencyId === scope.agencyId &&
            row.keyId === scope.keyId &&
            row.route === scope.route &&
            row.idempotencyKey === scope.idempotencyKey &&
            row.createdAt > newerThan,
        )
        return row ?? null
      },
      ...(openMax === undefined ? {} : { openMax }),
      ...(openPerAgencyMax === undefined ? {} : { openPerAgencyMax }),
    })
    return this.commands
  }

  commit(draft: IdempotencyDraft, agencyId = sampleId('agc', 'a')): void {
    this.rows.push({ ...draft, agencyId, createdAt: this.clock.now() })
  }

  /** Answers like a booking that becomes durable together with its answer. */
  booking(answer: Answer = CREATED) {
    const made = { times: 0 }
    const execute = async (keep: Keep): Promise<Executed> => {
      made.times += 1
      const draft = keep(answer)
      await settle()
      this.commit(draft)
      return ANSWERED
    }
    return { made, execute }
  }
}

/** An execution that stays open until the test ends it. */
function heldExecution() {
  const { promise, resolve, reject } = Promise.withResolvers<Executed>()
  const calls: Keep[] = []
  const execute = (keep: Keep): Promise<Executed> => {
    calls.push(keep)
    return promise
  }
  return { calls, execute, resolve, reject }
}

const never = async (): Promise<Executed> => {
  throw new Error('executed')
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  )
}

test('I3: a key that was made for its request a moment ago is not looked up, and its answer is kept like any other', async () => {
  const kept = new Kept()
  expect(await kept.commands.run({ ...REQUEST, hasNewKey: true }, kept.booking().execute)).toMatchObject(ANSWERED)
  expect(kept.finds).toBe(0)
  expect(await kept.commands.run(REQUEST, never)).toEqual({ kind: 'replayed', answer: CREATED })
})

test('I3: the key of a request that was given up is not new any more: it may have been sent again', () => {
  const given = new AbortController()
  const request = new Request('http://a', { signal: given.signal })
  expect(hasNewKey(request)).toBe(false)
  markNewKey(request)
  expect(hasNewKey(request)).toBe(true)
  given.abort()
  expect(hasNewKey(request)).toBe(false)
})

test('I3: what another process may have executed since the look, because it had the agency meanwhile, is not executed', async () => {
  const kept = new Kept()
  let term = 1
  const commands = new IdempotentWrites({ clock: kept.clock, find: async () => null, termOf: () => term })
  const failure = await failureOf(
    commands.run(REQUEST, async (keep) => {
      // Lost, and got back.
      term += 2
      kept.commit(keep(CREATED))
      return ANSWERED
    }),
  )
  expect([failure, kept.rows]).toMatchObject([{ kind: 'not_owner' }, []])
  expect(await commands.run(REQUEST, kept.booking().execute)).toMatchObject(ANSWERED)
})

describe('a repeated request', () => {
  test('gets the first answer again, status and body, and nothing is done a second time', async () => {
    const kept = new Kept()
    const { made, execute } = kept.booking()
    expect(await kept.commands.run(REQUEST, execute)).toEqual({ kind: 'answered', answer: CREATED })
    expect(await kept.commands.run(REQUEST, execute)).toEqual({ kind: 'replayed', answer: CREATED })
    expect(made.times).toBe(1)
  })

  test('gets it from another process too', async () => {
    const kept = new Kept()
    await kept.commands.run(REQUEST, kept.booking().execute)
    expect(await kept.restart().run(REQUEST, never)).toEqual({ kind: 'replayed', answer: CREATED })
  })

  test('with another body is told that the key is used', async () => {
    const kept = new Kept()
    await kept.commands.run(REQUEST, kept.booking().execute)
    expect(await kept.commands.run(OTHER_BODY, never)).toEqual({ kind: 'reused' })
  })

  test('is answered again for 24 hours, and after them is a new one', async () => {
    const kept = new Kept()
    const { made, execute } = kept.booking()
    await kept.commands.run(REQUEST, execute)
    await kept.clock.advance(DAY_MS - 1)
    expect((await kept.commands.run(REQUEST, execute)).kind).toBe('replayed')
    await kept.clock.advance(1)
    expect((await kept.commands.run(OTHER_BODY, execute)).kind).toBe('answered')
    expect(made.times).toBe(2)
  })

  test('is answered again while the clock is set 30 hours forward, and after it was set back', async () => {
    const kept = new Kept()
    const { made, execute } = kept.booking()
    await kept.commands.run(REQUEST, execute)
    kept.clock.jumpWall(30 * HOUR_MS)
    expect((await kept.commands.run(REQUEST, execute)).kind).toBe('replayed')
    await kept.clock.advance(23 * HOUR_MS)
    expect((await kept.commands.run(REQUEST, execute)).kind).toBe('replayed')
    kept.clock.jumpWall(-30 * HOUR_MS)
    expect((await kept.commands.run(REQUEST, execute)).kind).toBe('replayed')
    await kept.clock.advance(HOUR_MS)
    expect((await kept.commands.run(OTHER_BODY, execute)).kind).toBe('answered')
    expect(made.times).toBe(2)
  })

  test.each(OTHER_SCOPES)('is another one under another %s', async (_, change) => {
    const kept = new Kept()
    const { made, execute } = kept.booking()
    await kept.commands.run(REQUEST, execute)
    expect((await kept.commands.run({ ...REQUEST, ...change }, execute)).kind).toBe('answered')
    expect(made.times).toBe(2)
  })
})

describe('a refused or failed request', () => {
  test('is executed again: a refusal is not kept', async () => {
    const kept = new Kept()
    expect(await kept.commands.run(REQUEST, async () => REFUSED)).toEqual(REFUSED)
    expect((await kept.commands.run(REQUEST, kept.booking().execute)).kind).toBe('answered')
  })

  test('throws what its execution threw, and leaves nothing behind', async () => {
    const kept = new Kept()
    const failure = new Error('the journal is full')
    expect(await failureOf(kept.commands.run(REQUEST, () => Promise.reject(failure)))).toBe(failure)
    expect(kept.commands.open).toBe(0)
    expect((await kept.commands.run(OTHER_BODY, kept.booking().execute)).kind).toBe('answered')
  })

  test('is not executed when the look-up fails; whether the key has an answer is then not known', async () => {
    const kept = new Kept()
    const failure = new Error('no database')
    kept.access = Promise.reject(failure)
    const { made, execute } = kept.booking()
    const thrown = await failureOf(kept.commands.run(REQUEST, execute))
    expect(thrown).toBeInstanceOf(JournalError)
    expect(thrown).toMatchObject({ kind: 'outcome_unknown', cause: failure })
    expect(made.times).toBe(0)
  })

  test('after one with an unknown outcome, is not told that nothing was changed', async () => {
    const kept = new Kept()
    const fail = (kind: JournalErrorKind) => () => Promise.reject(new JournalError(kind, 'x'))
    const reported = async (kind: JournalErrorKind) => failureOf(kept.commands.run(REQUEST, fail(kind)))
    expect(await reported('held_too_long')).toMatchObject({ kind: 'held_too_long' })
    expect(await reported('held_too_long')).toMatchObject({ kind: 'held_too_long' })
    expect(await reported('outcome_unknown')).toMatchObject({ kind: 'outcome_unknown' })
    expect(await reported('held_too_long')).toMatchObject({ kind: 'outcome_unknown', cause: { kind: 'held_too_long' } })
    const other = { ...REQUEST, idempotencyKey: 'order 3' }
    expect(await failureOf(kept.commands.run(other, fail('full')))).toMatchObject({ kind: 'full' })
  })

  test('whose outcome is unknown but which was written is found by the next one', async () => {
    const kept = new Kept()
    const lost = kept.commands.run(REQUEST, async (keep) => {
      kept.commit(keep(CREATED))
      throw new Error('outcome unknown')
    })
    const waiting = kept.commands.run(REQUEST, never)
    expect(await failureOf(lost)).toBeInstanceOf(Error)
    expect(await waiting).toEqual({ kind: 'replayed', answer: CREATED })
  })
})

describe('a request with an unknown outcome', () => {
  test('and which became durable while it was repeated is answered as made, not with the conflict it makes itself', async () => {
    const kept = new Kept()
    let commit = () => {}
    const lost = kept.commands.run(REQUEST, async (keep) => {
      const draft = keep(CREATED)
      commit = () => kept.commit(draft)
      throw new Error('outcome unknown')
    })
    expect(await lost.catch((error: Error) => error.message)).toBe('outcome unknown')
    const repeated = await kept.commands.run(REQUEST, async () => {
      // Ahead of us in the unit's mailbox the first one becomes durable, and takes the nights.
      commit()
      return REFUSED
    })
    expect(repeated).toEqual({ kind: 'replayed', answer: CREATED })
  })

  test.each([
    ['that were not executed, because the look-up failed', 'looked_up'],
    ['that were not written', 'held_too_long'],
    ['whose outcome is unknown too', 'outcome_unknown'],
  ] as const)('is still looked for again after thousands of requests of another agency %s', async (_, failed) => {
    const kept = new Kept()
    let commit = () => {}
    const lost = kept.commands.run(REQUEST, async (keep) => {
      const draft = keep(CREATED)
      commit = () => kept.commit(draft)
      throw new JournalError('outcome_unknown', 'x')
    })
    await failureOf(lost)
    if (failed === 'looked_up') kept.access = Promise.reject(new Error('no database'))
    const kind = failed === 'looked_up' ? 'full' : failed
    for (let i = 0; i < 5_000; i++) {
      const of = { ...REQUEST, agencyId: sampleId('agc', 'b'), idempotencyKey: `order ${i}` }
      await failureOf(kept.commands.run(of, () => Promise.reject(new JournalError(kind, 'x'))))
    }
    kept.access = Promise.resolve()
    const repeated = await kept.commands.run(REQUEST, async () => {
      commit()
      return REFUSED
    })
    expect(repeated).toEqual({ kind: 'replayed', answer: CREATED })
  })

  test('is looked for again although another agency has had thousands of them before', async () => {
    const kept = new Kept()
    const unknown = () => Promise.reject(new JournalError('outcome_unknown', 'x'))
    for (let i = 0; i < 4_096; i++) {
      const of = { ...REQUEST, agencyId: sampleId('agc', 'b'), idempotencyKey: `order ${i}` }
      await failureOf(kept.commands.run(of, unknown))
    }
    await failureOf(kept.commands.run(REQUEST, unknown))
    const full = () => Promise.reject(new JournalError('full', 'x'))
    expect(await failureOf(kept.commands.run(REQUEST, full))).toMatchObject({ kind: 'outcome_unknown' })
  })

  test('is forgotten once it is answered', async () => {
    const kept = new Kept()
    await failureOf(kept.commands.run(REQUEST, () => Promise.reject(new JournalError('outcome_unknown', 'x'))))
    expect((await kept.commands.run(REQUEST, kept.booking().execute)).kind).toBe('answered')
    kept.rows.length = 0
    const full = () => Promise.reject(new JournalError('full', 'x'))
    expect(await failureOf(kept.commands.run(REQUEST, full))).toMatchObject({ kind: 'full' })
  })

  test('and which was never made is refused as what it is', async () => {
    const kept = new Kept()
    const failing = kept.commands.run(REQUEST, () => Promise.reject(new Error('outcome unknown')))
    await failing.catch(() => null)
    expect(await kept.commands.run(REQUEST, async () => REFUSED)).toEqual(REFUSED)
  })

  test('a refusal in a scope without doubt costs no second look', async () => {
    const kept = new Kept()
    await kept.commands.run(REQUEST, async () => REFUSED)
    expect(kept.finds).toBe(1)
  })
})

describe('two at once', () => {
  test('are one execution: the second waits for the first and gets its answer', async () => {
    const kept = new Kept()
    const first = heldExecution()
    const one = kept.commands.run(REQUEST, first.execute)
    const others = Array.from({ length: 20 }, () => kept.commands.run(REQUEST, never))
    await settle()
    expect(kept.finds).toBe(1)
    first.calls[0]?.(CREATED)
    first.resolve(ANSWERED)
    expect(await one).toEqual({ kind: 'answered', answer: CREATED })
    expect(await Promise.all(others)).toEqual(others.map(() => ({ kind: 'replayed', answer: CREATED })))
  })

  test.each(OTHER_SCOPES)('under another %s do not wait for one another', async (_, change) => {
    const kept = new Kept()
    const first = heldExecution()
    const one = kept.commands.run(REQUEST, first.execute)
    expect((await kept.commands.run({ ...REQUEST, ...change }, kept.booking().execute)).kind).toBe('answered')
    first.resolve(REFUSED)
    await one
  })

  test('with different bodies: the second is told at once that the key is used', async () => {
    const kept = new Kept()
    const first = heldExecution()
    const one = kept.commands.run(REQUEST, first.execute)
    await settle()
    expect(await kept.commands.run(OTHER_BODY, never)).toEqual({ kind: 'reused' })
    first.resolve(REFUSED)
    await one
  })

  test('with different bodies, and the key belongs to the second: the second gets its answer, the first is told', async () => {
    const kept = new Kept()
    await kept.commands.run(REQUEST, kept.booking().execute)
    const looking = Promise.withResolvers<void>()
    kept.restart()
    kept.access = looking.promise
    const wrong = kept.commands.run(OTHER_BODY, never)
    const right = kept.commands.run(REQUEST, never)
    await settle()
    looking.resolve()
    expect(await wrong).toEqual({ kind: 'reused' })
    expect(await right).toEqual({ kind: 'replayed', answer: CREATED })
  })

  test.each<[string, (first: ReturnType<typeof heldExecution>) => void]>([
    ['refused', (first) => first.resolve(REFUSED)],
    ['failed', (first) => first.reject(new Error('held too long'))],
  ])('and the first is %s: of those who wait one executes, the rest get its answer', async (_, end) => {
    const kept = new Kept()
    const first = heldExecution()
    const one = failureOf(kept.commands.run(REQUEST, first.execute))
    const { made, execute } = kept.booking()
    const others = Array.from({ length: 5 }, () => kept.commands.run(REQUEST, execute))
    await settle()
    expect(made.times).toBe(0)
    end(first)
    await one
    const kinds = (await Promise.all(others)).map(({ kind }) => kind)
    expect(kinds.sort()).toEqual(['answered', 'replayed', 'replayed', 'replayed', 'replayed'])
    expect(made.times).toBe(1)
  })
})

describe('bounds and bugs', () => {
  test('a request beyond the limit of open ones is refused at once, and accepted when there is room again', async () => {
    const kept = new Kept()
    const commands = kept.restart(2)
    const first = heldExecution()
    const open = [commands.run(REQUEST, first.execute), commands.run(REQUEST, first.execute)]
    expect(await failureOf(commands.run({ ...REQUEST, idempotencyKey: 'order 2' }, never))).toBeInstanceOf(
      IdempotencyFullError,
    )
    first.resolve(REFUSED)
    await Promise.all(open)
    expect(commands.open).toBe(0)
    expect((await commands.run(REQUEST, kept.booking().execute)).kind).toBe('answered')
  })

  test('A1: an agency has half of them at most, and another still has its own', async () => {
    const kept = new Kept()
    const commands = kept.restart(4, 2)
    const first = heldExecution()
    const open = [commands.run(REQUEST, first.execute), commands.run(REQUEST, first.execute)]
    expect(await failureOf(commands.run({ ...REQUEST, idempotencyKey: 'order 2' }, never))).toBeInstanceOf(
      IdempotencyFullError,
    )
    const other = { ...REQUEST, agencyId: sampleId('agc', 'b') }
    expect((await commands.run(other, kept.booking().execute)).kind).toBe('answered')
    first.resolve(REFUSED)
    await Promise.all(open)
    expect((await commands.run({ ...REQUEST, idempotencyKey: 'order 3' }, kept.booking().execute)).kind).toBe(
      'answered',
    )
  })

  test('an answer that was not given away to be kept is a bug', async () => {
    const kept = new Kept()
    expect(await failureOf(kept.commands.run(REQUEST, async () => ANSWERED))).toBeInstanceOf(AssertionError)
  })

  test('so is a second answer in addition to the stored one', async () => {
    const kept = new Kept()
    const twice = async (keep: Keep) => {
      keep(CREATED)
      keep({ status: 201, body: '{}' })
      return ANSWERED
    }
    expect(await failureOf(kept.commands.run(REQUEST, twice))).toBeInstanceOf(AssertionError)
  })

  test.each([409, 400, 500, 302])('so is keeping an answer with status %d', async (status) => {
    const kept = new Kept()
    const keepRefusal = async (keep: Keep) => {
      kept.commit(keep({ status, body: '{}' }))
      return REFUSED
    }
    expect(await failureOf(kept.commands.run(REQUEST, keepRefusal))).toBeInstanceOf(AssertionError)
    expect(kept.rows).toEqual([])
  })
})

describe('a change outside the journal', () => {
  test('that an earlier attempt of unknown outcome has made meanwhile is answered as then', async () => {
    const kept = new Kept()
    const lost = new WriteError('unknown', 'the reply was lost')
    let draft: IdempotencyDraft | null = null
    const first = kept.commands.run(REQUEST, async (keep) => {
      draft = keep(CREATED)
      throw lost
    })
    expect(await failureOf(first)).toBe(lost)
    // Still being written when the second one looks for an answer; the second one's statement waits for it.
    const second = await kept.commands.run(REQUEST, async (keep) => {
      keep({ status: 201, body: 'a second one' })
      if (draft !== null) kept.commit(draft)
      throw new AlreadyAnsweredError({ cause: null })
    })
    expect(second).toEqual({ kind: 'replayed', answer: CREATED })
  })

  test('follows an unknown outcome: what fails next is not known to have changed nothing', async () => {
    const kept = new Kept()
    await failureOf(kept.commands.run(REQUEST, async () => Promise.reject(new WriteError('unknown', 'x'))))
    const next = await failureOf(
      kept.commands.run(REQUEST, async () => Promise.reject(new WriteError('not_written', 'x'))),
    )
    expect(next).toMatchObject({ kind: 'outcome_unknown' })
  })

  test('whose answer only the database has is looked up for those who wait for it', async () => {
    const kept = new Kept()
    const row = { status: 200, body: 'as the database has it' }
    const execute = async (_: Keep, keepReturned: KeepReturned): Promise<Executed> => {
      const draft = keepReturned(200)
      await settle()
      kept.commit({ ...draft, body: row.body })
      return ANSWERED
    }
    const outcomes = await Promise.all([1, 2, 3].map(() => kept.commands.run(REQUEST, execute)))
    expect(outcomes).toEqual([
      { kind: 'answered', answer: null },
      { kind: 'replayed', answer: row },
      { kind: 'replayed', answer: row },
    ])
  })
})
