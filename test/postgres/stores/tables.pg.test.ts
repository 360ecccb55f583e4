import { afterAll, describe, expect, test } from 'bun:test'
import type { FieldKind } from '../../../src/core/journal/fields.ts'
import type { Column } from '../../../src/postgres/stores/table.ts'
import * as tables from '../../../src/postgres/stores/tables.ts'
import { testDatabase } from '../../support/postgres.ts'

const database = await testDatabase()
afterAll(() => database.drop())

const TYPE_OF: Record<FieldKind, string> = {
  id: 'uuid',
  text: 'text',
  integer: 'integer',
  bigint: 'bigint',
  digits: 'bigint',
  double: 'double precision',
  boolean: 'boolean',
  night: 'date',
  instant: 'timestamp with time zone',
  texts: 'text[]',
  json: 'jsonb',
}

/** Members whose type is narrower than their kind. */
const NARROWER: Record<string, string> = { 'journal_row.shard': 'smallint' }

/** Columns that only the database reads or writes, or that no row of a list has. */
const UNDECLARED: Record<string, readonly string[]> = {
  fee_type: ['position'],
  guest: ['agency_id'],
  webhook_endpoint: ['revision', 'made_seq', 'made_month', 'from_seq'],
}

async function columnsOf(name: string) {
  return database.sql<{ name: string; type: string; isNullable: boolean }[]>`
    select attname as "name", format_type(atttypid, atttypmod) as "type", not attnotnull as "isNullable"
    from pg_attribute where attrelid = ${name}::regclass and attnum > 0 and not attisdropped order by attnum`
}

const DECLARED = Object.values(tables).filter((each) => 'columns' in each)

describe('the declared columns are those of the database:', () => {
  for (const { name, columns } of DECLARED.filter(({ name }) => name.endsWith('_row'))) {
    test(`${name}, with its members in their order`, async () => {
      const members = (await columnsOf(name)).map((member) => [member.name, member.type])
      const typeOf = (column: Column) => NARROWER[`${name}.${column.name}`] ?? TYPE_OF[column.kind]
      expect(columns.map((column) => [column.name, typeOf(column)])).toEqual(members)
    })
  }

  for (const { name, columns } of DECLARED.filter(({ name }) => !name.endsWith('_row'))) {
    test(name, async () => {
      const undeclared = UNDECLARED[name] ?? []
      const there = (await columnsOf(name)).filter((column) => !undeclared.includes(column.name))
      const declared = columns.map(({ name, kind, isNullable }) => ({ name, type: TYPE_OF[kind], isNullable }))
      const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)
      expect(declared.toSorted(byName)).toEqual(there.map((column) => ({ ...column })).toSorted(byName))
    })
  }
})
