import { describe, expect, test } from 'bun:test'
import { faultsOf } from '../../../src/postgres/client/check-server.ts'

const FIT = {
  versionNum: 150_000,
  fsync: 'on',
  synchronousCommit: 'on',
  encoding: 'UTF8',
  isReadOnly: false,
  isInRecovery: false,
}

describe('a database server', () => {
  test.each([
    ['the oldest supported', FIT],
    ['a newer one', { ...FIT, versionNum: 180_004 }],
    ['one that waits for a standby', { ...FIT, synchronousCommit: 'remote_apply' }],
    ['one that flushes locally', { ...FIT, synchronousCommit: 'local' }],
  ])('%s is fit', (_, settings) => {
    expect(faultsOf(settings)).toEqual([])
  })

  test('every unfit setting is named in a sentence', () => {
    expect(
      faultsOf({ ...FIT, versionNum: 140_012, fsync: 'off', synchronousCommit: 'off', encoding: 'SQL_ASCII' }),
    ).toEqual([
      'It runs PostgreSQL 14; version 15 or newer is required.',
      'The setting fsync is off, so a power failure can lose bookings: set fsync = on.',
      'The setting synchronous_commit is off, so a crash can lose bookings: set synchronous_commit = on.',
      "The database has the encoding SQL_ASCII, which cannot store every name: create one with encoding 'UTF8' template template0.",
    ])
  })

  test.each([
    ['a standby', { isInRecovery: true, isReadOnly: true }, 'the server is a standby (pg_is_in_recovery)'],
    ['a read-only session', { isReadOnly: true }, 'the session is read-only (transaction_read_only is on)'],
  ])('%s is unfit, because it takes no writes', (_, state, why) => {
    expect(faultsOf({ ...FIT, ...state })).toEqual([
      `It does not accept writes: ${why}. Set DATABASE_URL to the primary.`,
    ])
  })
})
