// Keeps a copy of an agency's bookings, unavailable nights and prices in a SQLite file. For Bun 1.2 or newer. No packages.
//   NIGHTLEDGER_URL=https://… NIGHTLEDGER_KEY=hr_live_… bun sync-calendar.ts copy.sqlite
// The key needs the scopes read:bookings, read:availability, read:rates and read:units. Stop or kill the program at any moment:
// started again, it continues where it was. Its tables: `booking` follows every change at once, `calendar` has what `GET /calendar`
// answers for each unit, and is read again for the units that a change names. Of restrictions it has only the nights off sale.
import { Database } from 'bun:sqlite'

const FILE = process.argv[2] ?? 'copy.sqlite'
const BASE = `${process.env['NIGHTLEDGER_URL'] ?? 'http://127.0.0.1:3000'}/partner/v1`
const KEY = process.env['NIGHTLEDGER_KEY'] ?? ''
/** All calendars are read this often, to be safe: a page that has not changed costs one request and a 304. */
const CALENDAR_EVERY_MS = 1_000 * Number(process.env['CALENDAR_EVERY_S'] ?? 86_400)
/** Pause between two reads of what has changed, so that many changes cost few requests. */
const CALENDAR_PAUSE_MS = 1_000 * Number(process.env['CALENDAR_PAUSE_S'] ?? 60)
const CALENDAR_DAYS = 366
/** If more units than this have changed, all are read. */
const UNITS_NAMED_MAX = 50
/** Without a change, a stream sends something every 15 seconds: after this long, the connection is lost. */
const SILENT_MS_MAX = 45_000
const RETRY_MS = 1_000
const RETRY_MS_MAX = 60_000
const PAGE_SIZE = 200
const DAY_MS = 86_400_000

/** Some members of a booking, as `GET /bookings` and the changes have it. */
interface Booking {
  readonly id: string
  readonly unitSlug: string
  readonly status: string
  readonly arrival: string
  readonly departure: string
}

/** Which unit may have new prices, minimum stays or restrictions, and for which dates: `from` up to, not including, `to`. */
interface ChangedUnit {
  readonly unitSlug: string
  readonly from: string | null
  readonly to: string | null
}

type Change =
  | { readonly event: 'booking.created' | 'booking.updated' | 'booking.cancelled'; readonly data: Booking }
  | { readonly event: 'rates.updated' | 'unit.updated'; readonly data: ChangedUnit }

/** An answer of `GET /calendar`. */
interface CalendarPage {
  readonly units: readonly { readonly unit: string }[]
  readonly pageCount: number
}

/** The service will not answer otherwise if it is asked again. */
class RefusedError extends Error {}
/** An answer ended before its time. */
class LostError extends Error {}

const db = new Database(FILE, { create: true, strict: true })
// Others may read the copy meanwhile.
db.run('pragma busy_timeout = 10000')
db.run('pragma journal_mode = wal')
db.run(`
  create table if not exists position (only integer primary key check (only = 1), cursor text not null);
  create table if not exists booking (
    id text primary key, unit text not null, status text not null, arrival text not null, departure text not null,
    body text not null
  );
  create table if not exists calendar (unit text primary key, body text not null);
  create table if not exists page (path text primary key, tag text not null, units text not null, pages integer not null);
  create table if not exists stale (id integer primary key autoincrement, unit text not null);
`)

const storedCursor = db.query<{ cursor: string }, []>('select cursor from position')
const storeCursor = db.query('insert or replace into position values (1, $cursor)')
const forgetCursor = db.query('delete from position')
const storeBooking = db.query(
  'insert or replace into booking values ($id, $unitSlug, $status, $arrival, $departure, $body)',
)
const storedUnit = db.query<{ unit: string }, { id: string }>('select unit from booking where id = $id')
const storedPage = db.query<{ tag: string; units: string; pages: number }, { path: string }>(
  'select tag, units, pages from page where path = $path',
)
const storePage = db.query('insert or replace into page values ($path, $tag, $units, $pages)')
const forgetOtherPages = db.query('delete from page where path not in (select value from json_each($paths))')
const storeCalendar = db.query('insert or replace into calendar values ($unit, $body)')
const forgetOtherUnits = db.query('delete from calendar where unit not in (select value from json_each($units))')
/** A unit that is not in the copy, such as an archived one, has no calendar to read. */
const staleUnits = db.query<{ unit: string; last: number }, []>(
  `select unit, max(id) as last from stale where unit = '' or unit in (select unit from calendar) group by unit`,
)
const markStale = db.query('insert into stale (unit) values ($unit)')
const forgetStale = db.query('delete from stale where id <= $last')
/** In place of a unit: all of them. */
const ALL = ''

function put(booking: Booking): void {
  const { id, unitSlug, status, arrival, departure } = booking
  storeBooking.run({ id, unitSlug, status, arrival, departure, body: JSON.stringify(booking) })
}

/** All bookings and the cursor before them, in one transaction: a reader of the copy sees the old ones or these. */
const storeAll = db.transaction((bookings: Iterable<Booking>, cursor: string) => {
  db.run('delete from booking')
  for (const booking of bookings) put(booking)
  markStale.run({ unit: ALL })
  storeCursor.run({ cursor })
})

/** Changes and the cursor after them, together: none is missed or applied to anything but what was before it. */
const storeEvents = db.transaction((events: readonly Map<string, string>[]) => {
  for (const event of events) {
    const [cursor, data] = [event.get('id'), event.get('data')]
    if (data !== undefined) apply(JSON.parse(data))
    if (cursor !== undefined) storeCursor.run({ cursor })
  }
})

/** Stores what a change says, and which calendars must be read again. */
function apply({ event, data }: Change): void {
  switch (event) {
    case 'rates.updated': {
      const copied = copiedDates()
      const isCopied = (data.from ?? '') < copied.to && copied.from < (data.to ?? '9999')
      if (isCopied) markStale.run({ unit: data.unitSlug })
      break
    }
    // It may be new, archived, or have a new slug.
    case 'unit.updated':
      markStale.run({ unit: ALL })
      break
    case 'booking.created':
    case 'booking.updated':
    case 'booking.cancelled':
      // It may have been in another unit.
      for (const unit of new Set([data.unitSlug, storedUnit.get({ id: data.id })?.unit ?? data.unitSlug]))
        markStale.run({ unit })
      put(data)
  }
}

/** A page of calendars and its tag, together. */
const storeCalendars = db.transaction((page: CalendarPage, asked: { path: string; tag: string } | null) => {
  for (const calendar of page.units) storeCalendar.run({ unit: calendar.unit, body: JSON.stringify(calendar) })
  const units = JSON.stringify(page.units.map(({ unit }) => unit))
  if (asked !== null) storePage.run({ ...asked, units, pages: page.pageCount })
})

/**
 * Sends a request until it is answered with 200, 304, 404 or 410: again after 429, 5xx and lost connections.
 * @throws RefusedError for another answer
 */
async function ask(path: string, headers: Record<string, string> = {}) {
  for (let retryMs = RETRY_MS; ; retryMs = Math.min(2 * retryMs, RETRY_MS_MAX)) {
    const silence = new AbortController()
    const timer = setTimeout(() => silence.abort(), SILENT_MS_MAX)
    const sent = { headers: { authorization: `Bearer ${KEY}`, ...headers }, signal: silence.signal }
    const response = await fetch(BASE + path, sent).catch(() => null)
    if (response !== null && [200, 304, 404, 410].includes(response.status))
      return { status: response.status, tag: response.headers.get('etag') ?? '', parts: partsOf(response, timer) }
    const text = await response?.text().catch(() => '')
    clearTimeout(timer)
    if (response !== null && response.status !== 429 && response.status < 500)
      throw new RefusedError(`GET ${path}: ${response.status} ${text}`)
    const atLeastMs = 1_000 * (Number(response?.headers.get('retry-after')) || 0)
    await Bun.sleep(Math.max(atLeastMs, retryMs * (0.5 + Math.random())))
  }
}

/** The text of a body, as it arrives. */
async function* partsOf(response: Response, timer: NodeJS.Timeout): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  try {
    for await (const part of response.body ?? []) {
      timer.refresh()
      yield decoder.decode(part, { stream: true })
    }
  } catch (error) {
    throw new LostError('Cannot read on: connection lost', { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

async function textOf({ parts }: { parts: AsyncIterable<string> }): Promise<string> {
  return (await Array.fromAsync(parts)).join('')
}

/** Reads the bookings that have not ended yet, and stores them with a cursor from before: what changed meanwhile comes again. */
async function begin(): Promise<void> {
  const { cursor } = JSON.parse(await textOf(await ask('/changes')))
  const from = dateOf(Date.now() - DAY_MS)
  const bookings = new Map<string, Booking>()
  // The list begins with the latest arrival. It is read by date: if a booking of a page that was read is moved to a later page, the
  // bookings in between move up, and one of them would be on no page that is read.
  for (let [to, page] = ['', 1]; ; ) {
    const query = `from=${from}${to && `&to=${to}`}&page=${page}&pageSize=${PAGE_SIZE}`
    const some: Booking[] = JSON.parse(await textOf(await ask(`/bookings?${query}`))).bookings
    for (const booking of some) bookings.set(booking.id, booking)
    const last = some.at(-1)
    if (last === undefined || some.length < PAGE_SIZE) break
    // More than a page arrive on one day: only then the next page.
    page = last.arrival === to ? page + 1 : 1
    to = last.arrival
  }
  storeAll(bookings.values(), cursor)
  console.log(`Read ${bookings.size} bookings`)
}

/** Stores the changes of one stream, until it ends. */
async function follow(cursor: string): Promise<void> {
  const stream = await ask('/changes?include=rates,units', { accept: 'text/event-stream', 'last-event-id': cursor })
  if (stream.status === 410) {
    console.log('The cursor has expired: reading everything again')
    forgetCursor.run()
    return
  }
  let text = ''
  for await (const part of stream.parts) {
    const blocks = (text + part).split('\n\n')
    // The last one is not complete yet.
    text = blocks.pop() ?? ''
    storeEvents(blocks.map((block) => new Map(block.split('\n').map(fieldOf))))
  }
}

/** A comment is a field without a name. */
function fieldOf(line: string): [name: string, value: string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), line.slice(colon + 1).trimStart()]
}

/** Reads the calendars of the units that have changed, or all of them once a day. */
async function readCalendars(): Promise<void> {
  // Until the bookings have been read, changes are not followed.
  if (storedCursor.get() === null) return
  // What becomes stale during the read is read again.
  const stale = staleUnits.all()
  const units = stale.map(({ unit }) => unit)
  const isRead = Date.now() - allReadAt < CALENDAR_EVERY_MS && storedPage.get({ path: pathOf({ page: '1' }) }) !== null
  if (!isRead || units.includes(ALL) || units.length > UNITS_NAMED_MAX) await readAll()
  else if (units.length > 0) await readSome(units)
  else return
  forgetStale.run({ last: Math.max(0, ...stale.map(({ last }) => last)) })
  await Bun.sleep(CALENDAR_PAUSE_MS)
}

/** Reads the pages that have changed. */
async function readAll(): Promise<void> {
  const paths: string[] = []
  const units: string[] = []
  for (let pages = 1; paths.length < pages; ) {
    const path = pathOf({ page: `${paths.length + 1}` })
    const known = storedPage.get({ path })
    const answer = await ask(path, known === null ? {} : { 'if-none-match': known.tag })
    const text = await textOf(answer)
    if (answer.status === 200) storeCalendars(JSON.parse(text), { path, tag: answer.tag })
    const stored = storedPage.get({ path })
    if (stored === null) throw new RefusedError(`GET ${path}: ${answer.status} ${text}`)
    pages = stored.pages
    units.push(...JSON.parse(stored.units))
    paths.push(path)
  }
  forgetOtherPages.run({ paths: JSON.stringify(paths) })
  forgetOtherUnits.run({ units: JSON.stringify(units) })
  allReadAt = Date.now()
}

async function readSome(units: readonly string[]): Promise<void> {
  const answer = await ask(pathOf({ units: units.join(',') }))
  const text = await textOf(answer)
  // One of them no longer exists.
  if (answer.status === 404) await readAll()
  else storeCalendars(JSON.parse(text), null)
}

function pathOf(which: { readonly page: string } | { readonly units: string }): string {
  const { from, to } = copiedDates()
  return `/calendar?${new URLSearchParams({ from, to, prices: 'true', pageSize: `${PAGE_SIZE}`, ...which })}`
}

/** From the first of a month, so that the URLs, and with them the tags, stay the same all month. */
function copiedDates(): { from: string; to: string } {
  const from = `${dateOf(Date.now()).slice(0, 7)}-01`
  return { from, to: dateOf(Date.parse(from) + CALENDAR_DAYS * DAY_MS) }
}

function dateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** Does `task` again and again, each time from what is stored. */
async function forever(task: () => Promise<void>): Promise<never> {
  for (;;) {
    try {
      await task()
    } catch (error) {
      if (!(error instanceof LostError)) throw error
    }
    await Bun.sleep(RETRY_MS)
  }
}

/** When this process last read the calendars of all units. */
let allReadAt = 0
try {
  await Promise.all([
    forever(() => {
      const stored = storedCursor.get()
      return stored === null ? begin() : follow(stored.cursor)
    }),
    forever(readCalendars),
  ])
} catch (error) {
  console.error('Cannot continue:', error instanceof RefusedError ? error.message : error)
  process.exit(1)
}
