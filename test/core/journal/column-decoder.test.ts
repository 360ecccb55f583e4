/** Rows that were read column by column are those that `decoderOf` reads one by one. */
import { expect, test } from 'bun:test'
import {
  columnDecoderOf,
  decoderOf,
  id,
  instant,
  integer,
  night,
  nullable,
  text,
  texts,
} from '../../../src/core/journal/fields.ts'
import { CorruptLedgerError } from '../../../src/core/journal/journal-error.ts'

const FIELDS = {
  id: id('agc'),
  sandboxOf: nullable(id('agc')),
  name: text(),
  day: night(),
  at: instant(),
  until: nullable(instant()),
  count: integer(),
  words: texts(),
}
const ROWS = [
  {
    id: '01234567-89ab-cdef-0123-456789abcdef',
    sandboxOf: null,
    name: 'à “x”',
    day: '2027-03-01',
    at: '2027-03-01T00:00:00+00:00',
    until: null,
    count: 0,
    words: ['a', 'b'],
  },
  {
    id: 'f'.repeat(32),
    sandboxOf: '0'.repeat(32),
    name: '',
    day: '2000-01-01',
    at: '2027-03-01T00:00:00.123Z',
    until: '2027-03-02T00:00:00Z',
    count: -1,
    words: [],
  },
]

const read = columnDecoderOf(FIELDS)

function columnsOf(rows: readonly object[]): Parameters<typeof read>[0] {
  const columns = Object.keys(FIELDS).map((name) => [name, rows.map((row) => Reflect.get(row, name))])
  return Object.fromEntries(columns)
}

test('rows are read from their columns as they are read one by one', () => {
  expect(read(columnsOf(ROWS))).toEqual(ROWS.map(decoderOf(FIELDS)))
  expect(read(columnsOf([]))).toEqual([])
})

const [first] = ROWS
const BAD = [
  { ...first, name: null },
  { ...first, name: undefined },
  { ...first, day: '2027-02-30' },
  { ...first, at: 'now' },
  { ...first, id: 7 },
]

test.each(BAD)('a row with a value that is missing or has another form is refused: %p', (row) => {
  expect(() => read(columnsOf([...ROWS, row]))).toThrow(CorruptLedgerError)
})

test('a column that was not read is refused', () => {
  const { name: _, ...others } = columnsOf(ROWS)
  expect(() => read(others as Parameters<typeof read>[0])).toThrow(CorruptLedgerError)
})
