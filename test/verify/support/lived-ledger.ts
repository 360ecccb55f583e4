/** A ledger on a test database with something in it, to be damaged. */
import type { Ledger } from '../../../src/app/ledger.ts'
import type { FoundOutcome } from '../../../src/core/bookings/booking-turns.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import { stateHash } from '../../../src/core/journal/snapshot-codec.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { Verification } from '../../../src/verify/findings.ts'
import type { VerifyStore } from '../../../src/verify/verify-store.ts'
import { emptyTables } from '../../support/empty-tables.ts'
import { eventually } from '../../support/eventually.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../../support/open-ledger.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { CALLER, requestFor, sampleId, sampleUnit } from '../../support/samples.ts'
import { verifyDatabase } from '../../support/verify-database.ts'

const GUEST = { firstName: 'Ana', lastName: 'Reis', email: 'ana@example.com', phone: null, nationality: null }

export class LivedLedger {
  private constructor(
    readonly database: TestDatabase,
    readonly ledger: Ledger,
    readonly agency: Agency,
    readonly units: readonly [Unit, Unit],
  ) {}

  /** An agency with two units on the emptied database. */
  static async open(database: TestDatabase): Promise<LivedLedger> {
    await emptyTables(database.sql)
    await database.sql`update shard set mark = 0, mark_link = '', base = 0, base_link = ''`
    // No round of checkpoints but those that a test asks for: the ledger's first is after 10 s.
    const after: typeof systemClock.after = (ms, task) => (ms >= 10_000 ? () => {} : systemClock.after(ms, task))
    const clock = { ...systemClock, after }
    const ledger = await openTestDatabaseLedger(database.url, { limits: { snapshotEvery: 3 }, clock })
    const agency = await addAgency(ledger)
    const unit = (slug: string) => addUnit(ledger, agency, sampleUnit({ id: sampleId('unt', slug), slug }))
    return new LivedLedger(database, ledger, agency, [await unit('a'), await unit('b')])
  }

  /** Bookings, a cancellation, a move, and a change that fires no event: entries 3 to 9. */
  async live(): Promise<{ kept: string; cancelled: string; moved: string }> {
    const { ledger, agency } = this
    const [a, b] = this.units
    const kept = await this.book(a, '2027-03-01', '2027-03-04')
    const cancelled = await this.book(a, '2027-03-10', '2027-03-12')
    const moved = await this.book(a, '2027-03-20', '2027-03-22')
    await ledger.commands.cancel(agency, { bookingId: cancelled, reason: null }, CALLER)
    await ledger.commands.change(agency, { bookingId: moved, change: { unitId: b.id } }, CALLER)
    await ledger.commands.change(agency, { bookingId: kept, change: { status: 'checked_in' } }, CALLER)
    await ledger.commands.change(agency, { bookingId: kept, change: { expectedUntil: 20_900 as never } }, CALLER)
    return { kept, cancelled, moved }
  }

  async book(unit: Unit, from: string, to: string): Promise<string> {
    return bookedId(await this.ledger.commands.book(this.agency, requestFor(unit, from, to, { guest: GUEST }), CALLER))
  }

  /** Snapshots are written after their change is answered. */
  async withSnapshot(): Promise<void> {
    await eventually('every snapshot that was begun is written', async () => {
      const { count } = await this.database.sql`select from snapshot`
      return count > 0 && count === this.ledger.directory.stats.snapshots
    })
  }

  /** What a verification beside the running ledger finds. */
  check(options: { store?: VerifyStore; limit?: number } = {}): Promise<Verification> {
    return verifyDatabase(this.database.sql, {
      ...options,
      live: async (unitIds) =>
        new Map(
          unitIds.flatMap((unitId) => {
            const state = this.ledger.directory.peek(unitId)
            return state === null ? [] : [[unitId, { seq: state.seq, hash: stateHash(state) }]]
          }),
        ),
    })
  }
}

export function bookedId(outcome: FoundOutcome): string {
  if (outcome.kind !== 'done') throw new Error('Expected a booking')
  return outcome.booking.id
}
