// Keeps a copy of an agency's bookings, unavailable nights and prices in a SQLite file. For Bun 1.2 or newer. No packages.
//   NIGHTLEDGER_URL=https://… NIGHTLEDGER_KEY=hr_live_… bun sync-calendar.ts copy.sqlite
// The key needs the scopes read:bookings, read:availability and read:rates. Stop or kill the program at any moment: started again,
// it continues where it was. Its tables: `booking` follows every change at once, `calendar` holds the answers of `GET /calendar`.
import { Database } from 'bun:sqlite'

const FILE = process.argv[2] ?? 'copy.sqlite'
const BASE = `${process.env['NIGHTLEDGER_URL'] ?? 'http://127.0.0.1:3000'}/partner/v1`
const KEY = process.env['NIGHTLEDGER_KEY'] ?? ''
/** No event tells of a change of prices: the calendar is read this often, and sooner after a change of a booking. */
const CALENDAR_EVERY_MS = 1_000 * Number(process.env['CALENDAR_EVERY_S'] ?? 300)
const CALENDAR_SOON_MS = 1_000 * Number(process.env['CALENDAR_SOON_S'] ?? 60)
const CALENDAR_DAYS = 366
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
  create table if not exists calendar (path text primary key, tag text not null, body text not null);
`)

const storedCursor = db.query<{ cursor: string }, []>('select cursor from position')
const storeCursor = db.query('insert or replace into position values (1, $cursor)')
const forgetCursor = db.query('delete from position')
const storeBooking = db.query(
  'insert or replace into booking values ($id, $unitSlug, $status, $arrival, $departure, $body)',
)
const storedPage = db.query<{ tag: string; body: string }, { path: string }>(
  'select tag, body from calendar where path = $path',
)
const storePage = db.query('insert or replace into calendar values ($path, $tag, $body)')
const forgetOtherPages = db.query('delete from calendar where path not in (select value from json_each($paths))')

function put(booking: Booking): void {
  const { id, unitSlug, status, arrival, departure } = booking
  storeBooking.run({ id, unitSlug, status, arrival, departure, body: JSON.stringify(booking) })
}

/** All bookings and the cursor before them, in one transaction: a reader of the copy sees the old ones or these. */
const storeAll = db.transaction((bookings: Iterable<Booking>, cursor: string) => {
  db.run('delete from booking')
  for (const booking of bookings) put(booking)
  storeCursor.run({ cursor })
})

/** Changes and the cursor after them, together: none is missed or applied to anything but what was before it. */
const storeEvents = db.transaction((events: readonly Map<string, string>[]) => {
  for (const event of events) {
    const [cursor, data] = [event.get('id'), event.get('data')]
    if (data !== undefined) put(JSON.parse(data).data)
    if (cursor !== undefined) storeCursor.run({ cursor })
  }
})

/**
 * Sends a request until it is answered with 200, 304 or 410: again after 429, 5xx and lost connections.
 * @throws RefusedError for another answer
 */
async function ask(path: string, headers: Record<string, string> = {}) {
  for (let retryMs = RETRY_MS; ; retryMs = Math.min(2 * retryMs, RETRY_MS_MAX)) {
    const silence = new AbortController()
    const timer = setTimeout(() => silence.abort(), SILENT_MS_MAX)
    const sent = { headers: { authorization: `Bearer ${KEY}`, ...headers }, signal: silence.signal }
    const response = await fetch(BASE + path, sent).catch(() => null)
    if (response !== null && [200, 304, 410].includes(response.status))
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
  const stream = await ask('/changes', { accept: 'text/event-stream', 'last-event-id': cursor })
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
    const events = blocks.map((block) => new Map(block.split('\n').map(fieldOf)))
    storeEvents(events)
    hasChanged ||= events.some((event) => event.has('data'))
  }
}

/** A comment is a field without a name. */
function fieldOf(line: string): [name: string, value: string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), line.slice(colon + 1).trimStart()]
}

/** Reads those pages of the calendar that have changed, then waits. */
async function readCalendar(): Promise<void> {
  hasChanged = false
  // A month at a time, so that the tags are of use.
  const from = `${dateOf(Date.now()).slice(0, 7)}-01`
  const to = dateOf(Date.parse(from) + CALENDAR_DAYS * DAY_MS)
  const paths: string[] = []
  for (let pageCount = 1; paths.length < pageCount; ) {
    const page = paths.length + 1
    const path = `/calendar?from=${from}&to=${to}&prices=true&page=${page}&pageSize=${PAGE_SIZE}`
    const stored = storedPage.get({ path })
    const answer = await ask(path, stored === null ? {} : { 'if-none-match': stored.tag })
    const text = await textOf(answer)
    if (answer.status === 200) storePage.run({ path, tag: answer.tag, body: text })
    pageCount = JSON.parse(stored !== null && answer.status === 304 ? stored.body : text).pageCount
    paths.push(path)
  }
  forgetOtherPages.run({ paths: JSON.stringify(paths) })
  const since = Date.now()
  while (Date.now() - since < (hasChanged ? CALENDAR_SOON_MS : CALENDAR_EVERY_MS)) await Bun.sleep(100)
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

/** A booking has changed since the calendar was read. */
let hasChanged = false
try {
  await Promise.all([
    forever(() => {
      const stored = storedCursor.get()
      return stored === null ? begin() : follow(stored.cursor)
    }),
    forever(readCalendar),
  ])
} catch (error) {
  console.error('Cannot continue:', error instanceof RefusedError ? error.message : error)
  process.exit(1)
}
