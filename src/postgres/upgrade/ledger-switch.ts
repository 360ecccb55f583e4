import type { Sql } from '../client/connect.ts'
import { withLockRetries } from './lock-retries.ts'
import type { OnStep } from './progress.ts'
import switchText from './switch.sql' with { type: 'text' }
import { UpgradeError } from './upgrade-error.ts'

/** How long the previous version has to end after it was fenced out, before its tables move away from it. */
const LAST_VERSION_MS_MAX = 3_000
/** As long as something reads the old tables without a pause, such as a backup, they cannot be moved. */
const SWITCH_ATTEMPTS_MAX = 240

/** The steps from the previous version's tables to the new ones. */
export class LedgerSwitch {
  readonly #sql: Sql
  readonly #main: string
  readonly #onStep: OnStep

  /** @param options.main the old schema, quoted */
  constructor(options: { sql: Sql; main: string; onStep: OnStep }) {
    this.#sql = options.sql
    this.#main = options.main
    this.#onStep = options.onStep
  }

  /** Tries the whole switch and rolls it back: anything that can fail does so while the previous version still serves. */
  async rehearse(): Promise<void> {
    await this.#sql.unsafe(switchText.replaceAll('main_schema', this.#main)).simple()
    try {
      await withLockRetries(() => this.#sql`select ledger_upgrade.switch_over(0, 0, true)`, {
        attempts: SWITCH_ATTEMPTS_MAX,
        onBusy: () => this.#onStep('Waiting for locks on the old tables: another session reads them all the time'),
      })
    } catch (error) {
      if (codeOf(error) !== 'NL022') throw error
    }
  }

  /** Fences out the previous version. @returns the epoch that the switch must still find */
  async fence(): Promise<number> {
    const [row] = await this.#sql.unsafe<{ epoch: number }[]>(
      `update ${this.#main}.writer_fence set epoch = epoch + 1, holder = 'upgrade', renewal = null, taken_at = clock_timestamp()
       returning epoch::float8 as "epoch"`,
    )
    if (row === undefined) throw new UpgradeError('Cannot fence out the previous version: table writer_fence is empty')
    return row.epoch
  }

  /** The previous version notices the fence at its next write, and exits. An idle one is not waited for any longer: it cannot write. */
  async waitForLastVersion(): Promise<void> {
    const giveUpAt = performance.now() + LAST_VERSION_MS_MAX
    while (performance.now() < giveUpAt) {
      const [row] = await this.#sql<{ isThere: boolean }[]>`
        select exists (select from pg_stat_activity
                       where datname = current_database() and application_name = 'nightledger journal') as "isThere"`
      if (row?.isThere !== true) return
      await Bun.sleep(100)
    }
  }

  /** @returns false when the previous version has written meanwhile: it has taken over again */
  async switchOver(epoch: number, last: number): Promise<boolean> {
    try {
      await withLockRetries(
        () => this.#sql`select ledger_upgrade.switch_over(${epoch}::text::bigint, ${last}::text::bigint, false)`,
        {
          attempts: SWITCH_ATTEMPTS_MAX,
          onBusy: () => this.#onStep('Waiting for locks on the old tables, held by another session'),
        },
      )
      return true
    } catch (error) {
      if (codeOf(error) === 'NL021') return false
      throw error
    }
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : null
}
