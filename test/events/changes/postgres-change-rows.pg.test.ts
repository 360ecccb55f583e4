/** The log as the feed reads it: from Postgres as from memory, after a month was archived, and after a backup was restored. */

import { expect, test } from 'bun:test'
import { keepMonthEnds } from '../../../src/app/month-archive.ts'
import type { ChangeRows } from '../../../src/events/changes/change-page.ts'
import { PostgresChangeRows } from '../../../src/postgres/stores/postgres-change-rows.ts'
import { makeCheckpoints } from '../../support/checkpoints.ts'
import { booked } from '../../support/journal-records.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../../support/open-ledger.ts'
import { clockAt, haveMonthsSince, monthsAgo } from '../../support/past-months.ts'
import { copyOf, testDatabase } from '../../support/postgres.ts'
import { CALLER, requestFor, sampleUnit } from '../../support/samples.ts'
import { describeChangeRows, endOf, LOG_AGENCIES, seqsAfter } from './change-rows.contract.ts'

const [A, B] = LOG_AGENCIES

type Opened = Awaited<ReturnType<typeof openTestDatabaseLedger>>

async function open(url: string, now = () => Date.now()): Promise<{ ledger: Opened; rows: ChangeRows }> {
  const ledger = await openTestDatabaseLedger(url, { clock: clockAt(now) })
  return { ledger, rows: new PostgresChangeRows(ledger.lists) }
}

describeChangeRows('Postgres', async () => {
  const database = await testDatabase()
  const { ledger, rows } = await open(database.url)
  for (const id of LOG_AGENCIES) await addAgency(ledger, { id, slug: id })
  const close = async () => {
    await ledger.close()
    await database.drop()
  }
  return { journal: ledger.journal, rows, close }
})

test('a month that was archived: its places have expired, the start is what is left, and the newest place of it is good', async () => {
  const database = await testDatabase()
  const [then, later] = [monthsAgo(2), monthsAgo(1)]
  await haveMonthsSince(database.sql, then)
  let now = Date.parse(`${then}T12:00:00Z`)
  const { ledger, rows } = await open(database.url, () => now)
  const agency = await addAgency(ledger)
  const unit = await addUnit(ledger, agency, sampleUnit())
  const book = (day: number) =>
    ledger.commands.book(agency, requestFor(unit, `2030-01-0${day}`, `2030-01-0${day + 1}`), CALLER)
  await book(1)
  await book(2)
  const old = await rows.read(agency.id, { from: 'start', entriesMax: 100, shown: [] })
  const [first, second] = old?.entries ?? []
  if (old === null || first === undefined || second === undefined) throw new Error('Expected two changes')
  now = Date.parse(`${later}T12:00:00Z`)
  await book(3)
  await ledger.directory.snapshotAll()
  await makeCheckpoints(database.sql)
  await keepMonthEnds(database.sql, then)
  await database.sql`select retire_month(${then}::text::date)`
  expect(await seqsAfter(rows, { seq: first.seq, fingerprint: first.fingerprint }, agency.id)).toBeNull()
  const newest = { seq: second.seq, fingerprint: second.fingerprint }
  expect(newest).toEqual(old.end)
  expect(await seqsAfter(rows, newest, agency.id)).toEqual([second.seq + 1])
  expect(await seqsAfter(rows, 'start', agency.id)).toEqual([second.seq + 1])
  // Another shard, without entries.
  expect(await seqsAfter(rows, 'start', B)).toEqual([])
  await ledger.close()
  await database.drop()
})

test('after a backup was restored, places up to it are good; what was given up has expired, also when the log is as long again', async () => {
  const lost = await testDatabase()
  let { ledger, rows } = await open(lost.url)
  await ledger.journal.append(booked('1', { agencyId: A }))
  const kept = await endOf(rows)
  await ledger.close()
  const restored = await copyOf(lost)
  ;({ ledger, rows } = await open(lost.url))
  await ledger.journal.append(booked('2', { agencyId: A }))
  const givenUp = await endOf(rows)
  await ledger.close()
  ;({ ledger, rows } = await open(restored.url))
  expect(await seqsAfter(rows, givenUp)).toBeNull()
  await ledger.journal.append(booked('3', { agencyId: A }))
  await ledger.journal.append(booked('4', { agencyId: A }))
  expect(await seqsAfter(rows, givenUp)).toBeNull()
  expect(await seqsAfter(rows, kept)).toEqual([2, 3])
  await ledger.close()
  await restored.drop()
  await lost.drop()
})
