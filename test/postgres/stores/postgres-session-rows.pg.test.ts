import { afterAll, expect, test } from 'bun:test'
import type { SessionHolder, StoredSession } from '../../../src/accounts/portal-sessions.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import { systemIds, uuidOf } from '../../../src/lib/ids.ts'
import { PostgresSessionRows } from '../../../src/postgres/stores/postgres-session-rows.ts'
import { agenciesOfShards } from '../../support/journal-records.ts'
import { testDatabase } from '../../support/postgres.ts'
import { insertAgency } from '../../support/sample-rows.ts'

const [A = '', B = ''] = agenciesOfShards(2)
const SEEN = Date.UTC(2027, 0, 1)

const database = await testDatabase()
const rows = new PostgresSessionRows(database.sql)
afterAll(() => database.drop())

async function tokenOf(agencyId: string): Promise<SessionHolder> {
  const tokenId = systemIds('tok')
  await insertAgency(database.sql, agencyId)
  await database.sql`
    insert into access_token (agency_id, token_id, name, role, prefix, secret_sha256, created_at)
    values (${uuidOf(agencyId)}, ${uuidOf(tokenId)}, 'Ada', 'manager', 'nl_', ${sha256(agencyId)}, now())`
  return { kind: 'access_token', agencyId, id: tokenId }
}

async function personOf(agencyId: string): Promise<SessionHolder> {
  const id = systemIds('per')
  await database.sql`
    insert into person (agency_id, person_id, name, role, created_at, revision)
    values (${uuidOf(agencyId)}, ${uuidOf(id)}, 'Rui', 'desk', now(), 0)`
  return { kind: 'person', agencyId, id }
}

const sha256 = (text: string) => new Bun.CryptoHasher('sha256').update(text).digest('hex')
const session = (name: string, holder: SessionHolder): StoredSession => ({
  id: systemIds('ses'),
  sha256: sha256(name),
  holder,
  device: 'Firefox',
  address: '192.0.2.1',
  way: 'link',
  createdAt: SEEN,
  seenAt: SEEN,
})
const namesOf = (sessions: readonly StoredSession[]) => sessions.map(({ sha256 }) => sha256).sort()

test('a node loads the sessions of the operator, or those of its own shards, and each as it was stored', async () => {
  const holders: SessionHolder[] = [
    { kind: 'operator', tokenHmac: sha256('token') },
    await tokenOf(A),
    await personOf(A),
    await tokenOf(B),
  ]
  const sessions = holders.map((holder, n) => ({ ...session(`${n}`, holder), seenAt: SEEN + n }))
  const own = rows.writtenByNode(
    () => 0,
    () => [],
  )
  for (const session of sessions) await own.insert(session)
  const [operator, ofA, ofPerson, ofB] = sessions as [StoredSession, StoredSession, StoredSession, StoredSession]
  expect(await rows.load('operator')).toEqual([operator])
  const bySeen = (a: StoredSession, b: StoredSession) => a.seenAt - b.seenAt
  expect((await rows.load([shardOf(A)])).toSorted(bySeen)).toEqual([ofA, ofPerson])
  expect(namesOf(await rows.load([shardOf(A), shardOf(B)]))).toEqual(namesOf([ofA, ofPerson, ofB]))
  expect(namesOf(await rows.load())).toEqual(namesOf(sessions))
})

test('what was used is noted, never as earlier than it was, and what has ended or was not used since a moment is gone', async () => {
  await database.sql`delete from portal_session`
  const holder: SessionHolder = { kind: 'operator', tokenHmac: sha256('token') }
  const node = rows.writtenByNode(
    () => 0,
    () => [],
  )
  for (const name of ['used', 'late', 'ended', 'idle'])
    await node.insert({ ...session(name, holder), seenAt: SEEN + 1_000 })
  await node.insert({ ...session('at that moment', holder), seenAt: SEEN })
  await database.sql`update portal_session set seen_at = ${new Date(SEEN - 5_000)} where secret_sha256 = ${sha256('idle')}`
  const [fence] = await database.sql<{ epoch: number }[]>`select epoch::int from shard where shard = 0`
  await rows
    .writtenBy(() => fence?.epoch ?? -1)
    .keep({
      seen: [
        { sha256: sha256('used'), seenAt: SEEN + 9_000 },
        { sha256: sha256('late'), seenAt: SEEN },
      ],
      ended: [sha256('ended')],
      idleSince: SEEN,
    })
  const left = Object.fromEntries((await rows.load()).map(({ sha256, seenAt }) => [sha256, seenAt]))
  expect(left).toEqual({
    [sha256('used')]: SEEN + 9_000,
    [sha256('late')]: SEEN + 1_000,
    [sha256('at that moment')]: SEEN,
  })
})

test('a node notes and ends sessions as a single writer does, and deletes the idle ones of the operator and of its own shards', async () => {
  await database.sql`delete from portal_session`
  const holders: Record<string, SessionHolder> = { operator: { kind: 'operator', tokenHmac: sha256('token') } }
  for (const [name, agencyId] of [
    ['own', A],
    ['other', B],
  ] as const) {
    await insertAgency(database.sql, agencyId)
    holders[name] = await personOf(agencyId)
  }
  const node = rows.writtenByNode(
    () => 0,
    () => [shardOf(A)],
  )
  for (const [name, holder] of Object.entries(holders))
    for (const state of ['idle', 'used', 'ended']) await node.insert(session(`${state} ${name}`, holder))
  await node.insert({ ...session('at that moment', holders['own'] as SessionHolder), seenAt: SEEN + 1 })
  await node.keep({
    seen: Object.keys(holders).map((name) => ({ sha256: sha256(`used ${name}`), seenAt: SEEN + 9_000 })),
    ended: Object.keys(holders).map((name) => sha256(`ended ${name}`)),
    idleSince: SEEN + 1,
  })
  const left = Object.fromEntries((await rows.load()).map(({ sha256, seenAt }) => [sha256, seenAt]))
  expect(left).toEqual({
    [sha256('used operator')]: SEEN + 9_000,
    [sha256('used own')]: SEEN + 9_000,
    [sha256('used other')]: SEEN + 9_000,
    [sha256('idle other')]: SEEN,
    [sha256('at that moment')]: SEEN + 1,
  })
})
