/** An erased guest does not come back with a backup: ERASURES_FILE, `erasures export` and `after-restore --erasures`. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../../src/app/config.ts'
import { openErasuresFile } from '../../src/app/erasures-file.ts'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { failureOf } from '../../src/http/problem-of.ts'
import { idOf, uuidOf } from '../../src/lib/ids.ts'
import { cliWith } from '../support/cli-terminal.ts'
import { eventually } from '../support/eventually.ts'
import { openTestLedger, type TestLedger } from '../support/ledger.ts'
import { copyOf, type TestDatabase } from '../support/postgres.ts'
import { CALLER, requestFor, sampleId } from '../support/samples.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { verifyDatabase } from '../support/verify-database.ts'

const folders = temporaryFolder('erasures')
let folder: string
let file: string
let source: TestLedger
let agency: Agency
let guestId: string
let restored: TestDatabase | null = null

beforeEach(async () => {
  folder = mkdtempSync(join(folders, 'test-'))
  file = join(folder, 'erasures.ndjson')
  source = await openTestLedger({ listErasure: await openErasuresFile(file) })
  agency = await source.agency()
  const unit = await source.unit(agency)
  const guest = { firstName: 'Ana', lastName: 'Reis', email: 'ana@example.com', phone: null, nationality: null }
  const texts = { notes: 'Ana Reis likes tea', sourceRef: 'REIS-1' }
  await source.ledger.commands.book(agency, requestFor(unit, '2030-01-01', '2030-01-03', { guest, ...texts }), CALLER)
  guestId = (await source.ledger.guestList.list(agency.id, null, { offset: 0, limit: 1 })).rows[0]?.id ?? ''
})
afterEach(async () => {
  await restored?.drop()
  restored = null
  await source.close()
})

const cli = (database: TestDatabase, ...args: string[]) => cliWith({ DATABASE_URL: database.url })(...args)
const erase = () => source.ledger.guestErasures.erase(agency, guestId, CALLER)

/** Closes the ledger, as a backup that is restored is of a moment before its end. */
async function backup(): Promise<TestDatabase> {
  await source.ledger.close()
  restored = await copyOf(source.database)
  source = await openTestLedger({ on: source.database, listErasure: await openErasuresFile(file) })
  return restored
}

const guestsOf = async ({ sql }: TestDatabase) => (await sql`select from guest where first_name = 'Ana'`).length

test('an erasure is in the file before it is answered, and the export says the same: ids only', async () => {
  const outcome = await erase()
  if (outcome.kind !== 'done') throw new Error('Expected an erasure')
  const at = new Date(outcome.value.erasedAt ?? 0).toISOString()
  const line = `${JSON.stringify({ at, agencyId: agency.id, guestId })}\n`
  expect(readFileSync(file, 'utf8')).toBe(line)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(await cli(source.database, 'erasures', 'export')).toMatchObject({ code: 0, stdout: line, stderr: '' })
})

test('a restored guest is erased again with the list, and the log gets its entry when the service starts', async () => {
  const database = await backup()
  await erase()
  expect(await guestsOf(database)).toBe(1)
  const { code, stdout } = await cli(database, 'after-restore', '--erasures', file)
  expect([code, stdout]).toEqual([0, expect.stringContaining('1 guests were erased again, and 0 listed ones')])
  expect(await guestsOf(database)).toBe(0)
  expect(
    await database.sql`select from booking where notes is not null or source_ref is not null or guest_id is not null`,
  ).toHaveLength(0)

  const again = await openTestLedger({ on: database })
  await eventually('the erasure is complete', async () => {
    const [row] = await database.sql`select erased_at is not null and seq is not null as "isDone" from guest_erasure`
    return row?.['isDone'] === true
  })
  const [entry] =
    await database.sql`select actor_kind, route from journal where kind = 'guest_erased' and agency_id = ${uuidOf(agency.id)}`
  expect(entry).toMatchObject({ actor_kind: 'system', route: 'after-restore' })
  expect((await verifyDatabase(database.sql)).differences).toEqual([])
  await again.close()
  // The list for the next restore has it too; a second run finds nothing left.
  expect((await cli(database, 'erasures', 'export')).stdout).toBe(readFileSync(file, 'utf8'))
  expect((await cli(database, 'after-restore', '--erasures', file)).stdout).toContain(
    '0 guests were erased again, and 1 listed',
  )
})

test('a listed guest who is not in the backup counts as one who is gone: nothing is left to complete, and the next list has them', async () => {
  const absent = sampleId('gst', 'absent')
  const line = (id: string) =>
    `${JSON.stringify({ at: '2030-01-01T00:00:00.000Z', agencyId: agency.id, guestId: id })}\n`
  const database = await backup()
  writeFileSync(file, line(guestId) + line(absent))
  const { code, stdout } = await cli(database, 'after-restore', '--erasures', file)
  expect([code, stdout]).toEqual([0, expect.stringContaining('1 guests were erased again, and 1 listed')])
  const rows = await database.sql<{ guestId: string; isOpen: boolean; isDirty: boolean }[]>`
    select guest_id as "guestId", erased_at is null as "isOpen", vacuumed_at is null as "isDirty" from guest_erasure`
  expect(new Map(rows.map((row) => [idOf('gst', row.guestId), [row.isOpen, row.isDirty]]))).toEqual(
    new Map([
      [guestId, [true, true]],
      [absent, [false, false]],
    ]),
  )
  expect((await cli(database, 'erasures', 'export')).stdout.split('\n').sort()).toEqual(
    ['', line(guestId).trim(), line(absent).trim()].sort(),
  )
})

test('without a list nothing is done, and the restored moment is named; --no-erasures says that there are none', async () => {
  const database = await backup()
  const [log] = await database.sql`select max(at) as at, (select history_id from ledger) as id from journal`
  const { code, stderr } = await cli(database, 'after-restore')
  expect(code).toBe(1)
  expect(stderr).toContain(`The newest entry of the log is of ${log?.['at'].toISOString()}`)
  expect(stderr).toContain('--erasures')
  const historyId = async () => (await database.sql`select history_id from ledger`)[0]?.['history_id']
  expect(await historyId()).toBe(log?.['id'])
  const said = await cli(database, 'after-restore', '--no-erasures')
  expect([said.code, said.stdout]).toEqual([0, expect.stringContaining('No guest was erased again')])
  expect(await historyId()).not.toBe(log?.['id'])
})

test('a list that cannot be read changes nothing, and the line is named', async () => {
  const database = await backup()
  await erase()
  for (const wrong of ['{"at":"2030-01-01T00:00:00.000Z"}', 'x', '{"at":"now","agencyId":"agc_1","guestId":"gst_1"}']) {
    writeFileSync(file, `${readFileSync(file, 'utf8').split('\n')[0]}\n\n${wrong}\n`)
    const { code, stderr } = await cli(database, 'after-restore', '--erasures', file)
    expect([code, stderr]).toEqual([
      1,
      `Nothing was changed. Cannot read ${file}: line 3 is not {"at", "agencyId", "guestId"}.\n`,
    ])
  }
  expect((await cli(database, 'after-restore', '--erasures', join(folder, 'none'))).code).toBe(1)
  expect(await guestsOf(database)).toBe(1)
})

test('a list that cannot be written leaves the erasure begun, and the next attempt completes it', async () => {
  await source.ledger.close()
  const failing = await openTestLedger({
    on: source.database,
    listErasure: async () => {
      throw Object.assign(new Error('ENOSPC: No space left on device'), { code: 'ENOSPC' })
    },
  })
  const again = failing.ledger.catalogue.agencyById(agency.id)
  if (again === null) throw new Error('Cannot find the agency of the test')
  const error = await failing.ledger.guestErasures.erase(again, guestId, CALLER).catch((thrown: unknown) => thrown)
  expect([String(error), failureOf(error).problem.title]).toEqual([
    expect.stringContaining('No space left'),
    'The change was started but not completed: repeat the request',
  ])
  expect(await guestsOf(source.database)).toBe(0)
  await failing.close()
  source = await openTestLedger({ on: source.database, listErasure: await openErasuresFile(file) })
  await eventually('it is completed at start', async () => readFileSync(file, 'utf8').includes(guestId))
})

test('a start with a file that cannot be written is refused', async () => {
  await expect(openErasuresFile(join(folder, 'none', 'erasures.ndjson'))).rejects.toThrow(ConfigError)
})
