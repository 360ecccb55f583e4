/**
 * Years of a ledger, in the past so that every month of theirs is over by the clock of the database: bookings of each month, their webhooks,
 * retention, archives. At each new year it is compared with what was known when it happened.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dueAt, type Retention } from '../../../src/accounts/retention.ts'
import { retentionOf } from '../../../src/app/config.ts'
import { openErasuresFile } from '../../../src/app/erasures-file.ts'
import type { Ledger } from '../../../src/app/ledger.ts'
import { archiveMonth, type MonthManifest } from '../../../src/app/month-archive.ts'
import { runCli } from '../../../src/cli/run-cli.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import { formatNight } from '../../../src/core/domain/night.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import type { Month } from '../../../src/core/journal/shard.ts'
import { stateHash } from '../../../src/core/journal/snapshot-codec.ts'
import { DAY_MS } from '../../../src/lib/clock.ts'
import { idOf } from '../../../src/lib/ids.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import { connect } from '../../../src/postgres/client/connect.ts'
import { oldestMonth } from '../../../src/postgres/stores/month-tables.ts'
import { PostgresChainKeys } from '../../../src/postgres/stores/postgres-chain-keys.ts'
import { makeDeliveries } from '../../events/webhooks/support/make-deliveries.ts'
import { makeCheckpoints } from '../../support/checkpoints.ts'
import { addAgency, addUnit, DEFAULT_LIMITS, openTestDatabaseLedger, type Reports } from '../../support/open-ledger.ts'
import { clockAt, haveMonthsSince } from '../../support/past-months.ts'
import { copyOf, type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { insertEndpoint } from '../../support/sample-rows.ts'
import { AMPLE_PLAN, CALLER, requestFor, sampleId, sampleUnit } from '../../support/samples.ts'
import { TEST_SECRET_KEY } from '../../support/service-process.ts'
import { verifyDatabase } from '../../support/verify-database.ts'
import { chainProblems, erasedGuests, keptTooLong } from './years-problems.ts'

interface YearsOptions {
  readonly years: number
  readonly agencies: number
  readonly unitsPerAgency: number
  readonly staysPerUnitYear: number
  readonly retention?: Partial<Retention>
  readonly seed: number
}

export const TWENTY_YEARS: YearsOptions = {
  years: 20,
  agencies: 10,
  unitsPerAgency: 100,
  staysPerUnitYear: 4,
  seed: 20,
}

/** Where the years are lived, and how their ledger is backed up. */
export interface YearsServer {
  /** A new one, migrated. */
  database(): Promise<TestDatabase>
  /** Nothing but its own `sql` may be connected to the database. @returns makes a new database of what is in it now */
  backUp(database: TestDatabase): Promise<() => Promise<TestDatabase>>
}

/** The server of the test run, which has no `pg_dump`: a backup is a copy of the database. */
const SERVER_OF_THE_RUN: YearsServer = {
  database: () => testDatabase(),
  backUp: async (database) => {
    const copy = await copyOf(database)
    return async () => copy
  },
}

/** Kilobytes of each table with its indexes, months together, and of the archives. */
export type Disk = Readonly<Record<string, number>>

export interface Year {
  readonly year: number
  readonly disk: Disk
  readonly entries: number
  readonly bookings: number
  readonly guests: number
  readonly seconds: number
}

/** What was known at a new year. */
interface Known {
  readonly at: number
  readonly agency: Agency
  readonly unit: Unit
  readonly state: string
  readonly cursor: string
  /** Of the history that the cursor belongs to. */
  readonly history: number
}

/** Bookings at once: as many as form a few batches. */
const AT_ONCE = 200
/** Guests who are erased at their request in the month that a restore loses. */
const ERASED_BY_HAND = 10

export class SimulatedYears {
  readonly #options: YearsOptions
  readonly #server: YearsServer
  readonly #random: SeededRandom
  readonly #archives = mkdtempSync(join(tmpdir(), 'years-'))
  /** ERASURES_FILE. */
  readonly #erasures = `${this.#archives}.ndjson`
  readonly #manifests: MonthManifest[] = []
  readonly #known: Known[] = []
  readonly #retention: Retention
  #database: TestDatabase
  #ledger!: Ledger & { reports: Reports }
  #now: number
  #agencies: Agency[] = []
  #units: { agency: Agency; unit: Unit; freeFrom: number }[] = []
  #guests = 0
  #history = 0

  private constructor(options: YearsOptions, server: YearsServer, database: TestDatabase, now: number) {
    this.#options = options
    this.#server = server
    this.#random = new SeededRandom(options.seed)
    this.#retention = { ...retentionOf(DEFAULT_LIMITS), ...options.retention }
    this.#database = database
    this.#now = now
  }

  /** The last one of the years ends before this month. */
  static async open(options: YearsOptions, server: YearsServer = SERVER_OF_THE_RUN): Promise<SimulatedYears> {
    const database = await server.database()
    const first = `${new Date().getUTCFullYear() - options.years}-01-01`
    // Months are made as the years pass, not up to today.
    await database.sql
      .unsafe(`
      create table years_until (month date not null);
      insert into years_until values ('${first}');
      alter function ensure_months(date) rename to ensure_all_months;
      create function ensure_months(until date) returns date language sql security definer as
        $$ select ensure_all_months(least(until, (select u.month + interval '3 months' from years_until u)::date)) $$`)
      .simple()
    await haveMonthsSince(database.sql, first)
    const self = new SimulatedYears(options, server, database, Date.parse(`${first}T00:00:00Z`))
    await self.#openLedger()
    await self.#settle()
    return self
  }

  async close(): Promise<void> {
    await this.#ledger.close()
    await this.#database.drop()
    rmSync(this.#archives, { recursive: true })
    rmSync(this.#erasures, { force: true })
  }

  async #openLedger(): Promise<void> {
    const { bookingYears, guestMonths, logYears, deliveryDays } = this.#retention
    this.#ledger = await openTestDatabaseLedger(this.#database.url, {
      clock: clockAt(() => this.#now),
      limits: {
        retainBookingYears: bookingYears,
        retainGuestMonths: guestMonths,
        retainLogYears: logYears,
        retainDeliveryDays: deliveryDays,
      },
      listErasure: await openErasuresFile(this.#erasures),
    })
  }

  async #settle(): Promise<void> {
    const { agencies, unitsPerAgency } = this.#options
    for (let a = 0; a < agencies; a++) {
      const agency = await addAgency(this.#ledger, {
        id: sampleId('agc', `y${a}`),
        slug: `agency-${a}`,
        plan: AMPLE_PLAN,
      })
      this.#agencies.push(agency)
      for (let u = 0; u < unitsPerAgency; u++) {
        const slug = `unit-${a}-${u}`
        const unit = await addUnit(this.#ledger, agency, sampleUnit({ id: sampleId('unt', slug), slug, name: slug }))
        this.#units.push({ agency, unit, freeFrom: this.#now / DAY_MS })
      }
      await insertEndpoint(this.#database.sql, {
        agencyId: agency.id,
        endpointId: sampleId('whe', `y${a}`),
        sealed: 'sealed',
      })
    }
  }

  /** Twelve months, and a look at the disk. */
  async live(): Promise<Year> {
    const began = performance.now()
    const year = new Date(this.#now).getUTCFullYear()
    for (let month = 0; month < 12; month++) await this.#liveMonth(Date.UTC(year, month, 1))
    this.#now = Date.UTC(year + 1, 0, 1)
    await this.#endOfMonth()
    await this.#remember()
    const { sql } = this.#database
    const [counts] = await sql<{ entries: number; bookings: number; guests: number }[]>`
      select (select count(*)::int from journal) as entries, (select count(*)::int from booking) as bookings,
             (select count(*)::int from guest) as guests`
    const seconds = (performance.now() - began) / 1_000
    return { year, disk: await this.#disk(), ...(counts ?? { entries: 0, bookings: 0, guests: 0 }), seconds }
  }

  async #liveMonth(begins: number): Promise<void> {
    await this.#database.sql`update years_until set month = ${new Date(begins).toISOString()}::text::date`
    const [row] = await this.#database.sql<{ newest: Month }[]>`
      select ensure_months(${new Date(begins + 60 * DAY_MS).toISOString()}::text::date)::text as newest`
    this.#ledger.journal.setNewestMonth(row?.newest ?? '')
    const perUnit = this.#options.staysPerUnitYear / 12
    for (let part = 0; part < 2; part++) {
      this.#now = begins + (1 + 14 * part) * DAY_MS
      const due = this.#units.filter(() => this.#random.chance(perUnit / 2))
      for (let from = 0; from < due.length; from += AT_ONCE)
        await Promise.all(due.slice(from, from + AT_ONCE).map((one) => this.#book(one)))
    }
    this.#now = begins + 27 * DAY_MS
    await this.#endOfMonth()
  }

  async #book(one: { agency: Agency; unit: Unit; freeFrom: number }): Promise<void> {
    const { agency, unit } = one
    const random = this.#random
    const arrival = Math.max(one.freeFrom, Math.ceil(this.#now / DAY_MS) + 1) + random.below(5)
    const departure = arrival + random.int(2, 9)
    one.freeFrom = departure
    const isReturning = this.#guests > 0 && random.chance(0.4)
    const number = isReturning ? this.#guests - random.below(Math.min(this.#guests, 500)) : ++this.#guests
    const guest = {
      firstName: 'Ana',
      lastName: `Reis ${number}`,
      email: `ana-${number}@example.com`,
      phone: '+351 210 000 000',
      nationality: 'PT',
    }
    const day = (n: number) => formatNight(n as never)
    const request = requestFor(unit, day(arrival), day(departure), { guest, sourceRef: `ref-${number}` })
    const [isCancelled, isChanged] = [random.chance(0.1), random.chance(0.1)]
    const outcome = await this.#ledger.commands.book(agency, request, CALLER)
    if (outcome.kind !== 'done') throw new Error(`Expected a booking: ${JSON.stringify(outcome)}`)
    const bookingId = outcome.booking.id
    if (isCancelled) await this.#ledger.commands.cancel(agency, { bookingId, reason: null }, CALLER)
    else if (isChanged)
      await this.#ledger.commands.change(agency, { bookingId, change: { status: 'checked_in' } }, CALLER)
    // A refusal leaves a line in the audit trail.
    if (random.chance(0.1)) await this.#ledger.commands.book(agency, request, CALLER)
  }

  /** What the service does by itself, and what the operator does. */
  async #endOfMonth(): Promise<void> {
    const { url, sql } = this.#database
    await makeDeliveries(url, this.#ledger.epoch)
    await sql.unsafe(`
      with sent as (
        update webhook_delivery set status = 'delivered', next_attempt_at = null, finished_at = created_at
        where status = 'pending' returning agency_id, delivery_id, month, created_at)
      insert into webhook_attempt (at, agency_id, delivery_id, month, attempt, duration_ms, http_status)
      select created_at, agency_id, delivery_id, month, 1, 20, 200 from sent`)
    const { monthsToArchive } = await this.#ledger.retention.run({ isDryRun: false })
    if (monthsToArchive === 0) return
    await makeCheckpoints(sql)
    const chainKeys = await new PostgresChainKeys(sql, Uint8Array.fromHex(TEST_SECRET_KEY)).read()
    const admin = connect(url, { purpose: 'admin' })
    for (let n = 0; n < monthsToArchive; n++) {
      const month = await oldestMonth(sql)
      this.#manifests.push(await archiveMonth({ sql: admin, chainKeys, month, out: this.#archives }))
    }
    await admin.end()
    // Bookings are deleted after their log.
    await this.#ledger.retention.run({ isDryRun: false })
  }

  async #remember(): Promise<void> {
    const { agency, unit } = this.#random.pick(this.#units)
    this.#known.push({
      at: this.#now,
      agency,
      unit,
      state: stateHash(await this.#ledger.directory.read({ agencyId: agency.id, unitId: unit.id })),
      cursor: this.#ledger.changes.endCursor(agency.id),
      history: this.#history,
    })
  }

  /** Kilobytes, after a vacuum as the server does it by itself. */
  async #disk(): Promise<Disk> {
    const { sql } = this.#database
    await sql.unsafe('vacuum').simple()
    const rows = await sql<{ name: string; kb: number }[]>`
      select regexp_replace(c.relname, '_[0-9]{4}_[0-9]{2}$', '') as "name", (sum(pg_total_relation_size(c.oid)) / 1024)::float8 as "kb"
      from pg_class c where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
      group by 1 order by 1`
    const archives = readdirSync(this.#archives, { recursive: true })
      .map((name) => statSync(join(this.#archives, String(name))))
      .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0)
    return { ...Object.fromEntries(rows.map(({ name, kb }) => [name, kb])), archives: Math.round(archives / 1_024) }
  }

  /**
   * Restores the ledger to this moment after another month has passed, as docs/operating.md says. The bookings of that month are lost. Its
   * erasures are carried out again, and its archives are written over.
   * @returns what `after-restore` printed
   */
  async restore(): Promise<string> {
    const [moment, archived] = [this.#now, this.#manifests.length]
    await this.#ledger.close()
    const restored = await this.#server.backUp(this.#database)
    await this.#openLedger()
    await this.#liveMonth(moment)
    this.#now = Date.UTC(new Date(moment).getUTCFullYear(), 1, 1)
    await this.#endOfMonth()
    await this.#eraseByHand()
    await this.#ledger.close()

    await this.#database.drop()
    this.#database = await restored()
    this.#now = moment
    this.#manifests.length = archived
    const printed = await cli(this.#database.url, 'after-restore', '--erasures', this.#erasures)
    await this.#database.sql`update webhook_endpoint set status = 'active', disabled_reason = null`
    await this.#openLedger()
    this.#history += 1
    await this.#completeErasures()
    return printed
  }

  async #eraseByHand(): Promise<void> {
    const some = await this.#database.sql<{ agencyId: string; guestId: string }[]>`
      select agency_id as "agencyId", guest_id as "guestId" from guest order by created_at, guest_id
      offset (select count(*) / 2 from guest) limit ${ERASED_BY_HAND}`
    for (const { agencyId, guestId } of some)
      await this.#ledger.guestErasures.erase(this.#agencyOf(agencyId), idOf('gst', guestId), CALLER)
  }

  /** As the service does at its start and every minute. */
  async #completeErasures(): Promise<void> {
    const begun = await this.#database.sql<{ agencyId: string; guestId: string }[]>`
      select agency_id as "agencyId", guest_id as "guestId" from guest_erasure where erased_at is null`
    for (const { agencyId, guestId } of begun)
      await this.#ledger.guestErasures.completeBegun(this.#agencyOf(agencyId), idOf('gst', guestId))
  }

  #agencyOf(uuid: string): Agency {
    const agency = this.#agencies.find(({ id }) => id === idOf('agc', uuid))
    if (agency === undefined) throw new Error(`Cannot find agency ${uuid} of the simulation`)
    return agency
  }

  /** What is not as it should be; empty when everything is. */
  async problems(): Promise<string[]> {
    const { sql } = this.#database
    return [
      ...this.#ledger.reports.failures.map((failure) => `reported: ${failure}`),
      ...(await verifyDatabase(sql)).differences.map(({ what, at, message }) => `${what} ${at}: ${message}`),
      ...(await chainProblems(sql, this.#manifests)),
      ...(await this.#pastProblems()),
      ...(await keptTooLong(sql, dueAt(this.#now, this.#retention))),
      ...(await erasedGuests(sql, this.#erasures)),
    ]
  }

  /** Within the kept time a unit is as it was, and the feed continues from the cursor; before it, both are expired. */
  async #pastProblems(): Promise<string[]> {
    const problems: string[] = []
    const begins = Date.parse(`${await oldestMonth(this.#database.sql)}T00:00:00Z`)
    for (const { at, agency, unit, state, cursor, history } of this.#known) {
      const day = new Date(at).toISOString().slice(0, 10)
      const past = await this.#ledger.unitsAsOf.read({ agencyId: agency.id, unitId: unit.id }, at)
      const isKept = at >= begins
      if (past.kind === 'found' ? !isKept || stateHash(past.state) !== state : isKept)
        problems.push(
          `${unit.slug} as of ${day}: ${past.kind}, kept since ${new Date(begins).toISOString().slice(0, 10)}`,
        )
      const signal = new AbortController().signal
      const request = { agencyId: agency.id, keyId: CALLER.actor.id ?? '', after: cursor, limit: 10, signal, waitMs: 0 }
      const read = await this.#ledger.changes.page({ ...request, isServed: () => true })
      const isExpired = 'kind' in read && read.kind === 'expired'
      if (isExpired !== (history !== this.#history || (at < begins && at < this.#now)))
        problems.push(`the cursor of ${day}: ${'kind' in read ? read.kind : 'read'}`)
    }
    return problems
  }
}

/** @throws with what the command printed, if it failed */
async function cli(url: string, ...args: string[]): Promise<string> {
  let printed = ''
  const out = (text: string) => {
    printed += text
  }
  const env = { DATABASE_URL: url }
  if ((await runCli(args, { isTty: false, out, err: out, readInput: async () => '', env })) !== 0)
    throw new Error(`nightledger ${args.join(' ')} failed: ${printed}`)
  return printed
}
