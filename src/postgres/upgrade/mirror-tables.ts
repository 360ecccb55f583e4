import type { Sql } from '../client/connect.ts'
import { withLockRetries } from './lock-retries.ts'
import { type MirrorColumn, mirrorScript, triggerStatements } from './mirror-statements.ts'
import { AGENCIES, MIRRORS, type Mirror } from './mirrors.ts'
import { type OnStep, Progress } from './progress.ts'

/** A minute and a half: something holds the table all that time. */
const LOCK_ATTEMPTS_MAX = 360

/** Copies the tables of an old ledger row by row, and keeps the copies up to date while the previous version writes. */
export class MirrorTables {
  readonly #sql: Sql
  readonly #main: string
  readonly #onStep: OnStep
  readonly #pageSize: number

  /**
   * @param options.sql of a client whose search path begins with `ledger_next`
   * @param options.main the old schema, quoted
   * @param options.pageSize rows copied by one statement
   */
  constructor(options: { sql: Sql; main: string; onStep: OnStep; pageSize: number }) {
    this.#sql = options.sql
    this.#main = options.main
    this.#onStep = options.onStep
    this.#pageSize = options.pageSize
  }

  /** The functions of all mirrors, as one script. */
  async script(): Promise<string> {
    const scripts: string[] = []
    for (const mirror of [AGENCIES, ...MIRRORS]) {
      scripts.push(mirrorScript(mirror, await this.#columns(mirror), this.#main))
    }
    return scripts.join('')
  }

  /** Makes the triggers and copies what was there before. Continues where an earlier run has ended. */
  async copy(mustGoOn: () => void): Promise<void> {
    // The rows of other tables refer to agencies, so the triggers of those may come only when all agencies are there.
    await this.#follow(AGENCIES)
    await this.#fill(AGENCIES, mustGoOn)
    for (const mirror of MIRRORS) await this.#follow(mirror)
    for (const mirror of MIRRORS) await this.#fill(mirror, mustGoOn)
  }

  /** Copies the rows that triggers have missed. */
  async again(): Promise<void> {
    const missed = await this.#sql<{ name: string }[]>`select distinct name from ledger_upgrade.missed`
    for (const { name } of missed) {
      const run = () => this.#sql.unsafe<{ rows: number }[]>(`select ledger_upgrade.again_${name}() as rows`)
      for (;;) {
        const [copied] = await withLockRetries(run, { attempts: LOCK_ATTEMPTS_MAX })
        if ((copied?.rows ?? 0) === 0) break
      }
    }
  }

  async #follow(mirror: Mirror): Promise<void> {
    for (const statement of triggerStatements(mirror, this.#main)) {
      const script = `set local lock_timeout = '500ms'; ${statement}`
      await withLockRetries(() => this.#sql.unsafe(script).simple(), {
        attempts: LOCK_ATTEMPTS_MAX,
        onBusy: () => this.#onStep(`Waiting for a lock on table ${mirror.from}, held by another session`),
      })
    }
  }

  async #fill({ name }: Mirror, mustGoOn: () => void): Promise<void> {
    const [state] = await this.#sql<{ estimate: number; copied: number; isCopied: boolean }[]>`
      select estimate::float8 as "estimate", copied::float8 as "copied", is_copied as "isCopied"
      from ledger_upgrade.mirror where name = ${name}`
    if (state === undefined || state.isCopied) return
    this.#onStep(`Copying table ${name}`)
    const progress = new Progress(`table ${name}`, {
      total: state.estimate,
      done: state.copied,
      onStep: this.#onStep,
    })
    const run = () =>
      this.#sql.unsafe<{ rows: number }[]>(`select ledger_upgrade.fill_${name}(${this.#pageSize}) as rows`)
    for (let copied = state.copied; ; ) {
      mustGoOn()
      const [page] = await withLockRetries(run, { attempts: LOCK_ATTEMPTS_MAX })
      const rows = page?.rows ?? 0
      copied += rows
      if (rows < this.#pageSize) return
      progress.report(copied)
    }
  }

  /** The columns of the new table that can be written, and what they are in the old one. */
  async #columns({ from, to, renamed }: Mirror): Promise<readonly MirrorColumn[]> {
    const rows = await this.#sql<{ name: string; newType: string }[]>`
      select attname as "name", format_type(atttypid, null) as "newType" from pg_attribute
      where attrelid = ${to}::text::regclass and attnum > 0 and not attisdropped and attgenerated = ''
      order by attnum`
    const old = await this.#sql<{ name: string; type: string }[]>`
      select attname as "name", format_type(atttypid, null) as "type" from pg_attribute
      where attrelid = ${`${this.#main}.${from}`}::text::regclass and attnum > 0 and not attisdropped`
    const oldTypes = new Map(old.map(({ name, type }) => [name, type]))
    return rows.map(({ name, newType }) => {
      const oldName = renamed[name] ?? name
      const oldType = oldTypes.get(oldName) ?? null
      return { name, oldName, oldType, isId: newType === 'uuid' && oldType === 'text' }
    })
  }
}
