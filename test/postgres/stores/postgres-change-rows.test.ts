import { expect, test } from 'bun:test'
import type { ListReads } from '../../../src/postgres/stores/list-reads.ts'
import { PostgresChangeRows } from '../../../src/postgres/stores/postgres-change-rows.ts'
import { sampleId } from '../../support/samples.ts'

/** Rows of a database that fails the first read. */
function failingOnce(error: Error) {
  const end = { seq: 7, fingerprint: '0'.repeat(16), kind: null }
  const seen = { reads: 0 }
  const lists = {
    sql: () => null,
    read: async () => {
      seen.reads += 1
      if (seen.reads === 1) throw error
      return [end]
    },
  } as unknown as ListReads
  const read = () =>
    new PostgresChangeRows(lists).read(sampleId('agc', 'a'), {
      from: 'start',
      entriesMax: 10,
      shown: [],
    })
  return { seen, read }
}

test('changes are read again when a month was archived in the moment of the read', async () => {
  const { seen, read } = failingOnce(Object.assign(new Error('deadlock detected'), { code: '40P01' }))
  expect(await read()).toEqual({ end: { seq: 7, fingerprint: '0'.repeat(16) }, entries: [] })
  expect(seen.reads).toBe(2)
})

test('any other failure of the read is the answer at once', async () => {
  const lost = new Error('connection lost')
  const { seen, read } = failingOnce(lost)
  expect(await read().catch((error: unknown) => error)).toBe(lost)
  expect(seen.reads).toBe(1)
})
