import { Database } from 'bun:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from './eventually.ts'
import { send } from './http-call.ts'

const PROGRAM = join(import.meta.dir, '../../docs/examples/sync-calendar.ts')
/** What a booking has both in `GET /bookings` and in a change; not the unit's name, which changes without the booking. */
const MEMBERS = [
  ...['id', 'unitSlug', 'type', 'status', 'source', 'sourceRef', 'arrival', 'departure', 'nights', 'adults'],
  ...['children', 'totalAmount'],
]

/** Bookings by id, and what `GET /calendar` has of each unit. */
interface Copied {
  readonly bookings: Record<string, unknown>
  readonly calendar: Record<string, string>
}

/** Runs the sample client of the partner guide, which keeps its copy in a file of its own. */
export class SyncClient {
  readonly #folder = mkdtempSync(join(tmpdir(), 'nightledger-sync-'))
  readonly file: string
  readonly #env: Record<string, string>
  #child: Bun.Subprocess<'ignore', 'ignore', 'pipe'> | null = null

  /** @param options.file in place of one of its own */
  constructor({ baseUrl, key, file }: { baseUrl: string; key: string; file?: string }) {
    this.file = file ?? join(this.#folder, 'copy.sqlite')
    this.#env = {
      PATH: process.env['PATH'] ?? '',
      NIGHTLEDGER_URL: baseUrl,
      NIGHTLEDGER_KEY: key,
      CALENDAR_PAUSE_S: '0.3',
    }
  }

  start(): void {
    const command = [process.execPath, PROGRAM, this.file]
    this.#child = Bun.spawn(command, { env: this.#env, stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' })
  }

  /** When it ends by itself. */
  async ended(): Promise<{ code: number; said: string }> {
    const child = this.#child
    if (child === null) throw new Error('The client is not running')
    this.#child = null
    const said = await new Response(child.stderr).text()
    return { code: await child.exited, said }
  }

  /** @throws Error when it had ended by itself */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const child = this.#child
    if (child === null) return
    this.#child = null
    if (child.exitCode !== null)
      throw new Error(`The client ended by itself: ${await new Response(child.stderr).text()}`)
    child.kill(signal)
    await child.exited
  }

  async close(): Promise<void> {
    await this.stop().finally(() => rmSync(this.#folder, { recursive: true }))
  }

  /** What it has stored. */
  get copied(): Copied {
    return this.withFile((db) => ({
      bookings: bookingsOf(db.query<{ body: string }, []>('select body from booking').all()),
      calendar: Object.fromEntries(
        db
          .query<{ unit: string; body: string }, []>('select unit, body from calendar')
          .all()
          .map(({ unit, body }) => [unit, body]),
      ),
    }))
  }

  /** The pages of `GET /calendar` that it has read. */
  get pages(): readonly string[] {
    return this.withFile((db) => db.query<{ path: string }, []>('select path from page').all()).map(({ path }) => path)
  }

  /** Its cursor, and the bookings that are stored with it. */
  get position(): { cursor: string | null; bookings: Copied['bookings'] } {
    return this.withFile((db) =>
      // In one transaction, as the client writes them.
      db.transaction(() => ({
        cursor: db.query<{ cursor: string }, []>('select cursor from position').get()?.cursor ?? null,
        bookings: bookingsOf(db.query<{ body: string }, []>('select body from booking').all()),
      }))(),
    )
  }

  /** It has read everything once. */
  get hasBegun(): boolean {
    const made = `select count(*) as tables from sqlite_master where name in ('position', 'page')`
    return this.withFile((db) => {
      if (db.query<{ tables: number }, []>(made).get()?.tables !== 2) return false
      return db.query('select 1 from position, page where pages = (select count(*) from page)').all().length > 0
    })
  }

  /** What it has stored is lost. */
  forget(): void {
    for (const end of ['', '-wal', '-shm']) rmSync(this.file + end, { force: true })
  }

  withFile<T>(use: (db: Database) => T): T {
    const db = new Database(this.file)
    try {
      db.run('pragma busy_timeout = 5000')
      return use(db)
    } finally {
      db.close()
    }
  }
}

function bookingsOf(rows: readonly { body: string }[]): Copied['bookings'] {
  return byId(rows.map(({ body }) => JSON.parse(body)))
}

export function byId(bookings: readonly Record<string, unknown>[]): Copied['bookings'] {
  return Object.fromEntries(
    bookings
      .map((booking): [string, unknown] => [String(booking['id']), MEMBERS.map((name) => booking[name])])
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
}

/** @param pages the paths that the client has read. Nothing may change meanwhile */
async function present(baseUrl: string, token: string, pages: readonly string[]): Promise<Copied> {
  const bookings: Record<string, unknown>[] = []
  for (let page = 1, pageCount = 1; page <= pageCount; page++) {
    const { body } = await send(`${baseUrl}/partner/v1/bookings?pageSize=200&page=${page}`, { token })
    bookings.push(...body.bookings)
    pageCount = body.pageCount
  }
  const calendar: Record<string, string> = {}
  for (const path of pages) {
    const { body } = await send(`${baseUrl}/partner/v1${path}`, { token })
    for (const unit of body.units) calendar[unit.unit] = JSON.stringify(unit)
  }
  return { bookings: byId(bookings), calendar }
}

/** Waits until the copy is what the service has. @returns both, which differ if that did not happen */
export async function copyAndOriginal(client: SyncClient, baseUrl: string, token: string): Promise<[Copied, Copied]> {
  await eventually('it has begun', () => client.hasBegun)
  const original = await present(baseUrl, token, client.pages)
  await eventually('the copy is equal', async () => {
    await Bun.sleep(50)
    return Bun.deepEquals(client.copied, original)
  }).catch(() => undefined)
  return [client.copied, original]
}
