import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../../src/app/config.ts'
import { openDatabase } from '../../../src/app/open-database.ts'
import { isAlive } from '../../../src/lib/process-run.ts'
import { checkServer } from '../../../src/postgres/client/check-server.ts'
import { connect, type Sql } from '../../../src/postgres/client/connect.ts'
import { type EmbeddedServer, STOP_MS_MAX, startEmbedded } from '../../../src/postgres/embedded/embedded.ts'
import { readPostmaster } from '../../../src/postgres/embedded/postmaster.ts'
import { spawnService } from '../../support/embedded-service.ts'
import { eventually } from '../../support/eventually.ts'

let dataDir: string
let cluster: string
let steps: string[]
let started: EmbeddedServer[]

const folders: string[] = []

/** A first start takes a second, so that most tests continue with the data folder of those before them. */
function inNewFolder(): void {
  dataDir = mkdtempSync(join(tmpdir(), 'nightledger-embedded-'))
  cluster = join(dataDir, 'postgres')
  folders.push(dataDir)
}

beforeAll(inNewFolder)
beforeEach(() => {
  steps = []
  started = []
})
afterEach(async () => {
  for (const server of started) await server.stop()
})
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

async function start(): Promise<EmbeddedServer> {
  const server = await startEmbedded({ dataDir, onStep: (step) => steps.push(step) })
  started.push(server)
  return server
}

async function withSql<T>(url: string, work: (sql: Sql) => PromiseLike<T>): Promise<T> {
  const sql = connect(url, { purpose: 'admin' })
  try {
    return await work(sql)
  } finally {
    await sql.end({ timeout: 0 })
  }
}

const write = (url: string) => withSql(url, (sql) => sql`create table if not exists kept (id int)`)
const isKept = async (url: string) =>
  (await withSql(url, (sql) => sql`select to_regclass('kept')::text as name`))[0]?.['name'] === 'kept'

function postmasterPid(): number {
  const pid = readPostmaster(cluster)?.pid
  if (pid === undefined) throw new Error('Expected a running server')
  return pid
}

describe('a Postgres of our own', () => {
  test('has connections for each worker of its service, and some to spare', async () => {
    const secretKey = randomBytes(32)
    const connectionsOf = async (workers: number) => {
      const config = { databaseUrl: null, migrationDatabaseUrl: null, dataDir, workers } as Config
      const { url, stop } = await openDatabase(config, { secretKey, onStep: () => {} })
      const [row] = await withSql(url, (sql) => sql`select current_setting('max_connections')::int as max`)
      await stop()
      return row?.['max']
    }
    inNewFolder()
    expect(await connectionsOf(1)).toBeGreaterThanOrEqual(40)
    expect(await connectionsOf(8)).toBeGreaterThanOrEqual(8 * 20 + 20)
    inNewFolder()
  })

  test('keeps its data from start to start, and says which was the first', async () => {
    const first = await start()
    expect(first.firstStart).toBe(true)
    await write(first.ownerUrl)
    const pid = postmasterPid()
    await first.stop()
    expect(isAlive(pid)).toBe(false)
    const second = await start()
    expect(second.firstStart).toBe(false)
    expect(await isKept(second.ownerUrl)).toBe(true)
    expect(steps.filter((step) => step.startsWith('Creating the database for'))).toHaveLength(1)
  })

  test('is durable, listens on this machine only, asks for its password, and knows no secret of ours', async () => {
    process.env['PORTAL_TOKEN'] = 'a secret of the service'
    const { ownerUrl: url } = await start()
    await withSql(url, checkServer)
    const [row] = await withSql(
      url,
      (
        sql,
      ) => sql`select current_setting('listen_addresses') as addresses, current_setting('unix_socket_directories') as sockets,
                          current_setting('synchronous_commit') as commit`,
    )
    expect(row).toEqual({ addresses: '127.0.0.1', sockets: '', commit: 'on' })
    const withoutPassword = new URL(url)
    withoutPassword.password = 'wrong'
    const refusal = await withSql(withoutPassword.href, (sql) => sql`select 1`).then(
      () => 'none',
      (error: { code: string }) => error.code,
    )
    expect(refusal).toBe('28P01')
    expect(statSync(join(dataDir, 'postgres-password')).mode & 0o777).toBe(0o600)
    expect(statSync(cluster).mode & 0o777).toBe(0o700)
    if (process.platform === 'linux') {
      expect(readFileSync(`/proc/${postmasterPid()}/environ`, 'utf8')).not.toContain('a secret')
    }
    delete process.env['PORTAL_TOKEN']
  })

  test('outlives a kill -9 of the service, and the next start takes it over', async () => {
    const service = await spawnService(dataDir)
    await write(service.said.url ?? '')
    const pid = postmasterPid()
    await service.kill()
    expect(isAlive(pid)).toBe(true)
    const { ownerUrl: url, firstStart } = await start()
    expect({ url, firstStart, pid: postmasterPid() }).toEqual({ url: service.said.url ?? '', firstStart: false, pid })
    expect(await isKept(url)).toBe(true)
  })

  test('serves one service at a time: the second is refused by name, and the first continues', async () => {
    const service = await spawnService(dataDir)
    const refused = await spawnService(dataDir)
    expect(refused.said.failure).toBe(
      `Cannot use the data folder ${dataDir}: process ${service.pid} is using it. Stop that service, or set DATA_DIR to a different folder.`,
    )
    await refused.kill()
    await write(service.said.url ?? '')
    await service.kill()
    await start()
  })

  test('is started again when it was killed too', async () => {
    const { ownerUrl: url } = await start()
    await write(url)
    process.kill(postmasterPid(), 'SIGKILL')
    await started.pop()?.stop()
    expect(await isKept((await start()).ownerUrl)).toBe(true)
  })

  test('is replaced when it runs but does not answer', async () => {
    const service = await spawnService(dataDir)
    await write(service.said.url ?? '')
    const pid = postmasterPid()
    process.kill(pid, 'SIGSTOP')
    await service.kill()
    const { ownerUrl: url } = await start()
    expect(isAlive(pid)).toBe(false)
    expect(await isKept(url)).toBe(true)
    // On a slow machine it also says that it waits for the new one.
    expect(steps.filter((step) => step.includes('does not respond'))).toHaveLength(1)
  })

  test('leaves alone a process that has got the pid of a server that is gone', async () => {
    await (await start()).stop()
    const stranger = Bun.spawn(['sleep', '60'])
    writeFileSync(join(cluster, 'postmaster.pid'), `${stranger.pid}\n${cluster}\n1\n5432\n\n127.0.0.1\n1 1\nready\n`)
    await start()
    expect(isAlive(stranger.pid)).toBe(true)
    stranger.kill('SIGKILL')
  })

  test('recovers from a start that was killed while it made the database files', async () => {
    inNewFolder()
    const draft = join(dataDir, 'postgres.init-abcdef')
    mkdirSync(join(draft, 'base'), { recursive: true })
    writeFileSync(join(draft, 'PG_VERSION'), '18\n')
    expect((await start()).firstStart).toBe(true)
    expect(readdirSync(dataDir).sort()).toEqual(['postgres', 'postgres-password', 'postgres.log', 'service.lock'])
  })

  test('recovers from a kill -9 at any moment of the first start', async () => {
    inNewFolder()
    for (const afterMs of [20, 60, 120, 250, 500, 800]) {
      const child = Bun.spawn([process.execPath, join(import.meta.dir, '../../support/embedded-service.ts'), dataDir])
      await Bun.sleep(afterMs)
      child.kill('SIGKILL')
      await child.exited
    }
    const server = await start()
    await write(server.ownerUrl)
    await server.stop()
    // The database maker of a killed start may outlive it, and this one too: what it leaves is gone after one that follows.
    const drafts = () => readdirSync(dataDir).filter((name) => name.startsWith('postgres.init-'))
    await eventually('no draft is left', async () => {
      const next = await start()
      await next.stop()
      return drafts().length === 0
    })
  })

  test('removes what a killed start left half-made, also beside a database that is whole', async () => {
    await (await start()).stop()
    const draft = join(dataDir, 'postgres.init-0123456789ab')
    mkdirSync(join(draft, 'base'), { recursive: true })
    writeFileSync(join(draft, 'base', '1'), 'half')
    await (await start()).stop()
    expect(existsSync(draft)).toBe(false)
  })

  test('stop does not wait for a server that is dead, nor forever for one that hangs, and may be called again', async () => {
    const dead = await start()
    process.kill(postmasterPid(), 'SIGKILL')
    const begin = performance.now()
    await dead.stop()
    await dead.stop()
    // It would be five seconds with the patience that a living one is shown.
    expect(performance.now() - begin).toBeLessThan(4_000)

    const hanging = await start()
    const pid = postmasterPid()
    process.kill(pid, 'SIGSTOP')
    const beginHanging = performance.now()
    await hanging.stop()
    // The last signal's effect is the machine's to give.
    expect(performance.now() - beginHanging).toBeLessThan(STOP_MS_MAX + 10_000)
    expect(isAlive(pid)).toBe(false)
    expect(existsSync(join(dataDir, 'service.lock'))).toBe(false)
  })

  test('does not start, nor make a password, when the one of its database is missing', async () => {
    await (await start()).stop()
    const password = join(dataDir, 'postgres-password')
    const kept = readFileSync(password)
    rmSync(password)
    const failure = await start().catch((error: Error) => error.message)
    expect(failure).toContain(`${password} is missing`)
    expect([existsSync(password), existsSync(join(dataDir, 'service.lock'))]).toEqual([false, false])
    writeFileSync(password, kept)
    await (await start()).stop()
  })

  test('says what the server said when it does not start', async () => {
    await (await start()).stop()
    writeFileSync(join(cluster, 'postgresql.auto.conf'), 'no_such_setting = 1\n')
    const failure = await start().catch((error: Error) => error.message)
    expect(failure).toContain('Cannot start PostgreSQL on ')
    expect(failure).toContain('no_such_setting')
    expect(existsSync(join(dataDir, 'service.lock'))).toBe(false)
  })
})
