/** Searches of guests: what they find, and how many blocks they read for it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { idOf, uuidOf } from '../../../src/lib/ids.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import { connect } from '../../../src/postgres/client/connect.ts'
import { migrate } from '../../../src/postgres/schema/migrate.ts'
import { ListReads } from '../../../src/postgres/stores/list-reads.ts'
import { foundGuests, PostgresGuestList } from '../../../src/postgres/stores/postgres-guest-list.ts'
import { rounds } from '../../support/long-run.ts'
import { testDatabase } from '../../support/postgres.ts'
import { insertAgency } from '../../support/sample-rows.ts'
import { sampleId } from '../../support/samples.ts'

const AGENCY_EXACT = sampleId('agc', 'exact')
const AGENCY_LARGE = sampleId('agc', 'large')

const database = await testDatabase()
const lists = connect(database.url, { purpose: 'lists' })
afterAll(async () => {
  await lists.end({ timeout: 0 })
  await database.drop()
})

/** Letters that lower-case to another length or to ASCII, signs that patterns and words are made of, and plain ones. */
const ALPHABET = ['a', 'A', 'b', 'B', 'c', '1', '2', ' ', '.', '-', '+', '@', '%', '_', '\\', '\n', 'ç', 'Ç', 'ã', 'İ']
const RARE = ['ı', 'ß', 'ẞ', '\u212a', 'ſ', 'Σ', 'ς', 'й', 'Й', '😀', "'"]

function textOf(random: SeededRandom, lengthMax: number): string {
  const letter = () => random.pick(random.chance(0.15) ? RARE : ALPHABET)
  return Array.from({ length: random.int(0, lengthMax) }, letter).join('')
}

const SEARCHES = rounds({ push: 300, long: 1_500 })

describe('a search', () => {
  test('finds what ilike on each of the four columns finds, whatever its letters', async () => {
    const random = new SeededRandom(20_261_121)
    await insertAgency(database.sql, AGENCY_EXACT)
    await insertAgency(database.sql, sampleId('agc', 'beside'))
    const guests = Array.from({ length: 600 }, (_, i) => ({
      agency_id: uuidOf(i % 3 === 0 ? sampleId('agc', 'beside') : AGENCY_EXACT),
      guest_id: uuidOf(sampleId('gst', i)),
      first_name: textOf(random, 8),
      last_name: textOf(random, 8),
      // Unlike any other.
      email: random.chance(0.3) ? null : `${textOf(random, 6)}@${i}`,
      phone: random.chance(0.3) ? null : textOf(random, 8),
      created_at: new Date(Date.UTC(2027, 0, 1) + random.int(0, 5)),
    }))
    await database.sql`
      insert into guest (agency_id, guest_id, first_name, last_name, email, phone, created_at)
      select * from jsonb_to_recordset(${JSON.stringify(guests)}::text::jsonb) as g (
        agency_id uuid, guest_id uuid, first_name text, last_name text, email text, phone text, created_at timestamptz)`
    // So that what the index can serve is served by it, in so small a table as well.
    await database.sql.unsafe(`alter database ${new URL(database.url).pathname.slice(1)} set enable_seqscan = off`)
    const sql = connect(database.url, { purpose: 'lists' })
    const list = new PostgresGuestList(sql, new ListReads(sql))
    const found = { none: 0, some: 0 }
    for (let i = 0; i < SEARCHES; i++) {
      const { first_name, last_name, email, phone } = random.pick(guests)
      const field = random.pick([first_name, last_name, email ?? '', phone ?? '', `${first_name}\n${last_name}`])
      const letters = [...field]
      const from = random.int(0, Math.max(0, letters.length - 2))
      const cut = letters.slice(from, from + random.int(2, 6)).join('')
      const search = random.chance(0.3) ? cut.toLowerCase() : random.chance(0.3) ? cut.toUpperCase() : cut
      if ([...search].length < 2) continue
      const pattern = `%${search.replace(/[\\%_]/g, '\\$&')}%`
      const wanted = await database.sql<{ id: string }[]>`
        select guest_id as id from guest where agency_id = ${uuidOf(AGENCY_EXACT)} and
          (first_name ilike ${pattern} or last_name ilike ${pattern} or email ilike ${pattern} or phone ilike ${pattern})
        order by created_at desc, guest_id`
      const { total, rows } = await list.list(AGENCY_EXACT, search, { offset: 0, limit: 1_000 })
      expect([search, total, rows.map(({ id }) => id)]).toEqual([
        search,
        wanted.length,
        wanted.map(({ id }) => idOf('gst', id)),
      ])
      found[wanted.length === 0 ? 'none' : 'some'] += 1
    }
    expect(found.some).toBeGreaterThan(SEARCHES / 3)
    await sql.end()
  })

  test('has a page beyond its end without rows, and the count', async () => {
    const list = new PostgresGuestList(lists, new ListReads(lists))
    const all = await list.list(AGENCY_EXACT, 'ab', { offset: 0, limit: 1_000 })
    expect(all.total).toBeGreaterThan(2)
    expect(await list.list(AGENCY_EXACT, 'ab', { offset: 1_000, limit: 5 })).toEqual({ total: all.total, rows: [] })
    const second = await list.list(AGENCY_EXACT, 'ab', { offset: 1, limit: 2 })
    expect(second).toEqual({ total: all.total, rows: all.rows.slice(1, 3) })
  })
})

/** A search among a million may read 2,000 blocks. What it reads grows with the guests, at most in proportion. */
const GUESTS = rounds({ push: 100_000, long: 250_000 })
const BUFFERS_MAX = 500

interface Plan {
  readonly 'Node Type': string
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
}

describe(`among ${GUESTS} guests of an agency, and as many of another one`, () => {
  beforeAll(async () => {
    const admin = connect(database.url, { purpose: 'admin' })
    // A tenth of the time it takes with the indexes in place.
    const indexes = await admin<{ name: string; definition: string }[]>`
      select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
      from pg_index where indrelid = 'guest'::regclass and not indisprimary`
    for (const { name } of indexes) await admin.unsafe(`drop index ${name}`)
    for (const [agency, guests] of [
      [AGENCY_LARGE, GUESTS],
      [sampleId('agc', 'other'), GUESTS],
      [sampleId('agc', 'small'), 100],
    ] as const) {
      await insertAgency(database.sql, agency)
      // Alike but for their numbers: nearly every trigram of a name is one that all have.
      await admin`
        insert into guest (agency_id, guest_id, first_name, last_name, email, phone, created_at)
        select ${uuidOf(agency)}::text::uuid, lpad(i::text, 32, '0')::uuid, 'Firstname' || i, 'Lastname' || i,
               'guest' || i || '@example.com', '+35191' || lpad(i::text, 6, '0'), now() - i * interval '1 s'
        from generate_series(1, ${guests}::int) i`
    }
    for (const { definition } of indexes) await admin.unsafe(definition)
    await admin.unsafe('vacuum analyze guest')
    await admin.end()
  })

  async function blocksRead(agencyId: string, search: string): Promise<number> {
    const statement = foundGuests(lists, { agencyId, search, page: { offset: 0, limit: 100 } })
    const [row] = await lists<
      { 'QUERY PLAN': [{ Plan: Plan }] }[]
    >`explain (analyze, buffers, format json) ${statement}`
    const plan = row?.['QUERY PLAN'][0].Plan
    if (plan === undefined) throw new Error('No plan came back')
    return plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
  }

  test.each([
    ['the number of a few', 'e9999', 11],
    ['a number of one digit', '77777', rounds({ push: 1, long: 2 })],
    ['a whole name', 'Lastname9999', 11],
    ['a whole e-mail', 'guest9999@example.com', 1],
    ['the end of an e-mail', '99999@example.com', rounds({ push: 1, long: 2 })],
    ['a whole phone number', '+35191009999', 1],
    ['a name that nobody has', 'zFirstname', 0],
    ['two words', 'me 24', 0],
  ])('%s is found by reading few blocks: %s', async (_, search, hits) => {
    const [row] = await foundGuests(lists, { agencyId: AGENCY_LARGE, search, page: { offset: 0, limit: 100 } })
    expect([search, row?.total]).toEqual([search, hits])
    expect(await blocksRead(AGENCY_LARGE, search)).toBeLessThan(BUFFERS_MAX)
  })

  test.each(['example.com', 'Lastname', 'e24999', 'a--', '---', 'na', 'st7'])(
    'an agency of 100 reads no more for %j than its own guests are worth',
    async (search) => {
      expect(await blocksRead(sampleId('agc', 'small'), search)).toBeLessThan(BUFFERS_MAX)
    },
  )
})

test('the owner of a database who is no superuser can migrate it', async () => {
  const empty = await testDatabase({ template: 'empty' })
  const name = new URL(empty.url).pathname.slice(1)
  const role = `owner_of_${name}`
  await empty.sql
    .unsafe(`create role ${role} login password 'secret'; alter database ${name} owner to ${role}`)
    .simple()
  const url = new URL(empty.url)
  url.username = role
  url.password = 'secret'
  const owner = connect(url.href, { purpose: 'admin' })
  const { version } = await migrate(owner)
  const extensions = await owner<{ name: string }[]>`select extname as name from pg_extension order by extname`
  await owner.end()
  expect(version).toBeGreaterThan(0)
  expect(extensions.map((extension) => extension.name)).toEqual(expect.arrayContaining(['btree_gin', 'pg_trgm']))
  await empty.drop()
  await database.sql.unsafe(`drop role ${role}`)
})
