import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { CHAIN_KEY_BYTES, shardOf } from '../../src/core/journal/shard.ts'
import { makeCheckpoints } from '../support/checkpoints.ts'
import { testDatabase } from '../support/postgres.ts'
import { AGENCY } from '../support/samples.ts'
import { verifyDatabase } from '../support/verify-database.ts'
import { LivedLedger } from './support/lived-ledger.ts'

/*
 * J7: who can write to the database, but has no SECRET_KEY, is found out. Bookings and checksums are made to agree with the change,
 * as far as SQL can.
 */

const SHARD = shardOf(AGENCY.id)

let lived: LivedLedger

const database = await testDatabase()
afterAll(() => database.drop())
beforeEach(async () => {
  lived = await LivedLedger.open(database)
  await lived.live()
  expect((await lived.check()).differences).toEqual([])
})
afterEach(() => lived.ledger.close())

/** The entries where something is found in the log, as `what seq`. */
async function found(): Promise<string[]> {
  const { differences } = await verifyDatabase(database.sql)
  return differences
    .filter(({ at }) => at.startsWith(`${SHARD}/`))
    .map(({ what, at }) => `${what} ${at.slice(String(SHARD).length + 1)}`)
}

/** The checksum of every entry as recovery expects it. */
async function withRightChecksums(): Promise<void> {
  type Row = Record<'seq' | 'unit' | 'other' | 'booking' | 'kind' | 'payload', string>
  const rows = await database.sql<Row[]>`
    select seq, 'unt_' || replace(unit_id::text, '-', '') as "unit", kind, payload,
           coalesce('unt_' || replace(other_unit_id::text, '-', ''), '') as "other",
           coalesce('bkg_' || replace(booking_id::text, '-', ''), '') as "booking"
    from journal`
  for (const { seq, unit, other, booking, kind, payload } of rows) {
    const covered = `${seq}|${unit}|${other}|${booking}|${kind}|${payload}`
    const checksum = BigInt.asIntN(64, Bun.hash.xxHash64(covered)).toString()
    await database.sql`update journal set checksum = ${checksum}::text::bigint where seq = ${seq}::text::bigint`
  }
}

test('a changed payload, with its checksum and its booking, is named', async () => {
  await database.sql`update journal set payload = replace(payload, '"totalAmount":', '"totalAmount":1') where seq = 4`
  await database.sql`update journal set payload = replace(payload, '"totalAmount":', '"totalAmount":1') where seq = 6`
  await database.sql`
    update booking set total_amount = ('1' || total_amount)::bigint
    where booking_id = (select booking_id from journal where seq = 4)`
  await withRightChecksums()
  const { differences } = await verifyDatabase(database.sql)
  expect(differences.map(({ what, at }) => `${what} ${at}`)).toEqual([`chain ${SHARD}/4`, `chain ${SHARD}/6`])
})

test.each([
  ['route', () => database.sql`update journal set route = 'DELETE /all' where seq = 5`],
  ['actor', () => database.sql`update journal set actor_kind = 'system', actor_id = null where seq = 5`],
  ['request', () => database.sql`update journal set request_id = 'req_other' where seq = 5`],
  ['time', () => database.sql`update journal set at = at + interval '1 second' where seq = 5`],
  ['event', () => database.sql`update journal set entry_id = gen_random_uuid() where seq = 5`],
])('a changed %s, which no row depends on, is named', async (_, inflict) => {
  await inflict()
  expect(await found()).toEqual(['chain 5'])
})

test('a deleted entry is named, and the one after it does not continue the chain', async () => {
  await database.sql`delete from journal where seq = 5`
  // Entry 7 moves the booking that entry 5 made.
  expect(await found()).toEqual(['journal 5', 'chain 6', 'journal 7'])
})

test('the first entries cannot be deleted as if they were archived', async () => {
  await database.sql`delete from journal where seq <= 2`
  await database.sql`
    update shard set base = 2, mark = 2, base_link = repeat('x', 32)::bytea, mark_link = repeat('x', 32)::bytea
    where shard = ${SHARD}`
  expect(await found()).toContain('chain 3')
})

test('two entries that changed places are both named', async () => {
  await database.sql`update journal set seq = 100 where seq = 4`
  await database.sql`update journal set seq = 4 where seq = 5`
  await database.sql`update journal set seq = 5 where seq = 100`
  await withRightChecksums()
  expect((await found()).filter((text) => text.startsWith('chain'))).toEqual(['chain 4', 'chain 5', 'chain 6'])
})

describe('an inserted entry is named', () => {
  const copied = (seq: number, month = database.sql`month`) => database.sql`
    insert into journal (seq, at, checksum, epoch, agency_id, unit_id, entry_id, month, shard, is_announced, kind, actor_kind,
                         link, route, payload)
    select ${seq}::bigint, at, checksum, epoch, agency_id, unit_id, gen_random_uuid(), ${month}, shard, is_announced, kind,
           actor_kind, link, route, payload from journal where seq = 1`

  test('at the end of the log', async () => {
    await copied(10)
    await withRightChecksums()
    expect(await found()).toEqual(['chain 10'])
  })

  test('under a number that is used already, in another month', async () => {
    await copied(5, database.sql`(month + interval '1 month')::date`)
    expect(await found()).toContain('journal 5')
    expect(await found()).toContain('chain 5')
  })

  test('in the log of another agency', async () => {
    await database.sql`update journal set shard = ${(SHARD + 1) % 256} where seq = 9`
    const { differences } = await verifyDatabase(database.sql)
    expect(differences).toContainEqual(
      expect.objectContaining({ at: `${(SHARD + 1) % 256}/9`, message: `the entry belongs to shard ${SHARD}` }),
    )
  })
})

test('a mark that was moved is named', async () => {
  await database.sql`update shard set mark = 3 where shard = ${SHARD}`
  expect(await found()).toEqual(['chain 3'])
})

test('the keys of two chains cannot be exchanged, and a key of one’s own does not open', async () => {
  const { sql } = database
  const sealed = await sql<{ shard: number; text: string }[]>`
    select shard, key_sealed as "text" from shard_chain where shard in (${SHARD}, ${(SHARD + 1) % 256})`
  const other = sealed.find(({ shard }) => shard !== SHARD)?.text ?? ''
  const own = `v1.${Buffer.alloc(12 + CHAIN_KEY_BYTES + 16).toString('base64url')}`
  for (const text of [other, own]) {
    await sql`update shard_chain set key_sealed = ${text} where shard = ${SHARD}`
    const { differences } = await verifyDatabase(sql)
    expect(differences.map(({ what, at }) => `${what} ${at}`)).toEqual([`chain ${SHARD}`])
  }
  await sql`
    update shard_chain set key_sealed = ${sealed.find(({ shard }) => shard === SHARD)?.text ?? ''} where shard = ${SHARD}`
})

describe('of a history that partners have a checkpoint of', () => {
  const leaves = async () =>
    (await verifyDatabase(database.sql)).differences.flatMap(({ what, at, message }) =>
      what === 'checkpoint' ? [[at, message]] : [],
    )
  const MISMATCH = 'is not that of its entry: one of them was changed after the checkpoint was made'

  beforeEach(async () => {
    // Two parts: of seven leaves, and of two.
    await database.sql`create table later as select * from journal where seq > 7`
    await database.sql`delete from journal where seq > 7`
    await makeCheckpoints(database.sql)
    await database.sql`insert into journal select * from later`
    await database.sql`drop table later`
    await makeCheckpoints(database.sql)
    expect((await verifyDatabase(database.sql)).differences).toEqual([])
  })

  test('a changed entry is named, also if its link was made again with the key of the chain', async () => {
    await database.sql`update journal set route = 'DELETE /all' where seq = 5`
    expect(await leaves()).toEqual([[AGENCY.id, `leaf 4 ${MISMATCH}`]])
  })

  test.each([
    [8, 'the tree has 2 leaves of entries up to 9, the journal 1 entries'],
    [3, 'the tree has 7 leaves of entries up to 7, the journal 6 entries'],
  ])('the removed entry %i is named', async (seq, message) => {
    await database.sql`delete from journal where seq = ${seq}`
    expect(await leaves()).toEqual([[AGENCY.id, message]])
  })

  test('an entry that was put in is named', async () => {
    await database.sql`update journal set seq = 100 where seq = 9`
    await database.sql`
      insert into journal select (jsonb_populate_record(null::journal, to_jsonb(j) || '{"seq": 9}')).* from journal j where seq = 8`
    await database.sql`
      insert into journal select (jsonb_populate_record(null::journal, to_jsonb(j) || '{"seq": 7, "month": "2020-01-01"}')).* from journal j
      where seq = 8`.catch(() => null)
    expect(await leaves()).toEqual([[AGENCY.id, `leaf 8 ${MISMATCH}`]])
  })

  test.each([
    [
      'a hash',
      () => database.sql`update checkpoint set hashes = set_byte(hashes, 40, 1 - get_byte(hashes, 40) % 2)`,
      `leaf 1 ${MISMATCH}`,
    ],
    [
      'its beginning',
      () => database.sql`delete from checkpoint where first_leaf = 0`,
      'leaves 0 to 6 are missing from the tree',
    ],
  ])('a tree that was changed in %s is named', async (_, inflict, message) => {
    await inflict()
    expect(await leaves()).toEqual([[AGENCY.id, message]])
  })
})
