import type { RefusalLine } from '../../accounts/refusal-counter.ts'
import type { Sql } from '../client/connect.ts'
import { classifyDatabaseError } from '../client/database-error.ts'
import { auditRow } from './append-batch.ts'
import { compositeText } from './table.ts'
import { AUDIT_ROW } from './tables.ts'

/**
 * Lines of the audit trail that count many attempts. They are written outside the journal and without the fence (J5): they
 * record what this process has answered, which is true whichever process is the writer now.
 */
export class PostgresRefusalRows {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /**
   * Writes lines; of lines with the same id, the highest count is kept. If the database rejects the data of one line, the others
   * are still written.
   * @throws DeadlineError, or the database's error; some lines may then be written
   */
  async keep(lines: readonly RefusalLine[]): Promise<void> {
    try {
      await this.#insert(lines)
    } catch (error) {
      if (lines.length < 2 || classifyDatabaseError(error) !== 'poison') throw error
      const settled = await Promise.allSettled(lines.map((line) => this.#insert([line])))
      const refused = settled.find(({ status }) => status === 'rejected')
      if (refused?.status === 'rejected') throw refused.reason
    }
  }

  async #insert(lines: readonly RefusalLine[]): Promise<void> {
    const rows = lines.map(({ agencyId, ...line }) => auditRow(agencyId, line))
    await this.#sql`select keep_refusals(${compositeText(AUDIT_ROW, rows)}::text::audit_row[])`
  }
}
