/** Lines of text with columns under one another, for people. */
export interface Column<Row> {
  readonly title: string
  readonly value: (row: Row) => unknown
  readonly align?: 'right'
}

/** @param empty what is said when there are no rows */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], empty = 'None.'): string {
  if (rows.length === 0) return `${empty}\n`
  const cells = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map(({ value }) => cellOf(value(row)))),
  ]
  const widths = columns.map((_, at) => Math.max(...cells.map((line) => Bun.stringWidth(line[at] ?? ''))))
  const lineOf = (line: readonly string[]) =>
    columns
      .map(({ align }, at) => {
        const text = line[at] ?? ''
        const blanks = ' '.repeat((widths[at] ?? 0) - Bun.stringWidth(text))
        return align === 'right' ? blanks + text : text + blanks
      })
      .join('  ')
      .trimEnd()
  return `${cells.map(lineOf).join('\n')}\n`
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
