import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { isAlive } from '../../src/lib/process-run.ts'
import { VerificationError } from '../../src/verify/findings.ts'
import {
  type FromVerifier,
  type ResidentUnits,
  RUN_VERIFICATION,
  type ToVerifier,
  VERIFICATION_MS_MAX,
  VerificationProcess,
} from '../../src/verify/verification-process.ts'
import { UNITS_PER_PAGE } from '../../src/verify/verify.ts'
import { eventually } from '../support/eventually.ts'
import { FakeClock } from '../support/fake-clock.ts'

const SCRIPT = join(import.meta.dir, 'support/scripted-verifier.ts')

const SETTINGS = { databaseUrl: 'postgres://x', secretKeyHex: '01'.repeat(32) }

/** A verification whose process follows the script `part`. */
function scripted(part: string, residentUnits: ResidentUnits = async () => []) {
  const clock = new FakeClock()
  const command = [process.execPath, SCRIPT, part]
  return { clock, verification: new VerificationProcess({ ...SETTINGS, command, residentUnits, clock }) }
}

/** Returns the outcome of a promise before the assertion: an assertion on a promise that never settles would hang. */
async function outcomeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch((error: unknown) => (error instanceof VerificationError ? error.kind : error))
}

const forever = () => new AbortController().signal

async function pidOf(verification: VerificationProcess): Promise<number> {
  await eventually('the process is there', () => verification.pid !== null)
  return verification.pid ?? 0
}

describe('a verification ends without a result, and the service continues', () => {
  test.each([
    ['its process ends', 'dies', 'ended'],
    ['its process cannot read the ledger', 'fails', 'failed'],
    ['its process meets a bug', 'breaks', 'broken'],
    ['the units in memory cannot be read', 'asks', 'failed'],
  ])('when %s', async (_, part, kind) => {
    const { verification } = scripted(part, () => Promise.reject(new Error('A worker has ended')))
    const pids = new Set<number>()
    for (let n = 0; n < 2; n++) {
      const outcome = outcomeOf(verification.verify(forever()))
      pids.add(verification.pid ?? 0)
      expect([await outcome, verification.pid]).toEqual([kind, null])
    }
    // A later caller gets a new process.
    expect([pids.size, pids.has(0)]).toEqual([2, false])
  })

  test('when its process cannot be started', async () => {
    const clock = new FakeClock()
    const command = [join(import.meta.dir, 'no-such-program')]
    const verification = new VerificationProcess({ ...SETTINGS, command, residentUnits: async () => [], clock })
    expect(await outcomeOf(verification.verify(forever()))).toBe('not_started')
    expect([verification.pid, clock.nextTimerIn]).toEqual([null, null])
  })

  test('when it takes too long; its process is killed', async () => {
    const { clock, verification } = scripted('hangs')
    const request = outcomeOf(verification.verify(forever()))
    const pid = await pidOf(verification)
    await clock.advance(VERIFICATION_MS_MAX)
    expect(await request).toBe('overdue')
    await eventually('it has ended', () => !isAlive(pid))
  })

  test('when the last caller is gone; its process is killed', async () => {
    const { verification } = scripted('hangs')
    const [first, second] = [new AbortController(), new AbortController()]
    const outcomes = [first, second].map(({ signal }) => outcomeOf(verification.verify(signal)))
    const pid = await pidOf(verification)
    first.abort()
    expect([verification.pid, isAlive(pid)]).toEqual([pid, true])
    second.abort()
    expect(await Promise.all(outcomes)).toEqual(['abandoned', 'abandoned'])
    await eventually('it has ended', () => !isAlive(pid))
  })
})

test('a caller that arrives during a verification shares its result; at most one page of states is sent at a time', async () => {
  const peeked: string[] = []
  const { verification } = scripted('asks', async (unitIds) => {
    peeked.push(...unitIds)
    return unitIds.map((unitId) => [unitId, { seq: 1, hash: 'h' }])
  })
  const [a, b] = await Promise.all([verification.verify(forever()), verification.verify(forever())])
  expect(a).toBe(b)
  // The script asks for a thousand states, and reports how many it received.
  expect([a.units, peeked.length]).toEqual([UNITS_PER_PAGE, UNITS_PER_PAGE])
})

describe('the verification process', () => {
  const MAIN = join(import.meta.dir, '../../src/main.ts')

  /** Its last message about a ledger at `databaseUrl`, and what it logs. */
  async function saidOf(databaseUrl: string): Promise<{ last: FromVerifier; stderr: string }> {
    const said = Promise.withResolvers<FromVerifier>()
    const child = Bun.spawn([process.execPath, MAIN, RUN_VERIFICATION], {
      stdio: ['ignore', 'ignore', 'pipe'],
      serialization: 'json',
      ipc: (message: FromVerifier) => {
        if (message.kind === 'up')
          child.send({ kind: 'start', settings: { ...SETTINGS, databaseUrl } } satisfies ToVerifier)
        else said.resolve(message)
      },
    })
    const last = await said.promise
    child.disconnect()
    return { last, stderr: await new Response(child.stderr).text() }
  }

  test('reports that the database did not answer, and logs nothing', async () => {
    const { last, stderr } = await saidOf('postgres://nobody@127.0.0.1:1/none')
    expect([last.kind, stderr]).toEqual(['failed', ''])
  })

  test('logs a bug with its stack, and does not blame the database', async () => {
    const { last, stderr } = await saidOf('no address')
    expect(last.kind).toBe('broken')
    expect(stderr).toStartWith('Cannot verify because of a bug:')
    expect(stderr).toContain('run-verification.ts')
  })
})
