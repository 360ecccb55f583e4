import { BACKLOG_COUNTED_MAX } from '../../events/webhooks/sender-store.ts'
import { deliveryBacklog } from '../../postgres/stores/pending-deliveries.ts'
import { type Check, type DatabaseWorld, orOk, warning } from './check.ts'

/** As NightledgerWebhooksLate. */
const LATE_MS = 120_000

/** Whether events reach the receivers in time. */
export const webhooks: Check<DatabaseWorld> = {
  name: 'webhooks',
  run: async ({ sql, machine }) => {
    const { pending, oldestDueAt } = await deliveryBacklog(sql)
    const lateMs = oldestDueAt === null ? 0 : machine.now() - oldestDueAt
    const fix =
      'Check that the service is running, and its log for webhook sender errors; `nightledger webhooks list` shows the endpoints of an agency.'
    return orOk(
      [
        ...(lateMs >= LATE_MS
          ? [warning(`The oldest webhook delivery is ${Math.round(lateMs / 60_000)} minutes overdue.`, fix)]
          : []),
        ...(pending >= BACKLOG_COUNTED_MAX
          ? [warning(`At least ${BACKLOG_COUNTED_MAX} webhook deliveries are waiting.`, fix)]
          : []),
      ],
      `${pending} webhook deliveries are waiting, and none is late.`,
    )
  },
}
