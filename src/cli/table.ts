import type { Json } from './portal-client.ts'

/** The title of each column, with the member that it shows, or how to get its value. */
export type Columns<Row = Json> = Readonly<Record<string, (keyof Row & string) | ((row: Row) => unknown)>>

/**
 * Lines of text with columns under one another, for people. Numbers are aligned to the right.
 * @param empty what is said when there are no rows
 */
export function table<Row>(rows: readonly Row[], columns: Columns<Row>, empty = 'None.'): string {
  if (rows.length === 0) return `${empty}\n`
  const values = rows.map((row) => valuesOf(row, columns))
  const cells = [Object.keys(columns), ...values.map((line) => line.map(cellOf))]
  const layout = Object.keys(columns).map((_, at) => ({
    width: Math.max(...cells.map((line) => Bun.stringWidth(line[at] ?? ''))),
    isRight: values.some((line) => typeof line[at] === 'number'),
  }))
  const lineOf = (line: readonly string[]) =>
    layout
      .map(({ width, isRight }, at) => {
        const text = line[at] ?? ''
        const blanks = ' '.repeat(width - Bun.stringWidth(text))
        return isRight ? blanks + text : text + blanks
      })
      .join('  ')
      .trimEnd()
  return `${cells.map(lineOf).join('\n')}\n`
}

/** What a row shows, column by column. */
export function valuesOf<Row>(row: Row, columns: Columns<Row>): unknown[] {
  return Object.values(columns).map((column) => (typeof column === 'function' ? column(row) : row[column]))
}

/** One object, a member on each line. */
export function listing(object: Readonly<Record<string, unknown>>): string {
  const flat = flattened(object)
  const width = Math.max(...flat.map(([name]) => name.length))
  return `${flat.map(([name, value]) => `${name.padEnd(width)}  ${cellOf(value)}`).join('\n')}\n`
}

function flattened(object: Readonly<Record<string, unknown>>, path = ''): [string, unknown][] {
  return Object.entries(object).flatMap(([name, value]): [string, unknown][] =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? flattened(value as Record<string, unknown>, `${path}${name}.`)
      : [[`${path}${name}`, value]],
  )
}

/** Text for a line of a terminal. Control characters would let a guest's name, or a feed, move the cursor. */
export function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '-'
  const text = typeof value === 'object' ? listText(value) : String(value)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it removes
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' ')
}

function listText(value: object): string {
  if (!Array.isArray(value)) return JSON.stringify(value)
  return value.map((element) => (typeof element === 'object' ? JSON.stringify(element) : String(element))).join(', ')
}
