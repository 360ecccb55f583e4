/**
 * What is left of an erased guest on the disk: markers are planted in every field that can hold personal data, and searched for in a dump,
 * in the write-ahead log after the next base backup, and in the data files once they were rewritten.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { connect, type Sql } from '../../src/postgres/client/connect.ts'
import { migrate } from '../../src/postgres/schema/migrate.ts'
import { vacuumErased } from '../../src/postgres/stores/vacuum-erased.ts'
import { eventually } from '../support/eventually.ts'
import { startSystemPostgres, systemPostgres } from '../support/system-postgres.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

const programs = systemPostgres()
const archive = mkdtempSync(join(tmpdir(), 'nightledger-wal-'))
let server: Awaited<ReturnType<typeof startSystemPostgres>>
let sql: Sql
let service: TestService
let agency: Agency
let unit: string

beforeAll(async () => {
  if (programs === null) return
  // The server runs as another user.
  chmodSync(archive, 0o777)
  server = await startSystemPostgres(programs, [
    ...[
      'wal_level=replica',
      'archive_mode=on',
      `archive_command=cp %p ${archive}/part && mv ${archive}/part ${archive}/%f`,
      'autovacuum=off',
    ],
  ])
  sql = connect(server.url, { purpose: 'admin' })
  await migrate(sql, { onStep: () => {} })
  service = await startTestService({ on: { url: server.url, sql, drop: async () => {} } })
  agency = await service.agency()
  unit = (await service.unit(agency)).slug
})
afterAll(async () => {
  await service?.close()
  await sql?.end()
  await server?.stop()
  rmSync(archive, { recursive: true, force: true })
})

const PLANTED = 12
/** `zq7` and so on: no other text contains them. */
const markerOf = (what: string, i: number) => `zqx7${what}${String(i).padStart(3, '0')}kv`
const FIELDS = ['first', 'last', 'mail', 'phone', 'notes', 'ref', 'reason', 'newlast', 'newnote'] as const
const MARKERS = Array.from({ length: PLANTED }, (_, i) => FIELDS.map((field) => markerOf(field, i))).flat()

let day = 0
const nextStay = () => {
  const date = (offset: number) => new Date(Date.UTC(2030, 0, 1 + 2 * day + offset)).toISOString().slice(0, 10)
  const stay = { unit, arrival: date(0), departure: date(1) }
  day += 1
  return stay
}

/** A guest with a booking by a partner that is cancelled, and one by the agency; each write with a kept answer. @returns the guest's id */
async function planted(marker: (field: (typeof FIELDS)[number]) => string, key: string): Promise<string> {
  const headers = (name: string) => ({ 'idempotency-key': `${name}-${day}` })
  const guest = {
    firstName: marker('first'),
    lastName: marker('last'),
    email: `${marker('mail')}@example.com`,
    phone: marker('phone'),
    nationality: 'PT',
  }
  const texts = { sourceRef: marker('ref'), notes: `${marker('notes')} ${'tea '.repeat(400)}` }
  const path = `/agencies/${agency.slug}`
  const made = await service.call('/bookings', { key, headers: headers('a'), json: { ...nextStay(), ...texts, guest } })
  const cancel = { reason: marker('reason') }
  await service.call(`/bookings/${made.body.booking.id}/cancel`, { key, headers: headers('b'), json: cancel })
  const { booking } = (
    await service.ask(`${path}/bookings`, { ...nextStay(), ...texts, guest }, { headers: headers('c') })
  ).body
  const write = (to: string, json: object, method: string) =>
    service.ask(path + to, json, { method, headers: headers('d') })
  await write(`/bookings/${booking.id}/notes`, { notes: marker('newnote') }, 'PUT')
  expect((await write(`/guests/${booking.guest.id}`, { lastName: marker('newlast') }, 'PATCH')).status).toBe(200)
  return booking.guest.id
}

async function erase(guestId: string): Promise<void> {
  const path = `/agencies/${agency.slug}/guests/${guestId}/erase`
  expect((await service.ask(path, undefined, { method: 'POST' })).status).toBe(200)
}

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile())
}

/** How many of the markers are in any of the files. */
function foundIn(files: readonly string[]): number {
  const found = new Set<string>()
  for (const file of files) {
    const bytes = readFileSync(file)
    for (const marker of MARKERS) if (!found.has(marker) && bytes.includes(marker)) found.add(marker)
  }
  return found.size
}

function dumped(): number {
  const dump = execFileSync(join(programs ?? '', 'pg_dump'), ['--dbname', server.url], { maxBuffer: 1 << 28 })
  return MARKERS.filter((marker) => dump.includes(marker)).length
}

/** Ends the segment. @returns those that have been archived since the one that `since` is in */
async function archivedSince(since: string): Promise<string[]> {
  const [row] = await sql<{ last: string }[]>`select pg_walfile_name(pg_switch_wal()) as last`
  await eventually('the log is archived', async () => readdirSync(archive).includes(row?.last ?? ''))
  const segments = readdirSync(archive).filter((name) => /^[0-9A-F]{24}$/.test(name) && name > since)
  return segments.map((name) => join(archive, name))
}

test.skipIf(programs === null && process.env['CI'] === undefined)(
  'nothing of an erased guest is in a dump, nor in the log after the next base backup',
  async () => {
    const { secret: key } = await service.key(agency)
    const guests: string[] = []
    for (let i = 0; i < PLANTED; i++) {
      guests.push(await planted((field) => markerOf(field, i), key))
      // Between them, others who stay.
      await planted((field) => `other-${field}-${i}`, key)
    }
    // Statistics are samples of what is stored.
    await sql`analyze`
    const ended = MARKERS.filter((marker) => !marker.includes('newnote') && !/zqx7last/.test(marker)).length
    expect(dumped()).toBeGreaterThanOrEqual(ended)
    // The end of a page of the log may cut one in two.
    expect(foundIn(await archivedSince(''))).toBeGreaterThan(MARKERS.length - 5)

    for (const guest of guests) await erase(guest)
    expect(dumped()).toBe(0)
    // What runs meanwhile may hold an older snapshot.
    await eventually('all are vacuumed', async () => {
      await vacuumErased(server.url)
      return (await sql`select from guest_erasure where vacuumed_at is null`).length === 0
    })

    // What a base backup begins with; from here on the first change of a page writes all of it.
    await sql`checkpoint`
    const [row] = await sql<{ last: string }[]>`select pg_walfile_name(pg_switch_wal()) as last`
    for (let i = 0; i < PLANTED; i++) await planted((field) => `later-${field}-${i}`, key)
    await sql`analyze`
    await sql`update guest set phone = phone || '1'`
    await sql`update booking set notes = notes`
    await sql`update idempotency set body = body`
    const segments = await archivedSince(row?.last ?? '')
    expect(segments.length).toBeGreaterThan(0)
    expect(foundIn(segments)).toBe(0)
    expect(dumped()).toBe(0)

    // What a page had in a place that is free now stays in the file until it is overwritten. A rewrite leaves nothing.
    const [data] = await sql<{ folder: string }[]>`select current_setting('data_directory') as folder`
    const inFiles = async () => {
      await sql`checkpoint`
      return foundIn(filesUnder(join(data?.folder ?? '', 'base')))
    }
    const again: string[] = []
    for (let i = 0; i < PLANTED; i++) again.push(await planted((field) => markerOf(field, i), key))
    expect(await inFiles()).toBeGreaterThan(0)
    for (const guest of again) await erase(guest)
    await sql.unsafe('vacuum full guest, booking, idempotency')
    expect(await inFiles()).toBe(0)
  },
)
