import { changeLine } from '../core/bookings/durable-writes.ts'
import type { Agency } from '../core/catalogue/agency.ts'
import type { Caller, KeepChange } from '../core/journal/record.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import type { Retention } from './retention.ts'
import type { RetentionJob, RetentionRound, RetentionRows } from './retention-job.ts'
import { type AgencyOutcome, done } from './store-retries.ts'

/** The settings of agencies, which only the daily round reads: they are in no memory. */
export class RetentionCommands {
  readonly #rows: Pick<RetentionRows, 'find' | 'set'>
  readonly #job: RetentionJob
  readonly #run: (isDryRun: boolean) => Promise<RetentionRound>
  readonly #dependencies: { readonly clock: Clock; readonly newId: IdSource }

  constructor(options: {
    rows: Pick<RetentionRows, 'find' | 'set'>
    job: RetentionJob
    /** A round in all processes of the service; left out or null: this one is all of them. */
    run?: ((isDryRun: boolean) => Promise<RetentionRound>) | null
    clock: Clock
    newId: IdSource
  }) {
    this.#rows = options.rows
    this.#job = options.job
    this.#run = options.run ?? ((isDryRun) => this.#job.run({ isDryRun }))
    this.#dependencies = options
  }

  get defaults(): Retention {
    return this.#job.defaults
  }

  find(agency: Agency): Promise<Partial<Retention>> {
    return this.#rows.find(agency.id)
  }

  /** @throws what the store throws; the error says what is known about the outcome */
  async set(
    agency: Agency,
    own: Partial<Retention>,
    caller: Caller,
    keep?: KeepChange<Partial<Retention>>,
  ): Promise<AgencyOutcome<Partial<Retention>>> {
    await this.#rows.set(agency.id, own, changeLine(this.#dependencies, caller, keep?.(own)))
    return done(own)
  }

  run(isDryRun: boolean): Promise<RetentionRound> {
    return this.#run(isDryRun)
  }
}
