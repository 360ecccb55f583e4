import { afterAll, afterEach, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { idOf } from '../../src/lib/ids.ts'
import { programFile } from '../support/bundled-program.ts'
import { eventually } from '../support/eventually.ts'
import { expectNothingLost, Load, prepareForLoad } from '../support/load.ts'
import { longTest } from '../support/long-run.ts'
import { ReplicatedPostgres } from '../support/replicated-postgres.ts'
import { AGENCY } from '../support/samples.ts'
import { type ServiceProcess, startServiceOn, TEST_SECRET_KEY } from '../support/service-process.ts'
import { sectionOf, shellBlocksOf } from '../support/shell-blocks.ts'

/* A base backup and archived WAL, made under load, restored to a moment and to a named restore point. */

const receiver = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response(null, { status: 204 }) })
const allowed = { WEBHOOK_ALLOW_HOSTS: receiver.url.host }
afterAll(() => receiver.stop(true))

let pair: ReplicatedPostgres
let service: ServiceProcess | null = null
afterEach(async () => {
  service?.kill('SIGKILL')
  service = null
  await pair.stop()
})

const [ARCHIVING = '', BACKUP = '', NAME = '', RESTORE = '', READY = ''] = shellBlocksOf(
  sectionOf(readFileSync('docs/operating.md', 'utf8'), 'Point-in-time recovery'),
).map(({ script }) => script)

const NIGHTLEDGER = 'nightledger() { "$BUN" run "$MAIN" "$@"; }\n'
/** Bookings that are under way while a moment is noted. */
const CLIENTS = 16

const TARGETS = ['a restore point', 'a moment', 'the end of the archive, its disk being lost'] as const
for (const [i, target] of TARGETS.entries()) {
  const pushed = i === 0 ? test : longTest
  pushed(`restored to ${target}: what was there is there, what came after is not, and readers are told`, async () => {
    pair = await ReplicatedPostgres.start({ hasStandby: false })
    const { primary, standby: restored } = pair
    const folder = join(primary.folder, '..')
    const env = {
      PRIMARY_DATA: primary.folder,
      PRIMARY_HOST: '127.0.0.1',
      PRIMARY_PORT: String(primary.port),
      USER_OF_REPLICATION: 'nightledger',
      PRIMARY_URL: pair.urlOf(primary),
      WAL_ARCHIVE: join(folder, 'archive'),
      ARCHIVE_TIMEOUT: '2',
      BACKUP: join(folder, 'backup'),
      RESTORED_DATA: restored.folder,
      RESTORED_PORT: String(restored.port),
      ERASURES: '--no-erasures',
      RESTORED_OWNER_URL: pair.urlOf(restored),
      RESTORED_URL: pair.urlOf(restored),
      SECRET_KEY: TEST_SECRET_KEY,
      BUN: process.execPath,
      MAIN: programFile(),
    }
    await pair.shell(ARCHIVING, env)
    await prepareForLoad(env.PRIMARY_URL)
    service = await startServiceOn(env.PRIMARY_URL, allowed)
    const { baseUrl } = service
    const hook = await service.portal(`/agencies/${AGENCY.slug}/webhook-endpoints`, { url: receiver.url.href })
    expect(hook.status).toBe(201)
    const load = new Load(() => baseUrl)
    load.start(CLIENTS)
    await eventually('bookings are being made', () => load.booked.size > 30)
    await pair.shell(BACKUP, env)
    await eventually('more bookings are made', () => load.booked.size > 80)

    const toldBefore = [...load.booked.keys()]
    const [at] = await pair.ask(primary, (sql) => sql<{ now: string }[]>`select clock_timestamp()::text as now`)
    await pair.shell(NAME, env)
    // Later than `toldBefore`: on a busy machine psql takes its time, and bookings continue.
    const named = load.booked.size
    await eventually('bookings are made after it', () => load.booked.size > named + 100)
    const { cursor } = (await (await load.get('/changes')).json()) as { cursor: string }
    if (target.startsWith('the end')) {
      const [last] = await pair.ask(
        primary,
        (sql) => sql<{ segment: string }[]>`
        select pg_walfile_name(pg_current_wal_lsn()) as segment`,
      )
      await eventually('what was told before is archived', async () => {
        const [archiver] = await pair.ask(
          primary,
          (sql) => sql<{ last: string | null }[]>`
          select last_archived_wal as last from pg_stat_archiver`,
        )
        return (archiver?.last ?? '') >= (last?.segment ?? '')
      })
      pair.signal(primary, 'SIGKILL')
    }
    // Not later: a booking that was under way has an unknown outcome, and its client waits for half a minute.
    const endedAt = Date.now()
    await load.stop()
    const reported = [...load.booked.keys()]
    service.kill('SIGTERM')
    await service.exited
    if (!target.startsWith('the end')) await pair.shutDown(primary)

    const began = performance.now()
    const RECOVERY_TARGET = {
      'a moment': `recovery_target_time = '${at?.now}'`,
      'a restore point': "recovery_target_name = 'before_the_import'",
      'the end of the archive, its disk being lost': '',
    }[target]
    await pair.shell(RESTORE, { ...env, RECOVERY_TARGET })
    const readied = await pair.shell(NIGHTLEDGER + READY, env)
    expect(readied).toContain('1 webhook endpoints are switched off')
    expect(readied).toContain('Everything agrees with the journal.')
    service = await startServiceOn(env.RESTORED_URL, allowed)
    const after = new Load(() => service?.baseUrl ?? '')
    await after.book()
    const rto = `serving ${((performance.now() - began) / 1_000).toFixed(1)} s after the restore began`

    const sql = pair.direct(restored)
    const [last] = await sql<{ at: Date }[]>`select max(at) as at from journal where at < ${new Date(endedAt)}`
    const lostMs = endedAt - (last?.at.getTime() ?? 0)
    const rows = await sql<{ id: string }[]>`select booking_id as id from booking`
    const there = new Set(rows.map(({ id }) => idOf('bkg', id)))
    expect(toldBefore.filter((id) => !there.has(id))).toEqual([])
    if (target.startsWith('the end'))
      console.log(
        `restored to ${target}: ${reported.filter((id) => !there.has(id)).length} of ${reported.length} bookings lost, those of the last ${(lostMs / 1_000).toFixed(1)} s with archive_timeout = 2; ${rto}`,
      )
    else {
      expect(reported.slice(named + 2 * CLIENTS).filter((id) => there.has(id))).toEqual([])
      console.log(`restored to ${target}: ${rto}`)
    }
    const [numbers] = await sql<{ first: string }[]>`
      select min(j.seq - s.mark) as first from journal j join shard s using (shard) where j.seq > s.mark`
    expect(numbers?.first).toBe('1')
    const stale = await after.get(`/changes?after=${encodeURIComponent(cursor)}`)
    expect([stale.status, await stale.json()]).toMatchObject([410, { code: 'CURSOR_EXPIRED' }])
    const { body } = await service.portal(`/agencies/${AGENCY.slug}/webhook-endpoints`)
    expect(body).toMatchObject({
      webhookEndpoints: [{ status: 'disabled', disabledReason: expect.stringContaining('restored from a backup') }],
    })
    await expectNothingLost(sql, after)
    await sql.end({ timeout: 1 })
  })
}
