import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { SessionHolder, StoredSession } from '../../../src/access/portal-sessions.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import { systemIds, uuidOf } from '../../../src/lib/ids.ts'
import { PostgresSessionRows } from '../../../src/postgres/stores/postgres-session-rows.ts'
import { agenciesOfShards } from '../../support/journal-records.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { insertAgency } from '../../support/sample-rows.ts'

const [A = '', B = ''] = agenciesOfShards(2)
const SEEN = Date.UTC(2027, 0, 1)

let database: TestDatabase
let rows: PostgresSessionRows
beforeAll(async () => {
  database = await testDatabase()
  rows = new PostgresSessionRows(database.sql)
})
afterAll(() => database.drop())

async function tokenOf(agencyId: string): Promise<SessionHolder> {
  const tokenId = systemIds('tok')
  await insertAgency(database.sql, agencyId)
  await database.sql`
    insert into access_token (agency_id, token_id, name, role, prefix, secret_sha256, created_at)
    values (${uuidOf(agencyId)}, ${uuidOf(tokenId)}, 'Ada', 'manager', 'nl_', ${sha256(agencyId)}, now())`
  return { kind: 'access_token', agencyId, tokenId }
}

const sha256 = (text: string) => new Bun.CryptoHasher('sha256').update(text).digest('hex')
const namesOf = (sessions: readonly StoredSession[]) => sessions.map(({ sha256 }) => sha256).sort()

test('a node loads the sessions of the operator, or those of its own shards, and each as it was stored', async () => {
  const holders: SessionHolder[] = [
    { kind: 'operator', tokenHmac: sha256('token') },
    await tokenOf(A),
    await tokenOf(B),
  ]
  const sessions = holders.map((holder, n) => ({ sha256: sha256(`${n}`), holder, createdAt: SEEN, seenAt: SEEN + n }))
  const own = rows.writtenByNode(
    () => 0,
    () => [],
  )
  for (const session of sessions) await own.insert(session)
  const [operator, ofA, ofB] = sessions as [StoredSession, StoredSession, StoredSession]
  expect(await rows.load('operator')).toEqual([operator])
  expect(await rows.load([shardOf(A)])).toEqual([ofA])
  expect(namesOf(await rows.load([shardOf(A), shardOf(B)]))).toEqual(namesOf([ofA, ofB]))
  expect(namesOf(await rows.load())).toEqual(namesOf(sessions))
})
