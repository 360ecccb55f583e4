import { expect, test } from 'bun:test'
import { AgencyDirectory, type DirectoryRows } from '../../../src/cluster/forward/agency-directory.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import type { Named, Naming } from '../../../src/postgres/stores/postgres-directory-rows.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const AGENCY_ID = `agc_${'1'.repeat(32)}`
const KEY = { kind: 'key', name: 'k'.repeat(64) } as const

/** Rows in memory that record what they are asked, and answer when `answer` is called. */
function rowsOf(...given: (Omit<Named, 'isForGood'> & { readonly isForGood?: boolean })[]) {
  const named: Named[] = given.map((each) => ({ isForGood: true, ...each }) as Named)
  const requests: (readonly Naming[])[] = []
  let failure: Error | null = null
  const rows: DirectoryRows = {
    find: async (names) => {
      requests.push(names)
      await Bun.sleep(1)
      if (failure !== null) throw failure
      return named.filter(({ kind, name }) => names.some((each) => each.kind === kind && each.name === name))
    },
  }
  return { rows, requests, named, fail: (error: Error | null) => (failure = error) }
}

test('a name is looked up once, and known from then on', async () => {
  const { rows, requests } = rowsOf({ ...KEY, agencyId: AGENCY_ID })
  const directory = new AgencyDirectory(rows, new FakeClock())
  expect(await directory.home(KEY)).toBe(shardOf(AGENCY_ID))
  expect(directory.home(KEY)).toBe(shardOf(AGENCY_ID))
  expect(requests).toHaveLength(1)
})

test('a session without an agency is the operator’s', async () => {
  const session = { kind: 'session', name: 's' } as const
  const directory = new AgencyDirectory(rowsOf({ ...session, agencyId: null }).rows, new FakeClock())
  expect(await directory.home(session)).toBe('operator')
})

test('a key is no token: names of different kinds are different', async () => {
  const directory = new AgencyDirectory(rowsOf({ ...KEY, agencyId: AGENCY_ID }).rows, new FakeClock())
  expect(await directory.home({ kind: 'token', name: KEY.name })).toBeNull()
})

test('look-ups of the same moment share a statement, and those that arrive meanwhile the next one', async () => {
  const { rows, requests } = rowsOf({ ...KEY, agencyId: AGENCY_ID })
  const directory = new AgencyDirectory(rows, new FakeClock())
  const first = [directory.home(KEY), directory.home(KEY), directory.home({ kind: 'token', name: 'a' })]
  await Promise.resolve()
  await Promise.resolve()
  const later = ['b', 'c', 'd'].map((name) => directory.home({ kind: 'token', name }))
  await Promise.all([...first, ...later])
  expect(requests.map((names) => names.map(({ name }) => name.slice(0, 1)))).toEqual([
    ['k', 'a'],
    ['b', 'c', 'd'],
  ])
})

test('a wrong secret asks the database once in a while; an agency that does not exist, every time', async () => {
  const clock = new FakeClock()
  const { rows, requests } = rowsOf()
  const directory = new AgencyDirectory(rows, clock)
  expect(await directory.home(KEY)).toBeNull()
  expect(directory.home(KEY)).toBeNull()
  expect(requests).toHaveLength(1)
  await clock.advance(5_000)
  expect(await directory.home(KEY)).toBeNull()
  expect(requests).toHaveLength(2)
  const slug = { kind: 'slug', name: 'harbour' } as const
  expect([await directory.home(slug), await directory.home(slug)]).toEqual([null, null])
  expect(requests).toHaveLength(4)
})

test('a look-up that fails rejects, and the next one asks again', async () => {
  const { rows, fail } = rowsOf({ ...KEY, agencyId: AGENCY_ID })
  const directory = new AgencyDirectory(rows, new FakeClock())
  fail(new Error('away'))
  expect(Promise.resolve(directory.home(KEY))).rejects.toThrow('away')
  await Bun.sleep(5)
  fail(null)
  expect(await directory.home(KEY)).toBe(shardOf(AGENCY_ID))
})

test('the slug of a sandbox, which another agency may have once that is deleted, is asked for every time', async () => {
  const slug = { kind: 'slug', name: 'harbour-sandbox' } as const
  const { rows, named } = rowsOf({ ...slug, agencyId: AGENCY_ID, isForGood: false })
  const directory = new AgencyDirectory(rows, new FakeClock())
  expect(await directory.home(slug)).toBe(shardOf(AGENCY_ID))
  const other = `agc_${'2'.repeat(32)}`
  named[0] = { ...slug, agencyId: other, isForGood: true }
  expect(await directory.home(slug)).toBe(shardOf(other))
  expect(directory.home(slug)).toBe(shardOf(other))
})
