/**
 * Archives of months: the four tables of a month, and its checkpoints, as files.
 *
 * - L2 The tables are dropped only when the files, read again after they were synced, have all of their rows, and the journal agreed with its chain.
 *   An archive is replaced only by one that has its entries.
 * - L3 Each unit keeps the snapshot of exactly its last archived entry, so that it can be shown as it was at any later moment.
 *
 * A crash at any point leaves the month in the ledger, or its tables and a complete archive beside each other. Running the archive
 * again with the same folder continues from there. It replaces an earlier archive only if the ledger still has the entries in it: an archive of
 * another ledger, or of one before a restore, may be the only copy.
 */
import { createHash, type Hash } from 'node:crypto'
import { createReadStream, createWriteStream, renameSync, type WriteStream } from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { UnitState } from '../core/domain/unit-state.ts'
import { applyStored } from '../core/journal/recovery.ts'
import type { ChainKey, Month } from '../core/journal/shard.ts'
import { decodeSnapshot, encodeSnapshot, type StoredSnapshot } from '../core/journal/snapshot-codec.ts'
import { sleep, systemClock } from '../lib/clock.ts'
import { isCancelled } from '../lib/deadline.ts'
import { makeSyncedFolder, readIfPresent, syncFolder } from '../lib/private-file.ts'
import type { Sql } from '../postgres/client/connect.ts'
import {
  ARCHIVED_ROWS,
  type ArchivedRows,
  dropTables,
  entriesOf,
  hasEntries,
  insertBases,
  MONTH_TABLES,
  oldestMonth,
  partitionOf,
  retireMonth,
  rowsOf,
  type ShardMonth,
  shardsOf,
  tablesOf,
  unitsOf,
} from '../postgres/stores/month-tables.ts'
import { PostgresVerifyStore } from '../postgres/stores/postgres-verify-store.ts'
import { type Difference, Findings } from '../verify/findings.ts'
import { verifyShard } from '../verify/verify-shard.ts'
import type { ShardExtent } from '../verify/verify-store.ts'

const ENTRIES_PER_PAGE = 1_000
const SNAPSHOTS_AT_ONCE = 200
/** More than a unit has. */
const SNAPSHOTS_MAX = 100

/** A month cannot be archived. Nothing was deleted. */
class MonthArchiveError extends Error {
  override readonly name = 'MonthArchiveError'
}

interface ArchivedTable {
  readonly table: ArchivedRows
  /** gzip; one row a line, as JSON. */
  readonly file: string
  readonly rows: number
  /** Of the file. */
  readonly bytes: number
  readonly sha256: string
  /** Of its lines, before compression. */
  readonly contentSha256: string
}

/** The entries of a shard in the month. Each link is in hexadecimal; '' before the first entry of a shard. */
interface ArchivedShard extends ShardMonth {
  /** The link of the entry before `first`: the last of an earlier month. */
  readonly previousLink: string
}

/** `manifest.json` */
export interface MonthManifest {
  readonly format: 1
  /** `2026-01` */
  readonly month: string
  readonly tables: readonly ArchivedTable[]
  /** The chain continues from one archive to the next: `lastLink` of a shard is its next `previousLink`. */
  readonly shards: readonly ArchivedShard[]
}

interface ArchiveRequest {
  readonly sql: Sql
  /** By shard, as PostgresChainKeys reads them. */
  readonly chainKeys: readonly (ChainKey | null)[]
  readonly month: Month
  /** The archive becomes the folder `YYYY-MM` in it. */
  readonly out: string
}

/**
 * Writes the archive of the oldest month, checks it, and drops the month's tables.
 * @throws MonthArchiveError naming what prevents it; what the database says when retire_month refuses
 */
export async function archiveMonth(request: ArchiveRequest): Promise<MonthManifest> {
  const { sql, month, out } = request
  const oldest = await oldestMonth(sql)
  const name = month.slice(0, 7)
  const folder = join(out, name)
  if (month > oldest) throw new MonthArchiveError(`Cannot archive ${name}: the oldest month is ${oldest.slice(0, 7)}`)
  if ((await tablesOf(sql, month)).length < MONTH_TABLES.length)
    throw new MonthArchiveError(
      `Nothing to archive: the ledger has no tables of ${name}. Its oldest month is ${oldest.slice(0, 7)}`,
    )
  const earlier = manifestIn(folder)
  if (earlier !== null && !(await hasEntries(sql, month, earlier.shards)))
    throw new MonthArchiveError(
      `Cannot archive ${name}: ${folder} has an archive of entries that this ledger does not have. Name another folder`,
    )
  if (month === oldest) {
    const extents = await new PostgresVerifyStore(sql).extents()
    const links = new Map(extents.map(({ shard, baseLink }) => [shard, Buffer.from(baseLink).toString('hex')]))
    await writeArchive(request, folder, links)
    await keepMonthEnds(sql, month)
    await retire(sql, month)
  } else if (earlier === null)
    throw new MonthArchiveError(
      `Cannot archive ${name}: its tables were detached, but ${folder} has no archive. Name the folder of the run that was interrupted`,
    )
  const manifest = await completed(request, folder)
  await dropTables(sql, month)
  return manifest
}

/** Each waits for its locks for half a second. */
const RETIRE_ATTEMPTS = 30
const RETIRE_AGAIN_MS = 1_000

/** retire_month gives up, without effect, when something reads the tables: a vacuum, a list, a backup. */
async function retire(sql: Sql, month: Month): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await retireMonth(sql, month)
    } catch (error) {
      if (attempt === RETIRE_ATTEMPTS || !isCancelled(error)) throw error
      await sleep(systemClock, RETIRE_AGAIN_MS)
    }
  }
}

/**
 * Writes a snapshot of each unit as it was after its last entry of the month, for retire_month to keep: with a later one, the unit could not
 * be shown as it was between the two. What comes before the month is in the newest snapshot before it.
 */
export async function keepMonthEnds(sql: Sql, month: Month): Promise<void> {
  const store = new PostgresVerifyStore(sql)
  let ends: StoredSnapshot[] = []
  for (const { lastSeq, ...unit } of await unitsOf(sql, month)) {
    const known = (await store.snapshots(unit, SNAPSHOTS_MAX)).filter(({ seq }) => seq <= lastSeq)
    const newest = known.map(decodeSnapshot).find(({ state }) => state !== null)?.state ?? null
    if (newest === null && (await store.hasArchivedEntries(unit)))
      throw new MonthArchiveError(
        `Cannot archive ${month.slice(0, 7)}: unit ${unit.unitId} has no intact snapshot from before it. Run nightledger verify`,
      )
    const state = newest ?? UnitState.empty(unit.unitId)
    for (const entry of await entriesOf(sql, month, { unitId: unit.unitId, after: state.seq }))
      applyStored(state, entry)
    ends.push(encodeSnapshot(unit.agencyId, state))
    if (ends.length < SNAPSHOTS_AT_ONCE) continue
    await insertBases(sql, ends)
    ends = []
  }
  await insertBases(sql, ends)
}

/**
 * The manifest of a month that is detached, so that its rows no longer change, once the files have every row. Rows that were added between
 * writing and detaching, such as an audit line, are not in the files yet.
 */
async function completed(request: ArchiveRequest, folder: string): Promise<MonthManifest> {
  for (let attempt = 1; ; attempt++) {
    const manifest = manifestIn(folder)
    if (manifest === null) throw new MonthArchiveError(`Cannot read ${join(folder, 'manifest.json')}`)
    const defect = await defectOf(request, folder, manifest)
    if (defect === null) return manifest
    if (attempt > 1) throw new MonthArchiveError(`${defect}. The tables of the month were not dropped`)
    await writeArchive(
      request,
      folder,
      new Map(manifest.shards.map(({ shard, previousLink }) => [shard, previousLink])),
    )
  }
}

async function defectOf(
  { sql, month }: ArchiveRequest,
  folder: string,
  { tables }: MonthManifest,
): Promise<string | null> {
  for (const archived of tables) {
    const path = join(folder, archived.file)
    const file = await digestsOf(path).catch((error: Error) => error.message)
    if (typeof file === 'string') return `Cannot read ${path}: ${file}`
    if (file.sha256 !== archived.sha256 || file.contentSha256 !== archived.contentSha256)
      return `${path} is not as it was written`
    const content = new Content()
    for await (const _ of content.of(rowsOf(sql, archived.table, month)));
    if (content.sha256 !== archived.contentSha256) return `${path} does not have the rows of its table`
  }
  return null
}

async function digestsOf(path: string): Promise<Pick<ArchivedTable, 'sha256' | 'contentSha256'>> {
  const whole = createHash('sha256')
  const content = createHash('sha256')
  await pipeline(createReadStream(path), passing(whole), createGunzip(), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) content.update(chunk)
  })
  return { sha256: whole.digest('hex'), contentSha256: content.digest('hex') }
}

function passing(hash: Hash, onBytes: (count: number) => void = () => {}) {
  return async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk)
      onBytes(chunk.length)
      yield chunk
    }
  }
}

/** The manifest comes last: a folder without one has no archive. */
async function writeArchive(
  request: ArchiveRequest,
  folder: string,
  previousLinks: ReadonlyMap<number, string>,
): Promise<void> {
  const { sql, month } = request
  const shards = (await shardsOf(sql, month)).map((shard) => ({
    ...shard,
    previousLink: previousLinks.get(shard.shard) ?? '',
  }))
  await checkChains(request, shards)
  makeSyncedFolder(folder)
  const tables: ArchivedTable[] = []
  for (const table of ARCHIVED_ROWS) tables.push(await writeTable(sql, { table, month, folder }))
  const manifest: MonthManifest = { format: 1, month: month.slice(0, 7), tables, shards }
  await writeWhole(join(folder, 'manifest.json'), (file) =>
    pipeline(Readable.from([`${JSON.stringify(manifest, null, 2)}\n`]), file),
  )
}

/** @throws MonthArchiveError when an entry of the month is not as it was written */
async function checkChains({ sql, chainKeys, month }: ArchiveRequest, shards: readonly ArchivedShard[]): Promise<void> {
  const store = new PostgresVerifyStore(sql, partitionOf('journal', month))
  const extents = new Map((await store.extents()).map((extent) => [extent.shard, extent]))
  const found = new Findings()
  for (const { shard, first, last, lastLink, previousLink } of shards) {
    const { mark = 0, markLink = new Uint8Array(0) } = extents.get(shard) ?? {}
    const link = Uint8Array.fromHex(lastLink)
    const extent: ShardExtent = {
      shard,
      base: first - 1,
      baseLink: Uint8Array.fromHex(previousLink),
      // Only a mark within the month is met on the way.
      ...(mark < last ? { mark, markLink } : { mark: last, markLink: link }),
      lastSeq: last,
    }
    await verifyShard({ store, extent, key: chainKeys[shard] ?? null, limit: ENTRIES_PER_PAGE, found })
  }
  const { differences, differenceCount } = found.report()
  if (differenceCount > 0)
    throw new MonthArchiveError(
      `Cannot archive ${month.slice(0, 7)}: its journal is not as it was written (${differenceCount} differences). Run nightledger verify.\n${differences.slice(0, 10).map(lineOf).join('\n')}`,
    )
}

function lineOf({ at, message }: Difference): string {
  return `- ${at}: ${message}`
}

async function writeTable(
  sql: Sql,
  { table, month, folder }: { table: ArchivedRows; month: Month; folder: string },
): Promise<ArchivedTable> {
  const file = `${table}.ndjson.gz`
  const content = new Content()
  const whole = createHash('sha256')
  let bytes = 0
  const count = (more: number) => {
    bytes += more
  }
  await writeWhole(join(folder, file), (to) =>
    pipeline(
      Readable.from(content.of(rowsOf(sql, table, month)), { objectMode: false }),
      createGzip(),
      passing(whole, count),
      to,
    ),
  )
  return { table, file, rows: content.rows, bytes, sha256: whole.digest('hex'), contentSha256: content.sha256 }
}

/** The lines of a file, counted and hashed on their way. */
class Content {
  rows = 0
  readonly #hash = createHash('sha256')

  async *of(pages: AsyncIterable<readonly string[]>): AsyncGenerator<string> {
    for await (const lines of pages) {
      const text = `${lines.join('\n')}\n`
      this.rows += lines.length
      this.#hash.update(text)
      yield text
    }
  }

  /** Once all lines have passed. */
  get sha256(): string {
    return this.#hash.copy().digest('hex')
  }
}

function manifestIn(folder: string): MonthManifest | null {
  const text = readIfPresent(join(folder, 'manifest.json'))
  return text === null ? null : (JSON.parse(text) as MonthManifest)
}

/** The file is there with all of its content, on disk, or it is not there. */
async function writeWhole(path: string, write: (file: WriteStream) => Promise<void>): Promise<void> {
  const draft = `${path}.tmp`
  await write(createWriteStream(draft, { mode: 0o600, flush: true }))
  renameSync(draft, path)
  syncFolder(dirname(path))
}
