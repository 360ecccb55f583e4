import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { coveredText, type LinkedEntry, shardOf } from '../../../src/core/journal/shard.ts'
import {
  CheckpointBuilder,
  LEAVES_AT_ONCE,
  LEAVES_PER_READ,
} from '../../../src/events/checkpoints/checkpoint-builder.ts'
import { CheckpointSigner, readCheckpoint } from '../../../src/events/checkpoints/checkpoint-note.ts'
import { TreeDamagedError } from '../../../src/events/checkpoints/checkpoint-rows.ts'
import { Checkpoints } from '../../../src/events/checkpoints/checkpoints.ts'
import { type Hash, isIncluded, isSameHash, TreeEdge } from '../../../src/events/checkpoints/merkle-tree.ts'
import type { DurableEntry } from '../../../src/events/checkpoints/recent-leaves.ts'
import { uuidOf } from '../../../src/lib/ids.ts'
import { leafHash } from '../../../src/lib/merkle-hash.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import { PostgresCheckpointRows } from '../../../src/postgres/stores/postgres-checkpoint-rows.ts'
import { PostgresVerifyStore } from '../../../src/postgres/stores/postgres-verify-store.ts'
import { checkpointBuilder, isConsistent, noteUnseen, recentLeaves } from '../../support/checkpoints.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { addAgency, addUnit } from '../../support/open-ledger.ts'
import { testDatabase } from '../../support/postgres.ts'
import { CALLER, requestFor, sampleId, sampleUnit } from '../../support/samples.ts'
import { LivedLedger } from '../../verify/support/lived-ledger.ts'

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

let lived: LivedLedger

const database = await testDatabase()
afterAll(() => database.drop())
beforeEach(async () => {
  await database.sql`truncate checkpoint`
  lived = await LivedLedger.open(database)
})
afterEach(() => lived.ledger.close())

const builder = () => checkpointBuilder(database.sql)

const checkpoints = () =>
  new Checkpoints({
    rows: new PostgresCheckpointRows(database.sql),
    inTurn: (_, read) => read(),
    historyId: '00000000-0000-0000-0000-000000000001',
    signer: new CheckpointSigner(new Uint8Array(32)),
  })

/** The agency's entries as a verification reads them, in order. */
async function entriesOf(agencyId = lived.agency.id): Promise<readonly LinkedEntry[]> {
  const range = { after: null, until: Number.MAX_SAFE_INTEGER, limit: 100_000 }
  const log = await new PostgresVerifyStore(database.sql).log(shardOf(agencyId), range)
  return log.filter((entry) => entry.agencyId === agencyId)
}

/** A tree of these entries that nothing was stored of. */
function treeOf(entries: readonly LinkedEntry[]): TreeEdge {
  const tree = new TreeEdge()
  for (const entry of entries) tree.append(leafHash(coveredText(entry)))
  return tree
}

/** What the newest checkpoint says. */
async function stored(agencyId = lived.agency.id): Promise<{ size: number; root: Hash }> {
  const found = readCheckpoint(await checkpoints().latest(agencyId))
  if (found === null) throw new Error('Cannot read a checkpoint')
  return found
}

/** Copies of the last entry of an agency, with the numbers that follow in its shard. @returns what the process that writes them notes */
async function write(agencyId: string, times: number): Promise<readonly DurableEntry[]> {
  const shard = shardOf(agencyId)
  const { lastSeq } = await database.sql<{ lastSeq: number }[]>`
    with ended as materialized (select max(seq) as seq from journal where shard = ${shard}),
    last as materialized (
      select to_jsonb(j) as entry from journal j where agency_id = ${uuidOf(agencyId)}::text::uuid order by seq desc limit 1),
    copied as (
      insert into journal
      select (jsonb_populate_record(null::journal, entry || jsonb_build_object('seq', seq + n, 'entry_id', gen_random_uuid()))).*
      from last, ended, generate_series(1, ${times}::int) n
      returning seq)
    select min(seq)::float8 - 1 as "lastSeq" from copied`.then(([row]) => row ?? { lastSeq: 0 })
  const range = { after: null, until: Number.MAX_SAFE_INTEGER, limit: 100_000 }
  const log = await new PostgresVerifyStore(database.sql).log(shard, range)
  return log.filter(({ seq }) => seq > lastSeq).map((entry) => ({ ...entry, leaf: leafHash(coveredText(entry)) }))
}

/** Copies of the agency's last entry, with numbers that follow. */
async function copyLastEntry(times: number): Promise<void> {
  await database.sql`
    insert into journal
    select (jsonb_populate_record(null::journal, to_jsonb(j) || jsonb_build_object('seq', j.seq + n, 'entry_id', gen_random_uuid()))).*
    from (select * from journal where agency_id = ${uuidOf(lived.agency.id)}::text::uuid order by seq desc limit 1) j,
         generate_series(1, ${times}::int) n`
}

async function expectWhole(agencyId = lived.agency.id): Promise<void> {
  const entries = await entriesOf(agencyId)
  const tree = treeOf(entries)
  const { size, root } = await stored(agencyId)
  expect([size, isSameHash(root, tree.root())]).toEqual([entries.length, true])
}

test('the canonical bytes of an entry are in SQL what its link covers, for every kind of entry and hostile text (M1)', async () => {
  await lived.live()
  const hostile = ['"', '\\', '\u0001\b\f\n\r\t\u001f', '\u007f\u2028é😀', '</script>', `${'x'.repeat(5_000)}"`]
  for (const [index, text] of hostile.entries()) {
    await copyLastEntry(1)
    await database.sql`
      update journal set request_id = ${text}, traceparent = ${index % 2 === 0 ? null : TRACEPARENT}, payload = ${`{"a":${JSON.stringify(text)}}`}, other_unit_id = gen_random_uuid(),
        booking_id = ${index % 2 === 0 ? null : crypto.randomUUID()}::text::uuid, actor_id = ${index % 3 === 0 ? null : crypto.randomUUID()}::text::uuid,
        actor_kind = ${(['key', 'access_token', 'portal', 'system'] as const)[index % 4] ?? 'key'}, at = timestamptz '1999-12-31 23:59:59.999Z' + ${index}::int * interval '9999 days'
      where seq = (select max(seq) from journal)`
  }
  const covered = await database.sql<{ text: string }[]>`select entry as "text" from leaves() order by seq`
  const entries = await entriesOf()
  expect(entries.length).toBe(9 + hostile.length)
  expect(covered.map(({ text }) => text)).toEqual(entries.map(coveredText))
  expect(new Set(entries.map(({ actor }) => actor.kind)).size).toBe(4)
})

describe('the stored tree', () => {
  test('is that of all entries, in rounds of any size, and each row is written once', async () => {
    const random = new SeededRandom(34)
    let own = builder()
    await own.round()
    await lived.live()
    for (let round = 0; round < 12; round++) {
      noteUnseen(own, lived.agency.id)
      await own.round()
      await expectWhole()
      await copyLastEntry(1 + random.below(40))
      // A process that starts finds what is missing by itself.
      if (round % 4 === 3) own = builder()
    }
    const [{ rows } = {}] = await database.sql<{ rows: number }[]>`select count(*)::int as rows from checkpoint`
    expect(rows).toBe(13)
  })

  test('gets more leaves than fit in one part in the same round', async () => {
    await copyLastEntry(LEAVES_PER_READ * 3)
    await builder().round()
    await expectWhole()
  })

  test('is the same when several processes build it at once, with edges that they have kept (M2)', async () => {
    const builders = [builder(), builder(), builder()] as const
    for (let round = 0; round < 6; round++) {
      await copyLastEntry(round * 7 + 1)
      for (const one of builders) noteUnseen(one, lived.agency.id)
      await Promise.all(builders.map((one) => one.round()))
      await expectWhole()
    }
    // One that was behind reads where the tree ends, in the round after.
    await copyLastEntry(3)
    noteUnseen(builders[0], lived.agency.id)
    await builders[0]?.round()
    await copyLastEntry(2)
    noteUnseen(builders[1], lived.agency.id)
    await builders[1]?.round()
    await builders[1]?.round()
    await expectWhole()
  })

  test('of a shard that comes back is continued, although its entries were noted by another process', async () => {
    let epoch = 1
    const own = new CheckpointBuilder({
      rows: new PostgresCheckpointRows(database.sql),
      clock: new FakeClock(0),
      owned: () => [{ shard: shardOf(lived.agency.id), epoch }],
      recent: recentLeaves({ epochOf: () => epoch }),
      onFailure: () => {},
    })
    await own.round()
    await copyLastEntry(5)
    await own.round()
    expect((await stored()).size).toBe(2)
    epoch = 2
    await own.round()
    await expectWhole()
  })

  test('gets no leaf of an entry that is not in the log, as after a fail-over that lost the end of it', async () => {
    await builder().round()
    const rows = new PostgresCheckpointRows(database.sql)
    await copyLastEntry(2)
    const end = await rows.end(lived.agency.id)
    const [next] = await rows.nextLeaves([end], 10)
    if (next === undefined) throw new Error('Expected leaves')
    await database.sql`update journal set entry_id = gen_random_uuid() where seq = ${next.lastSeq}`
    const tree = new TreeEdge(end.size, await rows.hashes(lived.agency.id, [{ level: 1, index: 0 }]))
    const hashes: Hash[] = []
    for (const leaf of next.leaves) tree.append(leaf, { onComplete: (hash) => hashes.push(hash) })
    const part = { ...next, firstLeaf: end.size, size: tree.size, hashes: Buffer.concat(hashes) }
    expect([...(await rows.keep([part]))]).toEqual([])
    await builder().round()
    await expectWhole()
  })

  test('whose last row was lost, as by a fail-over, is continued from where it ends now', async () => {
    const own = builder()
    await own.round()
    for (let round = 0; round < 3; round++) {
      await copyLastEntry(4)
      noteUnseen(own, lived.agency.id)
      await own.round()
    }
    await database.sql`delete from checkpoint where first_leaf = (select max(first_leaf) from checkpoint)`
    await copyLastEntry(1)
    noteUnseen(own, lived.agency.id)
    await own.round()
    await own.round()
    await expectWhole()
  })

  test('that lacks hashes is named, nothing is signed for it, and others continue', async () => {
    const other = await addAgency(lived.ledger, { id: sampleId('agc', 'other'), slug: 'other' })
    const unit = await addUnit(lived.ledger, other, sampleUnit({ id: sampleId('unt', 'other') }))
    await builder().round()
    await copyLastEntry(1)
    await builder().round()
    await database.sql`
      delete from checkpoint where agency_id = ${uuidOf(lived.agency.id)}::text::uuid and first_leaf = 0`
    await copyLastEntry(2)
    await lived.ledger.commands.book(other, requestFor(unit, '2030-01-01', '2030-01-03'), CALLER)
    const own = builder()
    await expect(own.round()).rejects.toThrow(TreeDamagedError)
    await expect(checkpoints().latest(lived.agency.id)).rejects.toThrow(TreeDamagedError)
    await expectWhole(other.id)
  })

  test('of an agency without entries is empty', async () => {
    await database.sql`delete from journal`
    await builder().round()
    expect((await stored()).size).toBe(0)
  })
})

describe('the leaves that a process has just made', () => {
  /** Counts what is read from the journal. */
  function counted() {
    const rows = new PostgresCheckpointRows(database.sql)
    const nextLeaves = rows.nextLeaves.bind(rows)
    const keep = rows.keep.bind(rows)
    const seen = { reads: 0, failing: false }
    rows.nextLeaves = (ends, limit) => {
      seen.reads += 1
      return nextLeaves(ends, limit)
    }
    rows.keep = (parts) => (seen.failing ? Promise.reject(new Error('no database')) : keep(parts))
    return { rows, seen }
  }

  test('extend its trees, and the journal is read once for each', async () => {
    const { rows, seen } = counted()
    const own = checkpointBuilder(database.sql, rows)
    // The first entry of the shard shows where the others begin.
    for (const entry of await write(lived.agency.id, 1)) own.note(entry)
    await own.round()
    expect(seen.reads).toBe(1)
    for (const times of [1, 3, LEAVES_AT_ONCE * 2 + 5, 40]) {
      for (const entry of await write(lived.agency.id, times)) own.note(entry)
      await own.round()
      await expectWhole()
    }
    expect(seen.reads).toBe(1)
  })

  test('are added to a tree only if they are in the log, of which a fail-over may have lost the end', async () => {
    const { rows, seen } = counted()
    const own = checkpointBuilder(database.sql, rows)
    for (const entry of await write(lived.agency.id, 1)) own.note(entry)
    await own.round()
    const entries = await write(lived.agency.id, 4)
    for (const entry of entries) own.note(entry)
    await database.sql`delete from journal where seq > ${entries[1]?.seq ?? 0} and shard = ${shardOf(lived.agency.id)}`
    await own.round()
    expect((await stored()).size).toBe(3)
    // The rest of the log gets its leaves, although nothing is written meanwhile.
    await own.round()
    await expectWhole()
    expect((await stored()).size).toBe(5)
    expect(seen.reads).toBe(2)
  })

  test('make the tree of all entries, whatever is lost, missed, repeated or built elsewhere meanwhile (M4)', async () => {
    const random = new SeededRandom(35)
    const shard = shardOf(lived.agency.id)
    const second = Array.from({ length: 5_000 }, (_, n) => sampleId('agc', `second-${n}`)).find(
      (id) => shardOf(id) === shard,
    )
    if (second === undefined) throw new Error('Expected an agency of the same shard')
    const agency = await addAgency(lived.ledger, { id: second, slug: 'second' })
    await addUnit(lived.ledger, agency, sampleUnit({ id: sampleId('unt', 'second'), slug: 'second' }))
    let epoch = 1
    const open = () => {
      const recent = recentLeaves({ epochOf: () => epoch, leavesMax: 25, agencyLeavesMax: 15 })
      const { rows, seen } = counted()
      return { seen, builder: checkpointBuilder(database.sql, rows, recent) }
    }
    let own = open()
    let [rounds, reads] = [0, 0]
    await own.builder.round()
    for (let step = 0; step < 60; step++) {
      const agencyId = random.pick([lived.agency.id, second])
      const entries = await write(agencyId, 1 + random.below(12))
      const event = random.pick([...EVENTS, ...PLAIN])
      // Not the last one: what follows a gap shows it.
      const missed = event === 'an entry is not noted' ? random.below(entries.length) : entries.length
      if (event === 'another process writes') {
        epoch += 1
        noteUnseen(own.builder, agencyId)
      } else {
        for (const entry of entries) if (entry !== entries[missed] || entry === entries.at(-1)) own.builder.note(entry)
      }
      if (event === 'the epoch rises') epoch += 1
      if (event === 'another process builds') await builder().round()
      if (event === 'the last row is lost')
        await database.sql`
          delete from checkpoint where (agency_id, first_leaf) = (
            select agency_id, max(first_leaf) from checkpoint where agency_id = ${uuidOf(agencyId)}::text::uuid group by 1)`
      if (event === 'the process restarts') own = open()
      if (random.below(3) === 0) continue
      if (event === 'the database is away') {
        own.seen.failing = true
        await expect(own.builder.round()).rejects.toThrow('no database')
        own.seen.failing = false
      }
      const before = own.seen.reads
      await own.builder.round()
      rounds += 1
      if (own.seen.reads > before) reads += 1
      // A tree that had another end than was remembered is read again in the next round.
      await own.builder.round()
      for (const id of [lived.agency.id, second]) await expectWhole(id)
    }
    expect(rounds - reads).toBeGreaterThan(8)
    expect(reads).toBeGreaterThan(8)
  })
})

const PLAIN = Array<'nothing'>(8).fill('nothing')
const EVENTS = [
  'an entry is not noted',
  'another process writes',
  'the epoch rises',
  'another process builds',
  'the last row is lost',
  'the process restarts',
  'the database is away',
] as const

describe('proofs from the stored tree', () => {
  test('every entry of a booking is included, and only entries of that booking are shown', async () => {
    const { moved, kept } = await lived.live()
    await builder().round()
    const entries = await entriesOf()
    for (const bookingId of [moved, kept]) {
      const { checkpoint, entries: proved } = await checkpoints().ofBooking(lived.agency.id, bookingId)
      const tree = readCheckpoint(checkpoint)
      const wanted = entries.flatMap((entry, index) =>
        entry.bookingId === bookingId ? [{ index, entry: coveredText(entry) }] : [],
      )
      expect(proved.map(({ index, entry }) => ({ index, entry }))).toEqual(wanted)
      expect(wanted.length).toBeGreaterThan(1)
      for (const { index, entry, hashes } of proved)
        expect(tree !== null && isIncluded({ index, hash: leafHash(entry) }, tree, hashes)).toBe(true)
    }
  })

  test('an entry that has no leaf yet is left out', async () => {
    await builder().round()
    const { kept } = await lived.live()
    expect((await checkpoints().ofBooking(lived.agency.id, kept)).entries).toEqual([])
  })

  test('between any two sizes there is a proof, and beyond the tree there is none', async () => {
    await copyLastEntry(20)
    await builder().round()
    const found = checkpoints()
    const entries = await entriesOf()
    const treeAt = (size: number) => ({ size, root: treeOf(entries.slice(0, size)).root() })
    for (let to = 0; to <= 22; to++)
      for (let from = 0; from <= to; from++) {
        const proof = await found.consistency(lived.agency.id, { from, to })
        if (proof.kind !== 'proved') throw new Error('Expected a proof')
        if (from === 0) expect(proof.hashes).toEqual([])
        else if (from === to) expect(proof.hashes).toEqual([])
        else expect(isConsistent(treeAt(from), treeAt(to), proof.hashes)).toBe(true)
      }
    expect(await found.consistency(lived.agency.id, { from: 1, to: 23 })).toEqual({ kind: 'beyond', size: 22 })
  })
})
