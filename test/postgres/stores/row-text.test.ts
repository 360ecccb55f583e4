/** The function made for a table writes what a loop over its columns would. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { FieldKind } from '../../../src/core/journal/fields.ts'
import { systemIds, uuidOf } from '../../../src/lib/ids.ts'
import { rowTextOf } from '../../../src/postgres/stores/table.ts'
import { BOOKING_ROW, JOURNAL_ROW } from '../../../src/postgres/stores/tables.ts'

/** PostgreSQL, "Composite Types" and "Arrays": everything is quoted twice, except what needs no quotes. */
function member(kind: FieldKind, value: unknown): string {
  if (value === null) return ''
  if (typeof value !== 'string') return String(value)
  if (kind === 'id') return uuidOf(value)
  if (value !== '' && !/["\\(),]/.test(value)) return value
  const quoted = `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
  return quoted.replaceAll('\\', '\\\\').replaceAll('"', '\\"')
}

const TEXTS = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', '"', '\\', '\\"', '(', 'a,b', 'null', 'NULL', ' ', "'", '{}', 'à “x” \u{1f3d6}'),
)

const VALUES: Record<FieldKind, fc.Arbitrary<unknown>> = {
  id: fc.constantFrom('agc', 'unt', 'bkg').map((prefix) => systemIds(prefix as 'agc')),
  text: TEXTS,
  integer: fc.integer(),
  bigint: fc.maxSafeInteger(),
  digits: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  double: fc.double({ noNaN: true }),
  boolean: fc.boolean(),
  night: fc.constantFrom('2000-01-01', '2027-03-01'),
  instant: fc.constantFrom('2027-03-01T00:00:00.000Z'),
  texts: fc.constant(null),
  json: TEXTS,
}

for (const { name, columns } of [JOURNAL_ROW, BOOKING_ROW]) {
  test(`${name}, whatever its texts are`, () => {
    const rowText = rowTextOf(columns)
    const rows = fc.record(
      Object.fromEntries(
        columns.map(({ field, kind, isNullable }) => [
          field,
          isNullable ? fc.option(VALUES[kind], { nil: null }) : VALUES[kind],
        ]),
      ),
    )
    fc.assert(
      fc.property(rows, (row) => {
        expect(rowText(row)).toBe(`(${columns.map(({ field, kind }) => member(kind, row[field])).join(',')})`)
      }),
    )
  })
}

test('a row without one of its values is not written', () => {
  for (const kind of ['id', 'text', 'integer'] as const)
    expect(() => rowTextOf([{ field: 'a', kind }])({ b: 1 })).toThrow('Cannot write a row: a value is missing')
})

test('an id of another form is not written: it could end its member', () => {
  expect(() => rowTextOf([{ field: 'a', kind: 'id' }])({ a: 'bkg_1,2' })).toThrow('Cannot use bkg_1,2 as an id')
})
