/** `bench` with the real service: what its document says, reads of an agency, and bookings in a sandbox, which are all cancelled. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BenchResult, OperationFigures } from '../../../src/cli/bench/figures.ts'
import { programFile } from '../../support/bundled-program.ts'
import { cliWith } from '../../support/cli-terminal.ts'
import { eventually } from '../../support/eventually.ts'
import { TEST_PORTAL_TOKEN } from '../../support/service-process.ts'
import { sectionOf, shellBlocksOf } from '../../support/shell-blocks.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { startTestService, type TestService } from '../../support/test-service.ts'

const SCOPES = ['read:units', 'read:availability', 'read:rates', 'read:bookings', 'write:bookings']
const folder = temporaryFolder('bench')

let service: TestService
let live: string
let sandbox: string
beforeAll(async () => {
  service = await startTestService()
  const agency = await service.agency({ slug: 'harbour' })
  for (const slug of ['sea-view', 'garden', 'attic', 'cellar']) await service.unit(agency, { slug, name: slug })
  live = (await service.key(agency)).secret
  await service.ask('/agencies/harbour/sandbox', undefined, { method: 'POST' })
  sandbox = (await service.ask('/agencies/harbour-sandbox/keys', { name: 'Bench', scopes: SCOPES })).body.secret
})
afterAll(() => service.close())

const SHORT = ['--duration', '1s', '--rate', '60', '--json']
const bench = async (key: string, ...args: string[]): Promise<BenchResult> => {
  const run = await cliWith({ NIGHTLEDGER_URL: service.url, NIGHTLEDGER_KEY: key })('bench', ...SHORT, ...args)
  expect([run.code, run.stderr]).toEqual([0, expect.stringContaining('Stop with Ctrl-C')])
  return run.json
}
const outcomesOf = ({ operations }: BenchResult) => [
  ...new Set(operations.flatMap(({ outcomes }: OperationFigures) => Object.keys(outcomes))),
]

/** The statuses of what runs have booked, without a request of the key's. */
async function booked(): Promise<string[]> {
  const { bookings } = (await service.get('/agencies/harbour-sandbox/bookings?pageSize=200')).body
  return bookings
    .filter(({ sourceRef }: { sourceRef: string | null }) => sourceRef?.startsWith('bench '))
    .map(({ status }: { status: string }) => status)
}

describe('nightledger bench', () => {
  test('reads what a website reads, and every answer is one', async () => {
    const result = await bench(live)
    expect(outcomesOf(result).filter((outcome) => !/^(200|422 MIN_STAY)$/.test(outcome))).toEqual([])
    expect(result.operations.map(({ operation }) => operation)).toEqual(['availability', 'quote', 'unit', 'search'])
    expect(result.total).toMatchObject({ failed: 0, measured: result.timeline.reduce((sum, { due }) => sum + due, 0) })
    expect(result).toMatchObject({ agency: 'harbour', isSandbox: false, end: null, cleanup: null, leftOut: [] })
    expect(result.floor.wire).toMatch(/^GET \/(healthz|partner\/v1\/me)$/)
  })

  test('books free stays in a sandbox, confirmed and held, and leaves none of them', async () => {
    const result = await bench(sandbox, '--mix', 'bookings')
    expect(outcomesOf(result).toSorted()).toEqual(['200', '201'])
    const { booked: made = 0, cancelled, left } = result.cleanup ?? {}
    expect(made).toBeGreaterThan(1)
    expect([cancelled, left]).toEqual([made, []])
    const statuses = await booked()
    expect([statuses.length, ...new Set(statuses)]).toEqual([made, 'cancelled'])
    expect(result).toMatchObject({ agency: 'harbour-sandbox', isSandbox: true, end: null })
  })

  test('interrupted, reports what was measured, and cancels what it has booked', async () => {
    const before = (await booked()).length
    const args = ['bench', '--duration', '5m', '--rate', '10', '--mix', 'bookings', '--json']
    const child = Bun.spawn([process.execPath, 'run', programFile(), ...args], {
      env: { PATH: process.env['PATH'] ?? '', NIGHTLEDGER_URL: service.url, NIGHTLEDGER_KEY: sandbox },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    await eventually('it books', async () => (await booked()).length > before)
    child.kill('SIGINT')
    const [code, stdout] = await Promise.all([child.exited, new Response(child.stdout).text()])
    const result: BenchResult = JSON.parse(stdout)
    expect([code, result.end?.reason, result.cleanup?.left]).toEqual([0, 'interrupted', []])
    expect(result.total.measured).toBeGreaterThan(0)
    expect(new Set(await booked())).toEqual(new Set(['cancelled']))
  })

  test('does what its section of the manual says', async () => {
    const section = sectionOf(readFileSync('docs/operating.md', 'utf8'), 'Load test your deployment')
    const env = { NIGHTLEDGER_URL: service.url, PORTAL_TOKEN: TEST_PORTAL_TOKEN }
    const keys: Record<string, string> = { reads: live, bookings: sandbox }
    for (const line of shellBlocksOf(section).flatMap(({ script }) => script.trim().split('\n'))) {
      // As it is written, but for a second, into the folder of the test, and with the key that the reader has exported.
      const short = line.replaceAll(/--duration \w+/g, '--duration 1s').replaceAll('--out ', `--out ${folder}/`)
      const [program, ...args] = short.split(' ')
      const key = keys[args[args.indexOf('--mix') + 1] ?? ''] ?? live
      const run = await cliWith({ ...env, NIGHTLEDGER_KEY: key })(...args)
      expect({ line, program, code: run.code, stderr: run.stderr }).toMatchObject({ program: 'nightledger', code: 0 })
      const [, out] = /--out (\S+)/.exec(line) ?? []
      if (out !== undefined) expect(existsSync(join(folder, out))).toBe(true)
    }
  })
})
