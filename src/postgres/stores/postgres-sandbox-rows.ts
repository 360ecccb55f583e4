import type { SandboxRows } from '../../accounts/sandboxes.ts'
import type { Agency } from '../../core/catalogue/agency.ts'
import type { Instant } from '../../core/domain/booking.ts'
import type { ChangeAnswer, ChangeLine } from '../../core/journal/record.ts'
import { idOf, uuidOf } from '../../lib/ids.ts'
import type { Sql } from '../client/connect.ts'
import { auditedWrite, keepAnswer } from './audited-write.ts'

/** Seals a secret of an endpoint again, for another agency. */
export type Reseal = (
  sealed: string,
  endpointId: string,
  agencies: { readonly from: string; readonly to: string },
) => string

interface SealedRow {
  readonly endpointId: string
  readonly secretSealed: string
  readonly previousSecretSealed: string | null
}

/** What waits in sandboxes, and how they end. */
export class PostgresSandboxRows implements SandboxRows {
  readonly #sql: Sql
  readonly #epochOf: (agencyId: string) => number
  readonly #reseal: Reseal

  /** @param epochOf returns the current epoch of this writer for the agency, which may rise (Journal.epochOf) */
  constructor(sql: Sql, { epochOf, reseal }: { epochOf: (agencyId: string) => number; reseal: Reseal }) {
    this.#sql = sql
    this.#epochOf = epochOf
    this.#reseal = reseal
  }

  async nextMoment(agencyId: string, after: Instant): Promise<Instant | null> {
    const [row] = await this.#sql<{ at: Date | null }[]>`
      select least(
        (select min(hold_expires_at) from booking
         where status in ('draft', 'option') and hold_expires_at > ${new Date(after)} and agency_id = ${uuidOf(agencyId)}),
        (select min(next_attempt_at) from webhook_delivery
         where agency_id = ${uuidOf(agencyId)} and status = 'pending' and next_attempt_at > ${new Date(after)})) as at`
    return row?.at?.getTime() ?? null
  }

  async end(
    sandbox: Agency,
    successor: { readonly id: string; readonly at: number } | null,
    audit: ChangeLine,
  ): Promise<boolean> {
    const liveId = sandbox.sandboxOf ?? sandbox.id
    const secrets = successor === null ? [] : await this.#sealedFor(sandbox.id, successor.id)
    const ended = await auditedWrite(this.#sql, {
      agencyId: liveId,
      epoch: this.#epochOf(liveId),
      audit,
      change: this.#sql`
        select true as ended where end_sandbox(
          ${uuidOf(sandbox.id)}, ${this.#epochOf(sandbox.id)}, ${successor === null ? null : uuidOf(successor.id)},
          ${JSON.stringify(secrets)}::text::jsonb, ${new Date(successor?.at ?? audit.at)})`,
      alone: true,
    })
    return ended !== null
  }

  keepAnswer(liveId: string, answer: ChangeAnswer, at: Instant): Promise<void> {
    return keepAnswer(this.#sql, { agencyId: liveId, epoch: this.#epochOf(liveId), answer, at })
  }

  async #sealedFor(from: string, to: string) {
    const rows = await this.#sql<SealedRow[]>`
      select endpoint_id as "endpointId", secret_sealed as "secretSealed", previous_secret_sealed as "previousSecretSealed"
      from webhook_endpoint where agency_id = ${uuidOf(from)} and status <> 'deleted'`
    return rows.map(({ endpointId, secretSealed, previousSecretSealed }) => {
      const reseal = (sealed: string) => this.#reseal(sealed, idOf('whe', endpointId), { from, to })
      return {
        endpoint_id: endpointId,
        secret_sealed: reseal(secretSealed),
        previous_secret_sealed: previousSecretSealed === null ? null : reseal(previousSecretSealed),
      }
    })
  }
}
