// Keeps a copy of an agency's bookings, unavailable nights and prices in a SQLite file. For Bun 1.2 or newer.
//   NIGHTLEDGER_URL=https://… NIGHTLEDGER_KEY=hr_live_… bun sync-calendar.ts copy.sqlite
// The key needs the scopes read:bookings, read:availability, read:rates and read:units. Stop or kill the program at any moment:
// started again, it continues where it was. Its tables: `booking` follows every change at once, `calendar` has what `GET /calendar`
// answers for each unit, and is read again for the units that a change names. Of restrictions it has only the nights off sale.
import { Database } from 'bun:sqlite'
// With the package: from 'nightledger-client'.
import {
  ApiError,
  type Booking,
  type Change,
  type GetCalendarAnswer,
  type IsoDate,
  isoDate,
  Nightledger,
  NotFoundError,
  type UnitChange,
} from '../../clients/typescript/src/index.ts'

const FILE = process.argv[2] ?? 'copy.sqlite'
const client = new Nightledger({
  url: process.env['NIGHTLEDGER_URL'] ?? 'http://127.0.0.1:3000',
  key: process.env['NIGHTLEDGER_KEY'] ?? '',
  // It has nothing else to do than to try again.
  triesMax: Number.POSITIVE_INFINITY,
  deadlineMs: Number.POSITIVE_INFINITY,
})
/** All calendars are read this often, to be safe: a page that has not changed costs one request and a 304. */
const CALENDAR_EVERY_MS = 1_000 * Number(process.env['CALENDAR_EVERY_S'] ?? 86_400)
/** Pause between two reads of what has changed, so that many changes cost few requests. */
const CALENDAR_PAUSE_MS = 1_000 * Number(process.env['CALENDAR_PAUSE_S'] ?? 60)
const CALENDAR_DAYS = 366
/** If more units than this have changed, all are read. */
const UNITS_NAMED_MAX = 50
/** Between two looks at what has changed. */
const LOOK_MS = 1_000
const PAGE_SIZE = 200
const DAY_MS = 86_400_000

const db = new Database(FILE, { create: true, strict: true })
// Others may read the copy meanwhile.
db.run('pragma busy_timeout = 10000')
db.run('pragma journal_mode = wal')
// A loss of power may undo the last changes, together with their cursor: they come again.
db.run('pragma synchronous = normal')
db.run(`
  create table if not exists position (only integer primary key check (only = 1), cursor text not null, checkpoint text);
  create table if not exists booking (
    id text primary key, unit text not null, status text not null, arrival text not null, departure text not null,
    body text not null
  );
  create table if not exists calendar (unit text primary key, body text not null);
  create table if not exists page (path text primary key, units text not null, pages integer not null);
  create table if not exists stale (id integer primary key autoincrement, unit text not null);
`)

const storedPosition = db.query<{ cursor: string; checkpoint: string | null }, []>(
  'select cursor, checkpoint from position',
)
const storePosition = db.query('insert or replace into position values (1, $cursor, $checkpoint)')
const storeBooking = db.query(
  'insert or replace into booking values ($id, $unitSlug, $status, $arrival, $departure, $body)',
)
const storedUnit = db.query<{ unit: string }, { id: string }>('select unit from booking where id = $id')
const storedPage = db.query<{ path: string }, { path: string }>('select path from page where path = $path')
const storePage = db.query('insert or replace into page values ($path, $units, $pages)')
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

function put(booking: Booking | Change['data']): void {
  const { id, unitSlug, status, arrival, departure } = booking
  storeBooking.run({ id, unitSlug, status, arrival, departure, body: JSON.stringify(booking) })
}

/** All bookings and the cursor before them, in one transaction: a reader of the copy sees the old ones or these. */
const storeAll = db.transaction((bookings: Iterable<Booking>, cursor: string) => {
  db.run('delete from booking')
  for (const booking of bookings) put(booking)
  markStale.run({ unit: ALL })
  // After a restore from a backup, the checkpoint is one of another history.
  storePosition.run({ cursor, checkpoint: null })
})

/** A change and its cursor, together: none is missed or applied to anything but what was before it. */
const storeChange = db.transaction((change: Change | UnitChange, checkpoint: string | undefined) => {
  apply(change)
  storePosition.run({ cursor: change.cursor, checkpoint: checkpoint ?? null })
})

/** Stores what a change says, and which calendars must be read again. */
function apply(change: Change | UnitChange): void {
  switch (change.event) {
    case 'rates.updated': {
      const { data } = change
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
    case 'booking.cancelled': {
      const { data } = change
      // It may have been in another unit.
      for (const unit of new Set([data.unitSlug, storedUnit.get({ id: data.id })?.unit ?? data.unitSlug]))
        markStale.run({ unit })
      put(data)
    }
  }
}

/** A page of calendars, and which units it has. @param path null: of some units only */
const storeCalendars = db.transaction((page: GetCalendarAnswer, path: string | null) => {
  for (const calendar of page.units) storeCalendar.run({ unit: calendar.unit, body: JSON.stringify(calendar) })
  const units = JSON.stringify(page.units.map(({ unit }) => unit))
  if (path !== null) storePage.run({ path, units, pages: page.pageCount })
})

/** Reads the bookings that have not ended yet, and stores them with a cursor from before: what changed meanwhile comes again. */
async function begin(cursor: string): Promise<void> {
  const bookings = await client.bookings.list({ from: dateOf(Date.now() - DAY_MS), pageSize: PAGE_SIZE }).toArray()
  storeAll(bookings, cursor)
  console.log(`Read ${bookings.length} bookings`)
}

/** Stores every change, and ends with an error when the agency's history was rewritten. */
async function follow(): Promise<void> {
  if (storedPosition.get() === null) await begin((await client.changes.list()).cursor)
  const { cursor: after, checkpoint } = storedPosition.get() ?? {}
  const onReset = ({ cursor }: { readonly cursor: string }) => {
    console.log('The cursor has expired: reading everything again')
    return begin(cursor)
  }
  const kept = checkpoint ?? undefined
  const changes = client.changes.follow({ after, checkpoint: kept, include: ['rates', 'units'], onReset })
  for await (const change of changes) storeChange(change, changes.checkpoint)
}

/** Reads the calendars of the units that have changed, or all of them once a day. */
async function readCalendars(): Promise<void> {
  // Until the bookings have been read, changes are not followed.
  if (storedPosition.get() === null) return
  // What becomes stale during the read is read again.
  const stale = staleUnits.all()
  const units = stale.map(({ unit }) => unit)
  const isRead = Date.now() - allReadAt < CALENDAR_EVERY_MS && storedPage.get({ path: pathOf(1) }) !== null
  if (!isRead || units.includes(ALL) || units.length > UNITS_NAMED_MAX) await readAll()
  else if (units.length > 0) await readSome(units)
  else return
  forgetStale.run({ last: Math.max(0, ...stale.map(({ last }) => last)) })
  await Bun.sleep(CALENDAR_PAUSE_MS)
}

/** Reads all pages. Those that have not changed since this process read them are not sent again. */
async function readAll(): Promise<void> {
  const paths: string[] = []
  const units: string[] = []
  for await (const page of client.calendar({ ...copiedDates(), prices: true, pageSize: PAGE_SIZE }).pages()) {
    const path = pathOf(page.page)
    storeCalendars(page, path)
    units.push(...page.units.map(({ unit }) => unit))
    paths.push(path)
  }
  forgetOtherPages.run({ paths: JSON.stringify(paths) })
  forgetOtherUnits.run({ units: JSON.stringify(units) })
  allReadAt = Date.now()
}

async function readSome(units: readonly string[]): Promise<void> {
  try {
    const calendars = client.calendar({ ...copiedDates(), prices: true, pageSize: PAGE_SIZE, units })
    for await (const page of calendars.pages()) storeCalendars(page, null)
  } catch (error) {
    // One of them no longer exists.
    if (!(error instanceof NotFoundError)) throw error
    await readAll()
  }
}

function pathOf(page: number): string {
  const { from, to } = copiedDates()
  return `/calendar?from=${from}&to=${to}&prices=true&pageSize=${PAGE_SIZE}&page=${page}`
}

/** From the first of a month, so that the URLs, and with them the tags, stay the same all month. */
function copiedDates(): { from: IsoDate; to: IsoDate } {
  const from = isoDate(`${dateOf(Date.now()).slice(0, 7)}-01`)
  return { from, to: dateOf(Date.parse(from) + CALENDAR_DAYS * DAY_MS) }
}

function dateOf(ms: number): IsoDate {
  return isoDate(new Date(ms).toISOString().slice(0, 10))
}

/** When this process last read the calendars of all units. */
let allReadAt = 0
async function keepCalendars(): Promise<never> {
  for (;;) {
    await readCalendars()
    await Bun.sleep(LOOK_MS)
  }
}

try {
  await Promise.all([follow(), keepCalendars()])
} catch (error) {
  console.error('Cannot continue:', error instanceof ApiError ? error.message : error)
  process.exit(1)
}
