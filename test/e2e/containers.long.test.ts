import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../../package.json'
import { copyOfRepository, Engine, whyNoEngine } from '../support/containers/engine.ts'
import { agencyOf, startRequests } from '../support/containers/requests.ts'
import { readStages } from '../support/dockerfile.ts'
import { eventually } from '../support/eventually.ts'
import { sectionOf, shellBlocksOf } from '../support/shell-blocks.ts'

/*
 * The image and compose.yaml, built and run by a real engine with the commands of docs/operating.md, in the order in which an operator
 * meets them. The base images are stand-ins, because no image registry is reached; and docker-compose 1.29 stands in for Compose v2.
 */

const [MAKE_SECRETS, UP, START_SECOND, ROLL] = shellBlocksOf(
  sectionOf(readFileSync('docs/operating.md', 'utf8'), 'With containers'),
).map(({ script }) => script) as [string, string, string, string]
/** In compose.yaml. */
const SERVICE_ADDRESS = '172.30.91.11'
const IMAGE = `nightledger:${version}`
const NEXT_VERSION = `${version}-next`
const MB = 2 ** 20

const obstacle = whyNoEngine()
if (obstacle !== null) console.log(`No container is run here: ${obstacle}`)

describe.skipIf(obstacle !== null)('the containers', () => {
  let engine: Engine
  let folder: string
  let key: string
  beforeAll(async () => {
    engine = await Engine.start()
    folder = copyOfRepository()
  }, 1_800_000)
  afterAll(async () => {
    await engine?.stop()
    rmSync(folder, { recursive: true, force: true })
  }, 120_000)

  const run = (script: string, env: Record<string, string> = {}) => engine.run(script, { cwd: folder, env })
  const inspect = (name: string, format: string) => run(`docker inspect --format '${format}' ${name}`)
  const container = (service: string) => run(`COMPOSE_PROFILES=rolling docker compose ps --quiet ${service}`)
  /** Without a restart of the container. */
  const untilHealth = (id: string, health: 'healthy' | 'unhealthy') =>
    eventually(
      `the container is ${health}`,
      async () => {
        await Bun.sleep(500)
        return (await inspect(id, '{{.State.Health.Status}} {{.RestartCount}}')) === `${health} 0`
      },
      180_000,
    )
  const sql = (statement: string) =>
    run(`docker compose exec postgres psql --username=nightledger --no-align --tuples-only --command="${statement}"`)
  const bookings = async () => Number(await sql('select count(*) from booking'))
  const pathsIn = async (image: string) =>
    new Set(
      (await run(`id=$(docker create ${image} none); docker export $id | tar --list; docker rm $id >/dev/null`)).split(
        '\n',
      ),
    )

  test('the base images are stand-ins, and the steps on top of them are the Dockerfile’s', async () => {
    for (const { base } of readStages('Dockerfile'))
      expect(await inspect(base, '{{index .Config.Labels "stand-in"}}')).toMatch(/^[0-9a-f]{12}$/)
  })

  test('the commands of the document build the image, migrate, and start a service that is healthy', async () => {
    await run(MAKE_SECRETS)
    const since = performance.now()
    expect(await run(UP)).toMatch(/"status":"ready"[\s\S]*None\.$/)
    const seconds = (performance.now() - since) / 1_000
    const size = Number(await inspect('nightledger:1.0.0', '{{.Size}}'))
    console.log(
      `The image has ${(size / 1e6).toFixed(0)} MB; built, migrated and healthy after ${seconds.toFixed(0)} s`,
    )
    expect(await inspect(await container('nightledger'), '{{.State.Health.Status}}')).toBe('healthy')
  }, 1_800_000)

  test('the image adds one file to its base: the binary. It has no other program, and no source', async () => {
    const [base, image] = await Promise.all([
      pathsIn(readStages('Dockerfile').at(-1)?.base ?? ''),
      pathsIn('nightledger:1.0.0'),
    ])
    expect([...image].filter((path) => !base.has(path) && !path.endsWith('/'))).toEqual(['usr/local/bin/nightledger'])
    expect([...image].filter((path) => /(^|\/)s?bin\/./.test(path) && !path.endsWith('/'))).toEqual([
      'usr/local/bin/nightledger',
    ])
    expect([...image].filter((path) => /\.(ts|js|sql|json)$|node_modules/.test(path))).toEqual([])
  })

  test('the process runs as an ordinary user without capabilities, which it cannot gain, on a read-only root', async () => {
    const id = await container('nightledger')
    const status = readFileSync(`/proc/${await inspect(id, '{{.State.Pid}}')}/status`, 'utf8')
    expect(status).toContain('Uid:\t65532\t65532\t65532\t65532')
    for (const set of ['Inh', 'Prm', 'Eff', 'Bnd', 'Amb']) expect(status).toMatch(new RegExp(`^Cap${set}:\t0+$`, 'm'))
    expect(status).toContain('NoNewPrivs:\t1')
    expect(status).toContain('Seccomp:\t2')
    const mounts = readFileSync(`/proc/${await inspect(id, '{{.State.Pid}}')}/mounts`, 'utf8')
    expect(mounts).toMatch(/^overlay \/ overlay ro,/m)
  })

  test('the service owns nothing, and its role makes the months ahead', async () => {
    expect(readFileSync(join(folder, 'secrets/nightledger.env'), 'utf8')).toContain('//nightledger_service:')
    expect(await sql("select count(*) from pg_class where relowner = 'nightledger_service'::regrole")).toBe('0')
    const until = "(now() at time zone 'UTC' + interval '7 months')::date"
    const made = await sql(
      `set role nightledger_service; select ensure_months(${until}) = date_trunc('month', ${until})`,
    )
    expect(made).toBe('SET\nt')
  })

  test('in 256 MB it answers every request of forty partners, and a verification besides', async () => {
    const portalToken = /^PORTAL_TOKEN=(.*)$/m.exec(readFileSync(join(folder, 'secrets/nightledger.env'), 'utf8'))?.[1]
    key = await agencyOf('http://127.0.0.1:3000', { portalToken: portalToken ?? '' })
    const id = await container('nightledger')
    const since = performance.now()
    const { ended, answered } = startRequests({ port: 3000, key, count: 8_000 })
    await eventually('the load has begun', () => answered() > 1_000, 300_000)
    await run('docker compose exec nightledger nightledger verify')
    const { statuses, lost, refused } = await ended
    const { peak, kills } = await engine.memory(id)
    const seconds = (performance.now() - since) / 1_000
    console.log(`8,000 requests in ${seconds.toFixed(0)} s, at most ${(peak / MB).toFixed(0)} MB`)
    expect({ lost, refused, kills }).toEqual({ lost: [], refused: 0, kills: 0 })
    expect([...statuses.keys()].toSorted()).toEqual([200, 201, 409])
    expect(await inspect(id, '{{.HostConfig.Memory}} {{.State.OOMKilled}} {{.RestartCount}}')).toBe(
      `${256 * MB} false 0`,
    )
    expect(await bookings()).toBe(statuses.get(201) ?? 0)
  }, 1_200_000)

  test('it is unhealthy while PostgreSQL is stopped, and healthy again without a restart', async () => {
    const id = await container('nightledger')
    await run('docker compose stop postgres')
    await untilHealth(id, 'unhealthy')
    await run('docker compose start postgres')
    await untilHealth(id, 'healthy')
  }, 400_000)

  test('stopped under load, it answers every request that has reached it and exits with 0; started again, it has every booking', async () => {
    const id = await container('nightledger')
    const before = await bookings()
    // Not through the published port: docker-proxy accepts connections even when nobody is behind it.
    const { ended, answered } = startRequests({ host: SERVICE_ADDRESS, port: 3000, key, count: 20_000 })
    await eventually('the load has begun', () => answered() > 1_000, 300_000)
    await run('docker compose stop nightledger')
    const { statuses, lost } = await ended
    expect({ lost, refused: [...statuses.keys()].filter((status) => status >= 500) }).toEqual({ lost: [], refused: [] })
    expect(await inspect(id, '{{.State.ExitCode}}')).toBe('0')
    await run('docker compose start nightledger')
    await untilHealth(id, 'healthy')
    expect(await bookings()).toBe(before + (statuses.get(201) ?? 0))
    const log = (await run(`docker logs ${id} 2>&1`)).split('\n')
    const at = (message: string) => Date.parse(JSON.parse(log.findLast((line) => line.includes(message)) ?? '').time)
    const drainMs = at('"stopped"') - at('"draining"')
    const readyMs = at('"listening"') - Date.parse(await inspect(id, '{{.State.StartedAt}}'))
    console.log(`Stopped under load in ${drainMs} ms; ready ${readyMs} ms after the start of the container`)
  }, 600_000)

  test('with WORKERS=2, two processes share the work, and their sockets are in memory', async () => {
    appendFileSync(join(folder, 'secrets/nightledger.env'), 'WORKERS=2\n')
    await run('docker compose up --detach --wait', { NIGHTLEDGER_MEMORY: '512m' })
    const id = await container('nightledger')
    const root = `/proc/${await inspect(id, '{{.State.Pid}}')}/root`
    expect(await run(`find ${root}/run/nightledger -type s | wc -l`)).not.toBe('0')
    const { ended } = startRequests({ port: 3000, key, count: 3_000 })
    const { statuses, lost } = await ended
    expect([lost, [...statuses.keys()].toSorted()]).toEqual([[], [200, 201, 409]])
    const { peak, kills } = await engine.memory(id)
    expect(kills).toBe(0)
    console.log(`Two workers: 3,000 requests, at most ${(peak / MB).toFixed(0)} MB`)
    const secrets = join(folder, 'secrets/nightledger.env')
    writeFileSync(secrets, readFileSync(secrets, 'utf8').replace('WORKERS=2\n', ''))
  }, 600_000)

  test('a new version with a migration replaces the old one behind HAProxy; no request fails, and the data are there', async () => {
    await run(START_SECOND)
    const isAnswered = () =>
      fetch('http://127.0.0.1:8080/docs').then(
        ({ ok }) => ok,
        () => false,
      )
    await eventually('HAProxy has a writer', isAnswered, 120_000)
    const before = await bookings()
    makeNewVersion(folder)
    // Its layers, so that the load is there while containers are replaced, not while the image is built.
    await run('docker compose run --build --rm migrate --version')
    const { stop, answered } = startRequests({ port: 8080, key, count: 60_000 })
    await eventually('the load has begun', () => answered() > 500, 300_000)
    expect(await run(ROLL)).toContain(NEXT_VERSION)
    const { statuses, lost, refused } = await stop()
    console.log(`Rolled out under ${answered()} requests: ${JSON.stringify([...statuses])}`)
    expect({ lost, refused }).toEqual({ lost: [], refused: 0 })
    expect([...statuses.keys()].toSorted()).toEqual([200, 201, 409])
    expect(await bookings()).toBe(before + (statuses.get(201) ?? 0))
    expect(await sql('select count(*) from upgrade_note')).toBe('0')
    for (const service of ['nightledger', 'standby'])
      expect(await inspect(await container(service), '{{.Config.Image}}')).toBe(`nightledger:${NEXT_VERSION}`)
    await run('docker compose exec nightledger nightledger verify || docker compose exec standby nightledger verify', {
      COMPOSE_PROFILES: 'rolling',
    })
  }, 1_800_000)
})

/** Another number, and a migration. */
function makeNewVersion(folder: string): void {
  const edit = (path: string, from: string, to: string) => {
    const text = readFileSync(join(folder, path), 'utf8')
    const changed = text.replaceAll(from, to)
    if (changed === text) throw new Error(`Cannot change ${path}: it has no ${from}`)
    writeFileSync(join(folder, path), changed)
  }
  edit('package.json', `"version": "${version}"`, `"version": "${NEXT_VERSION}"`)
  edit('src/lib/version.ts', `'${version}'`, `'${NEXT_VERSION}'`)
  edit('compose.yaml', IMAGE, `nightledger:${NEXT_VERSION}`)
  writeFileSync(join(folder, 'sql/002_upgrade_note.sql'), 'create table upgrade_note (id integer);\n')
  edit(
    'src/postgres/schema/migrations.ts',
    'import schema',
    "import note from '../../../sql/002_upgrade_note.sql' with { type: 'text' }\nimport schema",
  )
  edit(
    'src/postgres/schema/migrations.ts',
    'runsFrom: 1 }]',
    "runsFrom: 1 }, { version: 2, name: 'upgrade_note', sql: note, runsFrom: 1 }]",
  )
}
