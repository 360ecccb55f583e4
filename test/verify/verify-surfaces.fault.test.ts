import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { idOf } from '../../src/lib/ids.ts'
import { isAlive } from '../../src/lib/process-run.ts'
import { connect } from '../../src/postgres/client/connect.ts'
import { RUN_VERIFICATION } from '../../src/verify/verification-process.ts'
import { type CliRun, runCliProcess } from '../support/cli-process.ts'
import { eventually } from '../support/eventually.ts'
import { expectReady } from '../support/expect-ready.ts'
import { LOAD_AGENCY_IDS, LOAD_UNITS, Load, prepareForLoad } from '../support/load.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { type ServiceProcess, startServiceOn, TEST_PORTAL_TOKEN, TEST_SECRET_KEY } from '../support/service-process.ts'

let database: TestDatabase
let service: ServiceProcess
beforeAll(async () => {
  database = await testDatabase()
  await prepareForLoad(database.url)
  service = await startServiceOn(database.url)
  const load = new Load(() => service.baseUrl)
  for (let i = 0; i < 40; i++) await load.book()
})
afterAll(async () => {
  service.kill('SIGTERM')
  await service.exited
  await database.drop()
})

/** Runs the command line as a process and returns its output and exit code. */
function cli(...args: string[]): Promise<CliRun> {
  const env = { NIGHTLEDGER_URL: service.baseUrl, PORTAL_TOKEN: TEST_PORTAL_TOKEN }
  const alone = { DATABASE_URL: database.url, SECRET_KEY: TEST_SECRET_KEY }
  return runCliProcess(args, { env: { ...env, ...alone } })
}

test('GET /portal/v1/verification also compares the resident actors, and requires the portal token', async () => {
  const ask = (token: string) =>
    fetch(`${service.baseUrl}/portal/v1/verification`, { headers: { authorization: `Bearer ${token}` } })
  expect((await ask('hr_live_none')).status).toBe(401)
  const answer = await ask(TEST_PORTAL_TOKEN)
  expect(answer.status).toBe(200)
  const { verification } = (await answer.json()) as { verification: { units: number; differences: unknown[] } }
  expect(verification).toMatchObject({ units: LOAD_AGENCY_IDS.length * LOAD_UNITS, differences: [] })
})

/** The verification processes that the service `pid` has started. */
function verifiersOf(pid: number): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const [command, stat] = ['cmdline', 'stat'].map((file) => readFileSync(`/proc/${name}/${file}`, 'utf8'))
      const parent = Number(stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
      return parent === pid && command?.includes(RUN_VERIFICATION) && isAlive(Number(name)) ? [Number(name)] : []
    } catch {
      // The process has ended in the meantime.
      return []
    }
  })
}

describe.if(process.platform === 'linux')('while a verification runs', () => {
  /** A verification that blocks at its first read of deliveries, and the only process that runs it. */
  async function underWay(on: ServiceProcess, work: (verifier: number, answer: Promise<Response>) => Promise<void>) {
    const lock = connect(database.url, { purpose: 'admin' })
    const asking = new AbortController()
    try {
      await lock.unsafe('begin; lock table snapshot in access exclusive mode')
      const ask = () => {
        const asked = fetch(`${on.baseUrl}/portal/v1/verification`, {
          headers: { authorization: `Bearer ${TEST_PORTAL_TOKEN}` },
          signal: asking.signal,
        })
        // The test may end it deliberately. What is answered before has failed on a busy machine.
        asked.then(
          () => {
            isAnswered = true
          },
          () => {},
        )
        return asked
      }
      let isAnswered = false
      let answer = ask()
      await eventually('it waits for the lock', async () => {
        if (isAnswered) {
          isAnswered = false
          answer = ask()
        }
        return (await waiting()).length > 0
      })
      const verifiers = verifiersOf(on.pid)
      expect(verifiers).toHaveLength(1)
      await work(verifiers[0] ?? 0, answer)
    } finally {
      asking.abort()
      await lock.end({ timeout: 0 })
      // Until it has noticed, it would wait for the lock of the next test.
      await eventually(
        'nothing of the verification is left',
        async () => verifiersOf(on.pid).length === 0 && (await sessions()) === 0,
      )
    }
  }

  const sessions = async () => {
    const { count } = await database.sql`
      select from pg_stat_activity where datname = current_database() and application_name = 'nightledger verification'`
    return count
  }

  const waiting = () => database.sql<{ name: string }[]>`
    select application_name as "name" from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`

  test('uses no connection of the service, which keeps answering', async () => {
    await underWay(service, async () => {
      expect(await waiting()).toEqual([{ name: 'nightledger verification' }] as never)
      await expectReady(service)
    })
  })

  test('answers 500 when its process ends, and the service continues', async () => {
    await underWay(service, async (verifier, answer) => {
      process.kill(verifier, 'SIGKILL')
      const { status, body } = await answer.then(async (response) => ({
        status: response.status,
        body: (await response.json()) as Record<string, string>,
      }))
      expect([status, body['code'], body['title']]).toEqual([
        500,
        'INTERNAL',
        'The verification did not finish: its process ended. Try again',
      ])
    })
    expect((await cli('verify')).code).toBe(0)
  })

  test('ends its process with the request', async () => {
    let pid = 0
    await underWay(service, async (verifier) => {
      pid = verifier
    })
    await eventually('it has ended', () => !isAlive(pid))
  })

  test('ends when the service stops, without delaying it', async () => {
    const other = await startServiceOn(database.url, {}, { takesOver: true })
    try {
      await underWay(other, async (verifier, answer) => {
        other.kill('SIGTERM')
        const { status, body } = await answer.then(async (response) => ({
          status: response.status,
          body: (await response.json()) as Record<string, string>,
        }))
        expect([status, body['title']]).toEqual([
          500,
          'The verification was stopped: the client disconnected, or the service is shutting down. Try again',
        ])
        expect(await other.exited).toBe(0)
        expect(other.log()).not.toContain('requests cut off')
        await eventually('it has ended', () => !isAlive(verifier))
      })
    } finally {
      other.kill('SIGKILL')
      // The other one has fenced it.
      service.kill('SIGKILL')
      await service.exited
      service = await startServiceOn(database.url)
    }
  })

  test('has neither secrets nor the database password in the environment or arguments of its process', async () => {
    await underWay(service, async (verifier) => {
      const environment = readFileSync(`/proc/${verifier}/environ`, 'utf8')
      const all = environment + readFileSync(`/proc/${verifier}/cmdline`, 'utf8')
      expect(all).toContain(RUN_VERIFICATION)
      for (const secret of [TEST_PORTAL_TOKEN, TEST_SECRET_KEY, database.url, new URL(database.url).password]) {
        expect(all).not.toContain(secret)
      }
      expect(environment).not.toMatch(/PROXY|NODE_TLS_REJECT_UNAUTHORIZED|PORTAL_TOKEN|SECRET_KEY|DATABASE_URL/i)
    })
  })

  test('ends its process with the service, however the service ends', async () => {
    const other = await startServiceOn(database.url, {}, { takesOver: true })
    try {
      await underWay(other, async (verifier) => {
        other.kill('SIGKILL')
        await other.exited
        await eventually('it has ended', () => !isAlive(verifier))
      })
    } finally {
      other.kill('SIGKILL')
      // The other one has fenced it.
      service.kill('SIGKILL')
      await service.exited
      service = await startServiceOn(database.url)
    }
  })
})

test('the command reports success and exits with 0, also for the database alone', async () => {
  for (const args of [['verify'], ['verify', '--database']]) {
    const { code, stdout } = await cli(...args)
    expect(stdout).toContain('Everything agrees with the journal.')
    expect(code).toBe(0)
  }
})

test('the command reports a difference, as a table and as JSON, and exits with 1', async () => {
  const [damaged] = await database.sql<{ id: string }[]>`
    update booking set total_amount = total_amount + 1
    where booking_id = (select booking_id from booking order by 1 limit 1) returning booking_id as "id"`
  const at = idOf('bkg', damaged?.id ?? '')
  const { code, stdout, stderr } = await cli('verify')
  expect(code).toBe(1)
  expect(stdout).toContain(at)
  expect(stdout).toContain('totalAmount differ')
  expect(stderr).toContain('1 thing differs from the journal')
  const json = await cli('verify', '--json', '--database')
  expect(json.code).toBe(1)
  expect(json.json.verification.differences).toMatchObject([{ what: 'booking', at }])
})
