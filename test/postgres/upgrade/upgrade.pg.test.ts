import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { connect, type Sql } from '../../../src/postgres/client/connect.ts'
import { dumpSchema } from '../../../src/postgres/schema/schema-dump.ts'
import { upgradeState } from '../../../src/postgres/upgrade/old-ledger.ts'
import { copyAhead, copyAndSwitch, type UpgradeOptions } from '../../../src/postgres/upgrade/upgrade.ts'
import { fillOldLedger, makeOldDatabase, OLD_SECRET_KEY, type OldWorld, OldWriter } from '../../support/old-ledger.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'

let database: TestDatabase
let sql: Sql
let writer: OldWriter
let world: OldWorld
let steps: string[]
let options: UpgradeOptions

beforeEach(async () => {
  database = await testDatabase({ template: 'empty' })
  await makeOldDatabase(database.url)
  sql = connect(database.url, { purpose: 'admin' })
  writer = new OldWriter(sql)
  await writer.takeOver()
  world = await fillOldLedger(sql, writer)
  steps = []
  options = { databaseUrl: database.url, secretKey: OLD_SECRET_KEY, onStep: (step) => steps.push(step) }
})

afterEach(async () => {
  await sql.end({ timeout: 0 })
  await database.drop()
})

describe('an upgrade from the layout before shards', () => {
  test('gives the schema of a new database', async () => {
    const outcome = await copyAndSwitch(options)
    expect(outcome).toEqual({ copiedSeq: writer.lastSeq, unknownCallers: 0, differentBodies: 0 })
    expect(await upgradeState(sql)).toEqual({ stage: 'switched', main: 'public' })
    const fresh = await testDatabase()
    expect(await dumpSchema(sql)).toBe(await dumpSchema(fresh.sql))
    await fresh.drop()
  })
})
