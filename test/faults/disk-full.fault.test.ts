import { afterEach, beforeEach, expect, test } from 'bun:test'
import { closeSync, mkdtempSync, openSync, rmSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../support/eventually.ts'
import { FaultPostgres } from '../support/fault-postgres.ts'
import { expectCalendarOfRows, expectNothingLost, Load, prepareForLoad } from '../support/load.ts'
import { type ServiceProcess, startServiceOn } from '../support/service-process.ts'

const DISK_MB = 320

/** A small disk of its own needs the right to mount one; without it (an ordinary user) this file has nothing to test. */
function mountDisk(): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'nightledger-test-disk-'))
  const mount = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', `size=${DISK_MB}m,mode=0755`, 'tmpfs', folder])
  if (mount.exitCode === 0) return folder
  rmSync(folder, { recursive: true })
  return null
}

const disk = mountDisk()
let postgres: FaultPostgres
let service: ServiceProcess
let load: Load

beforeEach(async () => {
  if (disk === null) return
  postgres = await FaultPostgres.start(disk)
  await prepareForLoad(postgres.url)
  service = await startServiceOn(postgres.url)
  load = new Load(() => service.baseUrl)
})
afterEach(async () => {
  if (disk === null) return
  await load.stop()
  service.kill('SIGKILL')
  await service.exited
  await postgres.stop()
  Bun.spawnSync(['umount', disk])
  rmSync(disk, { recursive: true, force: true })
})

/** Fills what is left of the disk; returns what frees it again. */
function fillDisk(folder: string): () => void {
  const path = join(folder, 'filler')
  const file = openSync(path, 'w')
  for (const size of [1 << 20, 1 << 12]) {
    try {
      for (;;) if (writeSync(file, new Uint8Array(size)) < size) break
    } catch {
      // Full.
    }
  }
  closeSync(file)
  return () => unlinkSync(path)
}

test.if(disk !== null)(
  'a full disk: writes are refused, reads continue, nothing is lost, and space brings the service back',
  async () => {
    if (disk === null) return
    // In memory, so that it can be read whatever becomes of Postgres.
    const path = '/availability?unit=unit-1&from=2030-01-01&to=2030-02-01'
    expect((await load.get(path)).status).toBe(200)
    load.start(32)
    await Bun.sleep(1_000)
    await eventually('bookings are being made', () => load.booked.size > 20)
    const before = load.booked.size
    const free = fillDisk(disk)
    // Postgres may continue within the space it has reserved, or stop and recover: the service must survive both.
    await eventually('writes are refused', () => load.answers.has('500 INTERNAL'))
    expect((await load.get(path)).status).toBe(200)

    free()
    await postgres.restart()
    const sold = load.booked.size
    await eventually('it sells again', () => load.booked.size > sold + 10)
    await load.stop()
    const sql = postgres.direct()
    await expectNothingLost(sql, load)
    await expectCalendarOfRows(sql, load)
    await sql.end({ timeout: 1 })
    console.log(`${before} booked before, answers ${JSON.stringify(Object.fromEntries(load.answers))}`)
  },
  120_000,
)
