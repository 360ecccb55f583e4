/** `doctor` as a process, beside a service that serves, without it, and when the database is away. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { runCliProcess } from '../support/cli-process.ts'
import { FaultPostgres } from '../support/fault-postgres.ts'
import { freePort } from '../support/free-port.ts'
import { credentialsFor, startService } from '../support/service-process.ts'

let postgres: FaultPostgres
let env: Record<string, string>
beforeAll(async () => {
  postgres = await FaultPostgres.start()
  env = { ...credentialsFor(postgres.url), PORT: String(freePort()), ADMIN_PORT: String(freePort()) }
})
afterAll(() => postgres.stop())

const doctor = (...args: string[]) => runCliProcess(['doctor', ...args], { env })

interface Reported {
  readonly check: string
  readonly severity: string
  readonly found: string
}

function notFine(findings: readonly Reported[]): readonly string[] {
  return findings
    .filter(({ severity }) => !['ok', 'skipped'].includes(severity))
    .map(({ check, severity }) => `${check} ${severity}`)
}

test('all is well beside a service that serves; then it is killed, and then its database stopped', async () => {
  const service = await startService(env)
  const healthy = await doctor('--json')
  expect([healthy.code, healthy.stderr, notFine(healthy.json.findings)]).toEqual([0, '', []])
  expect(healthy.json).toMatchObject({ errors: 0, warnings: 0 })
  expect(healthy.json.findings).toContainEqual(
    expect.objectContaining({
      check: 'service',
      severity: 'ok',
      found: `The service at http://127.0.0.1:${env['ADMIN_PORT']} takes bookings.`,
    }),
  )

  service.kill('SIGKILL')
  await service.exited
  const killed = await doctor('--json')
  expect([killed.code, notFine(killed.json.findings)]).toEqual([1, ['writer error', 'service warning']])
  expect(killed.json.findings).toContainEqual(
    expect.objectContaining({
      check: 'writer',
      found: expect.stringMatching(/has 256 of 256 shards, but its process has ended/),
    }),
  )

  await postgres.shutDown()
  const broken = await doctor('--json')
  expect([broken.code, broken.stderr, notFine(broken.json.findings)]).toEqual([
    1,
    '1 error, 1 warning\n',
    ['database error', 'service warning'],
  ])

  const { stdout } = await doctor()
  const lines = stdout.split('\n')
  expect(lines[0]).toMatch(/^ok {6}configuration +\d+ variables are set, and all are valid\.$/)
  expect(lines[1]).toMatch(/^ERROR {3}database +Cannot reach the database/)
  expect(lines[2]).toMatch(/^ +-> Try `psql/)
  expect(stdout).toContain('\nskipped not checked: server-settings, connections,')
})
