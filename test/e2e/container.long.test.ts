import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { validate } from 'dockerfile-utils'
import { parse } from 'yaml'
import { readConfig } from '../../src/app/config.ts'
import { buildScript, fillRoot, runCommand, whyNoContainers } from '../support/container-root.ts'
import { environmentOf, lastStep, readStages, type Stage } from '../support/dockerfile.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { Load, prepareForLoad } from '../support/load.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { credentialsFor, startService, TEST_PORTAL_TOKEN, TEST_SECRET_KEY } from '../support/service-process.ts'

const stages = readStages('Dockerfile')
const build = stages[0] as Stage
const final = stages.at(-1) as Stage
const ignored = readFileSync('.dockerignore', 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))

describe('the Dockerfile', () => {
  test('has nothing that the linter minds', () => {
    expect(validate(readFileSync('Dockerfile', 'utf8')).map(({ message }) => message)).toEqual([])
  })

  test('names a version of each base, runs as an ordinary user, and needs no shell at run time', () => {
    expect(stages).toHaveLength(2)
    for (const { base } of stages) expect(base).toMatch(/:(?!latest)[\w.-]+$/)
    for (const stage of stages) expect(lastStep(stage, 'USER')?.text).toMatch(/^(node|nonroot)$/)
    expect(final.steps.filter(({ keyword }) => keyword === 'RUN')).toEqual([])
    const healthcheck = lastStep(final, 'HEALTHCHECK')
    expect(healthcheck?.list).toEqual(['/usr/local/bin/nightledger', 'health'])
    expect(lastStep(final, 'ENTRYPOINT')?.list).toEqual(['/usr/local/bin/nightledger'])
    // The binary and nothing else.
    expect(final.steps.filter(({ keyword }) => keyword === 'COPY')).toHaveLength(1)
  })

  test('compiles with the Bun of the lock file, on the Node that the package asks for', () => {
    const { engines } = JSON.parse(readFileSync('package.json', 'utf8'))
    const [, major] = /^node:(\d+)\./.exec(build.base) ?? []
    expect(engines.node).toBe(`>=${major}`)
  })

  test('sets what config.ts reads', () => {
    const environment = environmentOf(final)
    const given = { DATABASE_URL: 'postgres://a:b@c/d', PORTAL_TOKEN: TEST_PORTAL_TOKEN, SECRET_KEY: TEST_SECRET_KEY }
    expect(readConfig({ ...environment, ...given })).toMatchObject({
      environment: 'production',
      host: '0.0.0.0',
      port: 3000,
    })
    expect(lastStep(final, 'EXPOSE')?.text).toBe(environment['PORT'] as string)
  })

  test('is given what it copies, and nothing else', () => {
    const copied = build.steps
      .filter(({ keyword }) => keyword === 'COPY')
      .flatMap(({ text }) => text.split(/\s+/).slice(0, -1))
    expect(ignored[0]).toBe('*')
    expect(ignored.slice(1).toSorted()).toEqual(copied.map((path) => `!${path}`).toSorted())
    for (const path of copied) expect([path, existsSync(path)]).toEqual([path, true])
  })
})

describe('compose.yaml', () => {
  const { services, volumes, networks, secrets } = parse(readFileSync('compose.yaml', 'utf8'))
  const { migrate, nightledger, postgres } = services

  test('refuses to start without secrets, and has none in it', () => {
    expect(nightledger.env_file).toEqual(['secrets/nightledger.env'])
    expect([migrate.env_file, postgres.env_file]).toEqual([['secrets/migration.env'], ['secrets/postgres.env']])
    expect(secrets['postgres-password'].file).toBe('secrets/postgres-password')
    expect(postgres.environment.POSTGRES_PASSWORD_FILE).toBe('/run/secrets/postgres-password')
    const text = readFileSync('compose.yaml', 'utf8')
    expect(text).not.toMatch(/POSTGRES_PASSWORD:|PORTAL_TOKEN:|SECRET_KEY:|DATABASE_URL:/)
    expect(readFileSync('.gitignore', 'utf8').split('\n')).toContain('secrets/')
  })

  test('gives the service a read-only root, no rights, and longer than its 10 s to drain', () => {
    expect(nightledger).toMatchObject({ read_only: true, cap_drop: ['ALL'] })
    expect(nightledger.security_opt).toEqual(['no-new-privileges:true'])
    expect(Number.parseInt(nightledger.stop_grace_period, 10)).toBeGreaterThan(10)
    expect(nightledger.user ?? 'nonroot').not.toMatch(/^(0|root)/)
  })

  test('migrates on demand, as the owner, whose password the service does not get', () => {
    expect(migrate).toMatchObject({ profiles: ['migrate'], command: ['migrate'], networks: ['database'] })
    expect(migrate.depends_on).toEqual(nightledger.depends_on)
    expect(nightledger.secrets).toBeUndefined()
  })

  test('starts the service when the database is healthy, keeps its data, and opens it to nobody else', () => {
    expect(nightledger.depends_on).toEqual({ postgres: { condition: 'service_healthy' } })
    expect(postgres.healthcheck.test).toContain('pg_isready')
    expect(postgres.volumes).toEqual([
      'postgres:/var/lib/postgresql',
      './docs/operating/roles.sql:/docker-entrypoint-initdb.d/roles.sql:ro',
    ])
    expect(existsSync('docs/operating/roles.sql')).toBe(true)
    expect(volumes).toHaveProperty('postgres')
    expect(postgres.ports).toBeUndefined()
    expect(postgres.networks).toEqual(['database'])
    expect(networks.database.internal).toBe(true)
    expect(nightledger.networks).toContain('database')
    expect(Number(/^postgres:(\d+)/.exec(postgres.image)?.[1])).toBeGreaterThanOrEqual(15)
  })

  test('names the image by the version of the package', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    expect([nightledger.image, migrate.image]).toEqual([`nightledger:${version}`, `nightledger:${version}`])
  })

  test('names only variables that config.ts reads', () => {
    const given = { DATABASE_URL: 'postgres://a:b@c/d', PORTAL_TOKEN: TEST_PORTAL_TOKEN, SECRET_KEY: TEST_SECRET_KEY }
    expect(readConfig({ ...environmentOf(final), ...nightledger.environment, ...given }).logLevel).toBe('info')
  })
})

const obstacle = whyNoContainers()
if (obstacle !== null) console.log(`The Dockerfile's steps are not carried out here: ${obstacle}`)

describe.skipIf(obstacle !== null)('the steps of the Dockerfile', () => {
  let folder: string
  let database: TestDatabase
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightledger-container-'))
    database = await testDatabase()
    await prepareForLoad(database.url)
  })
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true })
    await database.drop()
  })

  test('make the binary in a clean folder as an ordinary user; it serves alone, from a read-only root, as nobody in particular', async () => {
    const [context, home, root] = ['context', 'home', 'root'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ]
    for (const path of [context, home, root]) mkdirSync(path)
    for (const path of ignored.slice(1)) cpSync(path.slice(1), join(context, path.slice(1)), { recursive: true })
    const cache = join(folder, 'npm-cache')
    // What npm has fetched once need not be fetched again.
    const ownCache = join(homedir(), '.npm/_cacache')
    if (existsSync(ownCache)) cpSync(ownCache, join(cache, '_cacache'), { recursive: true })
    else mkdirSync(cache)
    Bun.spawnSync(['chown', '-R', '1000:1000', cache])
    Bun.spawnSync(['chmod', '711', folder])
    const building = Bun.spawn(['unshare', '--mount', 'sh', '-c', buildScript(build, { home, context })], {
      env: { ...withoutNpm(process.env), npm_config_cache: cache, npm_config_prefer_offline: 'true' },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [, stderr] = await Promise.all([building.stdout.text(), building.stderr.text()])
    expect({ code: await building.exited, stderr: stderr.match(/^npm error.*|.*cannot.*/gim) ?? [] }).toEqual({
      code: 0,
      stderr: [],
    })

    fillRoot(root, final, (path) => path.replace(/^\/home/, home))
    const env = {
      ...credentialsFor(database.url),
      PORT: String(freePort()),
    }
    const entry = [...(lastStep(final, 'ENTRYPOINT')?.list ?? []), ...(lastStep(final, 'CMD')?.list ?? [])]
    const probe = lastStep(final, 'HEALTHCHECK')?.list ?? []
    const health = () => Bun.spawn(runCommand(root, final, probe, env), { stdout: 'pipe', stderr: 'pipe' })
    expect(await health().exited).toBe(4)
    const service = await startService({}, { command: runCommand(root, final, entry, env) })
    expect(readFileSync(`/proc/${service.pid}/status`, 'utf8')).toContain('Uid:\t65532\t65532\t65532\t65532')
    expect(await new Load(() => service.baseUrl).book()).toStartWith('bkg_')
    const healthy = health()
    expect([await healthy.exited, await healthy.stdout.text()]).toEqual([
      0,
      expect.stringContaining('"status":"ready"'),
    ])
    await eventually('the webhook sender is up', () => service.log().includes('webhook sender up'))
    service.kill('SIGTERM')
    expect(await service.exited).toBe(0)
  }, 180_000)
})

/** What an npm that runs us has left in the environment would be taken for the user's own settings. */
function withoutNpm(env: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !/^npm_|^INIT_CWD$/i.test(entry[0]),
    ),
  )
}
