import { afterEach, expect, test } from 'bun:test'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { idOf } from '../../src/lib/ids.ts'
import { eventually } from '../support/eventually.ts'
import { expectNothingLost, Load, prepareForLoad } from '../support/load.ts'
import { ReplicatedPostgres } from '../support/replicated-postgres.ts'
import { type ServiceProcess, startServiceOn, TEST_SECRET_KEY } from '../support/service-process.ts'
import { verifyDatabase } from '../support/verify-database.ts'

/* A base backup and archived WAL, made under load, restored to a moment and to a named restore point. */

let pair: ReplicatedPostgres
let service: ServiceProcess | null = null
afterEach(async () => {
  service?.kill('SIGKILL')
  service = null
  await pair.stop()
})

const MAIN = resolve('src/main.ts')

async function nightledger(url: string, ...args: string[]): Promise<string> {
  const child = Bun.spawn([process.execPath, 'run', MAIN, ...args], {
    env: { PATH: process.env['PATH'] ?? '', DATABASE_URL: url, SECRET_KEY: TEST_SECRET_KEY },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
  if ((await child.exited) !== 0) throw new Error(`nightledger ${args.join(' ')}: ${out}${err}`)
  return out
}

for (const target of ['moment', 'restore point'] as const) {
  test(`restored to a ${target}: what was acknowledged before is there, what came after is not, and readers are told`, async () => {
    pair = await ReplicatedPostgres.start({ hasStandby: false })
    const { primary, standby: restored } = pair
    const archive = join(primary.folder, '..', 'archive')
    await pair.shell('mkdir -p "$ARCHIVE"', { ARCHIVE: archive })
    await pair.shutDown(primary)
    appendFileSync(
      join(primary.folder, 'postgresql.conf'),
      `archive_mode = on\narchive_command = 'test ! -f ${archive}/%f && cp %p ${archive}/%f'\narchive_timeout = 1\n`,
    )
    await pair.up(primary)
    const url = pair.urlOf(primary)
    await prepareForLoad(url)
    service = await startServiceOn(url)
    const { baseUrl } = service
    const load = new Load(() => baseUrl)
    load.start(16)
    await eventually('bookings are being made', () => load.booked.size > 30)

    const backup = `${restored.folder}`
    await pair.shell(
      'pg_basebackup -D "$BACKUP" -d "host=127.0.0.1 port=$PORT user=nightledger" -X none --checkpoint=fast',
      {
        ...{ BACKUP: backup, PORT: String(primary.port) },
      },
    )
    await eventually('more bookings are made', () => load.booked.size > 80)
    const toldBefore = [...load.booked.keys()]
    const sql = pair.direct()
    const [at] = await sql<{ now: string }[]>`select clock_timestamp()::text as now`
    await sql`select pg_create_restore_point('before_the_mistake')`
    const since = load.booked.size
    await eventually('bookings are made after it', () => load.booked.size > since + 50)
    const cursor = ((await (await load.get('/changes')).json()) as { cursor: string }).cursor
    await load.stop()
    const toldAfter = [...load.booked.keys()].slice(since + 32)
    service.kill('SIGTERM')
    await service.exited
    await sql`select pg_switch_wal()`
    await sql.end({ timeout: 1 })
    await Bun.sleep(1_500)
    await pair.shutDown(primary)

    const began = performance.now()
    const goal =
      target === 'moment' ? `recovery_target_time = '${at?.now}'` : "recovery_target_name = 'before_the_mistake'"
    appendFileSync(
      join(backup, 'postgresql.auto.conf'),
      `restore_command = 'cp ${archive}/%f %p'\n${goal}\nrecovery_target_action = 'promote'\narchive_mode = off\n`,
    )
    writeFileSync(join(backup, 'recovery.signal'), '')
    await pair.shell('chmod 700 "$BACKUP"', { BACKUP: backup })
    await pair.up(restored)
    await eventually('it is promoted', () =>
      pair.ask(restored, async (db) => (await db`select pg_is_in_recovery() as is`)[0]?.['is'] === false),
    )
    const restoredUrl = pair.urlOf(restored)
    expect(await nightledger(restoredUrl, 'after-restore')).toContain('The ledger has a new history')
    expect(await nightledger(restoredUrl, 'verify', '--database')).toContain('Everything agrees with the journal.')
    service = await startServiceOn(restoredUrl)
    const after = new Load(() => service?.baseUrl ?? '')
    await after.book()
    const rtoMs = performance.now() - began

    const db = pair.direct(restored)
    const rows = await db<{ id: string }[]>`select booking_id as id from booking`
    const there = new Set(rows.map(({ id }) => idOf('bkg', id)))
    expect(toldBefore.filter((id) => !there.has(id))).toEqual([])
    expect(toldAfter.filter((id) => there.has(id))).toEqual([])
    const [numbers] = await db<
      { first: string }[]
    >`select min(j.seq - s.mark) as first from journal j join shard s using (shard) where j.seq > s.mark`
    expect(Number(numbers?.first)).toBe(1)
    const stale = await after.get(`/changes?after=${encodeURIComponent(cursor)}`)
    expect([stale.status, ((await stale.json()) as { code: string }).code]).toEqual([410, 'CURSOR_EXPIRED'])
    expect((await verifyDatabase(db)).differences).toEqual([])
    await expectNothingLost(db, after)
    await db.end({ timeout: 1 })
    console.log(`restored to a ${target}: serving ${(rtoMs / 1_000).toFixed(1)} s after the restore began`)
  })
}
