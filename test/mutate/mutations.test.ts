import { describe, expect, test } from 'bun:test'
import { codeMutations } from './code-mutations.ts'
import { coveringTests, linesOf } from './covering-tests.ts'
import { describeMutation, mutated } from './mutation.ts'
import { schemaMutations, sqlMutations } from './sql-mutations.ts'

const all = (code: string) => codeMutations('src/x.ts', code).map((mutation) => mutated(code, mutation))

describe('in code, one thing at a time is broken:', () => {
  test('a condition is negated, and a bound moved', () => {
    expect(all('if (a < 1) b()')).toEqual(['if (!(a < 1)) b()', 'if (a <= 1) b()', 'if (a < 2) b()', 'if (a < 1) {}'])
  })

  test('an equality that is the whole condition is not exchanged as well', () => {
    expect(all('x = a === b ? 1 : 2')).toEqual(['{}', 'x = !(a === b) ? 1 : 2'])
  })

  test('an await is left out, but not before what is returned', () => {
    expect(all('async () => { const a = await f(); return await g() }')).toEqual([
      '{}',
      'async () => { const a = f(); return await g() }',
    ])
  })

  test('asserts, log lines, types and texts stay as they are', () => {
    expect(all("assert(a); this.log.warn({}, 'x')")).toEqual([])
    expect(all('type A = B extends 1 ? 2 : 3')).toEqual([])
    expect(all("const a = 'b' + c")).toEqual([])
  })

  test('SQL in a template is broken like that of the schema', () => {
    expect(all('const a = sql`select 1 where b and c is null`')).toEqual([
      'const a = sql`select 1 where b or c is null`',
      'const a = sql`select 1 where b and c is not null`',
    ])
  })
})

describe('in SQL', () => {
  test('comments, strings, casts and the `and` of `between` stay as they are', () => {
    expect(sqlMutations('x.sql', "select 'a < b' -> x -- c < d\nwhere e between 1 and 2")).toEqual([])
  })

  test('only functions that no later file replaces are broken', () => {
    const file =
      'create function f() returns void as $$ begin a < b; end $$;\ncreate function g() returns void as $$ c > d $$;'
    const later = ['create or replace function f() returns void as $$ e $$;']
    const [only, ...others] = schemaMutations('sql/1.sql', file, later)
    expect(others).toEqual([])
    expect(only && describeMutation(file, only).after).toBe('create function g() returns void as $$ c >= d $$;')
  })
})

test('tests without Postgres come first, then those of the same subject, then the quickest', () => {
  const [hash, lines] = ['', { 'src/core/x.ts': [3] }]
  const coverage = {
    'test/api/a.pg.test.ts': { hash, ms: 10, lines },
    'test/core/b.pg.test.ts': { hash, ms: 50, lines },
    'test/api/c.test.ts': { hash, ms: 900, lines },
    'test/core/d.test.ts': { hash, ms: 1, lines: { 'src/core/x.ts': [9] } },
  }
  const expected = ['test/api/c.test.ts', 'test/core/b.pg.test.ts', 'test/api/a.pg.test.ts']
  expect(coveringTests(coverage, [{ file: 'src/core/x.ts', line: 3 }])).toEqual(expected)
  // In the middle of a statement that began at line 3.
  expect(coveringTests(coverage, [{ file: 'src/core/x.ts', line: 5 }])).toEqual(expected)
})

test('of a coverage report the executed lines of src are read', () => {
  expect(linesOf('SF:src/a.ts\nDA:1,2\nDA:2,0\nend_of_record\nSF:test/b.ts\nDA:1,1\n')).toEqual({ 'src/a.ts': [1] })
})
