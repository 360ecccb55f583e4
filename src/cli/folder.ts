/**
 * An agency as a folder of files: `agency.json`, and `units`, `rates`, `restrictions`, `fee-types`, `bookings` and `guests`, each as `.json` (an array of
 * objects) or `.csv` (a line of names, then a line each). What is missing is empty. The members are the portal's own.
 */

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { stringify } from 'csv-stringify/sync'
import { CliError } from './exit-codes.ts'
import { type Flag, readText } from './flags.ts'
import type { FolderMembers } from './operations.ts'
import type { Json } from './portal-client.ts'

const PARTS = ['units', 'rates', 'restrictions', 'fee-types', 'guests', 'bookings'] as const
type Part = (typeof PARTS)[number]

/** A row and where it is, for messages: `bookings.csv line 7`, `bookings.json [3]`. */
export interface Row {
  readonly at: string
  readonly values: Json
}

export type Folder = { readonly agency: Json | null } & { readonly [P in Part]: readonly Row[] }

/** @throws CliError naming the file that cannot be read */
export function readFolder(path: string, members: FolderMembers): Folder {
  if (!existsSync(path)) throw new CliError(`Cannot read ${path}: no such folder.`)
  const agencyFile = join(path, 'agency.json')
  const agency = existsSync(agencyFile) ? (parseJson(agencyFile) as Json) : null
  const parts = PARTS.map((part) => [part, readPart(path, part, members[part])] as const)
  if (agency === null && parts.every(([, rows]) => rows === null))
    throw new CliError(
      `Cannot read ${path}: it contains none of agency.json, ${PARTS.map((part) => `${part}.json|csv`).join(', ')}.`,
    )
  return { agency, ...(Object.fromEntries(parts.map(([part, rows]) => [part, rows ?? []])) as Record<Part, Row[]>) }
}

function readPart(folder: string, part: Part, members: readonly Flag[]): Row[] | null {
  const [json, csv] = [join(folder, `${part}.json`), join(folder, `${part}.csv`)]
  if (existsSync(json) && existsSync(csv))
    throw new CliError(`Cannot read ${folder}: it contains both ${part}.json and ${part}.csv.`)
  if (existsSync(json)) return readJsonRows(json, part)
  return existsSync(csv) ? readCsvRows(csv, part, members) : null
}

function readJsonRows(file: string, part: Part): Row[] {
  const value = parseJson(file)
  if (!Array.isArray(value)) throw new CliError(`Cannot read ${file}: it is not a JSON array.`)
  return value.map((values, i) => {
    if (typeof values !== 'object' || values === null)
      throw new CliError(`Cannot read ${file}: element ${i} is not an object.`)
    return { at: `${part}.json [${i}]`, values }
  })
}

function parseJson(file: string): unknown {
  try {
    return JSON.parse(readText(file))
  } catch (error) {
    throw error instanceof CliError ? error : new CliError(`Cannot read ${file}: it is not valid JSON.`)
  }
}

function readCsvRows(file: string, part: Part, members: readonly Flag[]): Row[] {
  try {
    const rows = parse(readText(file), {
      columns: true,
      bom: true,
      trim: true,
      skip_empty_lines: true,
      info: true,
    }) as unknown as {
      record: Record<string, string>
      info: { lines: number }
    }[]
    return rows.map(({ record, info }) => ({ at: `${part}.csv line ${info.lines}`, values: typed(record, members) }))
  } catch (error) {
    throw error instanceof CliError
      ? error
      : new CliError(`Cannot read ${file}: ${error instanceof Error ? error.message : error}`)
  }
}

/** An empty cell says nothing: null. Text that does not read as what the member is stays text, for the service to refuse. */
function typed(record: Readonly<Record<string, string>>, members: readonly Flag[]): Json {
  return Object.fromEntries(
    Object.entries(record).map(([name, text]) => {
      if (text === '') return [name, null]
      const kind = members.find((member) => member.name === name)?.kind
      if (kind === 'number') return [name, Number.isNaN(Number(text)) ? text : Number(text)]
      if (kind === 'boolean') return [name, text === 'true' ? true : text === 'false' ? false : text]
      return [name, unguarded(text)]
    }),
  )
}

export type Format = 'json' | 'csv'

/**
 * In place of what an earlier export has written there.
 * @throws CliError when the folder cannot be written
 */
export function writeFolder(
  path: string,
  content: { readonly agency: Json } & { readonly [P in Part]: readonly Json[] },
  format: Format,
): void {
  const files: Record<string, string> = { 'agency.json': `${JSON.stringify(content.agency, null, 2)}\n` }
  for (const part of PARTS) {
    const rows = content[part]
    if (format === 'csv' && rows.length === 0) continue
    files[`${part}.${format}`] = format === 'json' ? `${JSON.stringify(rows, null, 2)}\n` : csvText(rows)
  }
  writeFiles(path, files)
  // What an earlier export has left would be read as a part of this one: guests who were erased since, or a part in the other format too.
  const earlier = PARTS.flatMap((part) => [`${part}.json`, `${part}.csv`]).filter((name) => files[name] === undefined)
  for (const name of earlier) rmSync(join(path, name), { force: true })
}

/**
 * Writes files that only their owner may read: guests' names and e-mails are in them.
 * @param files their texts, by name
 * @throws CliError when the folder cannot be written
 */
export function writeFiles(path: string, files: Readonly<Record<string, string>>): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text, { mode: 0o600 })
  } catch (error) {
    throw new CliError(`Cannot write ${path}: ${error instanceof Error ? error.message : error}`)
  }
}

export function csvText(rows: readonly Json[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  return stringify(rows.map(guarded), {
    header: true,
    columns,
    cast: { boolean: (value) => String(value) },
    // Blanks at the ends of a cell count only inside quotes.
    quoted_match: /^\s|\s$/,
  })
}

/** Text that a spreadsheet would take for a formula, with the apostrophes before it that mark it as text. */
const FORMULA = /^'*[=+\-@\t\r]/

function guarded(row: Json): Json {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'string' && FORMULA.test(value) ? `'${value}` : value,
    ]),
  )
}

function unguarded(text: string): string {
  return text.startsWith("'") && FORMULA.test(text) ? text.slice(1) : text
}

/** Rates are rows of a file: one for each season, weekday and discount of each unit. */
const RATE_KINDS = ['season', 'weekday', 'length_of_stay'] as const

export function rateRows(unit: string, rates: Json): Json[] {
  const list = (name: string) => (rates[name] ?? []) as Json[]
  const blank = {
    name: null,
    from: null,
    to: null,
    nightlyPrice: null,
    minStay: null,
    weekday: null,
    minNights: null,
    pct: null,
  }
  return [
    ...list('seasons').map((season) => ({ unit, kind: 'season', ...blank, ...season })),
    ...list('weekdayAdjustments').map((adjustment) => ({ unit, kind: 'weekday', ...blank, ...adjustment })),
    ...list('lengthOfStayDiscounts').map((discount) => ({ unit, kind: 'length_of_stay', ...blank, ...discount })),
  ]
}

interface UnitRates {
  readonly unit: string
  readonly at: string
  readonly rates: { seasons: Json[]; weekdayAdjustments: Json[]; lengthOfStayDiscounts: Json[] }
}

/** The rows by unit. `wrong`: rows that belong to no kind. */
export function ratesByUnit(rows: readonly Row[]): { units: UnitRates[]; wrong: Row[] } {
  const units = new Map<string, UnitRates>()
  const wrong: Row[] = []
  for (const row of rows) {
    const { unit, kind, name, from, to, nightlyPrice, minStay, weekday, minNights, pct } = row.values
    if (typeof unit !== 'string' || !(RATE_KINDS as readonly unknown[]).includes(kind)) {
      wrong.push(row)
      continue
    }
    const rates = units.get(unit)?.rates ?? noRates()
    if (!units.has(unit)) units.set(unit, { unit, at: row.at, rates })
    if (kind === 'season') rates.seasons.push({ name, from, to, nightlyPrice, minStay: minStay ?? null })
    else if (kind === 'weekday') rates.weekdayAdjustments.push({ weekday, pct })
    else rates.lengthOfStayDiscounts.push({ minNights, pct })
  }
  return { units: [...units.values()], wrong }
}

function noRates(): UnitRates['rates'] {
  return { seasons: [], weekdayAdjustments: [], lengthOfStayDiscounts: [] }
}
