import type { SenderStats } from '../events/webhooks/sender-stats.ts'
import { byLabel, FROM_MS, type Metric, only } from './metric.ts'
import type { ServiceStats } from './service-stats.ts'

/** From the sender's process: unknown during its first second, and its counters restart with it. */
function ofSender(read: (sender: SenderStats) => number): (stats: ServiceStats) => ReturnType<typeof only> {
  return ({ sender }) => only(sender.sender === null ? null : read(sender.sender))
}

export const WEBHOOK_METRICS: readonly Metric<ServiceStats>[] = [
  {
    name: 'nightledger_webhook_sender_up',
    type: 'gauge',
    help: 'Whether the webhook sender is running: 1 or 0.',
    across: 'each',
    read: ({ sender }) => only(sender.isUp ? 1 : 0),
  },
  {
    name: 'nightledger_webhook_sender_restarts_total',
    type: 'counter',
    help: 'Times the webhook sender exited unexpectedly and was restarted.',
    read: ({ sender }) => only(sender.restarts),
  },
  {
    name: 'nightledger_webhook_attempts_total',
    type: 'counter',
    help: 'Delivery attempts, by outcome: delivered, status (the receiver refused), or why the receiver was not reached.',
    labels: ['outcome'],
    read: ({ sender: { sender } }) =>
      sender === null ? [] : byLabel('outcome', { delivered: sender.delivered, ...sender.failures }),
  },
  {
    name: 'nightledger_webhook_attempt_duration_seconds_total',
    type: 'counter',
    help: "Time from the start of an attempt until the receiver's response headers.",
    read: ofSender(({ attemptMsTotal }) => attemptMsTotal * FROM_MS),
  },
  {
    name: 'nightledger_webhook_deliveries_dead_total',
    type: 'counter',
    help: 'Deliveries abandoned after the last attempt of their schedule, or because their event could not be read.',
    read: ofSender(({ dead }) => dead),
  },
  {
    name: 'nightledger_webhook_endpoints_switched_off_total',
    type: 'counter',
    help: 'Endpoints switched off after too many consecutive failed deliveries.',
    read: ofSender(({ switchedOff }) => switchedOff),
  },
  {
    name: 'nightledger_webhook_deliveries_postponed_total',
    type: 'counter',
    help: "Deliveries postponed because their endpoint's secret could not be decrypted with the current SECRET_KEY.",
    read: ofSender(({ postponed }) => postponed),
  },
  {
    name: 'nightledger_webhook_sender_failures_total',
    type: 'counter',
    help: 'Times the sender could not make or claim deliveries in the database, or record their outcome.',
    labels: ['action'],
    read: ({ sender: { sender } }) =>
      sender === null
        ? []
        : byLabel('action', {
            make: sender.makeFailures,
            claim: sender.claimFailures,
            record: sender.recordFailures,
          }),
  },
  {
    name: 'nightledger_webhook_attempts_in_flight',
    type: 'gauge',
    help: 'Attempts in progress, by pool: fast receivers and slow (parked) ones.',
    labels: ['place'],
    read: ({ sender: { sender } }) =>
      sender === null ? [] : byLabel('place', { fast: sender.inFlightFast, parked: sender.inFlightParked }),
  },
  {
    name: 'nightledger_webhook_deliveries_claimed',
    type: 'gauge',
    help: 'Deliveries claimed by the sender whose outcome is not recorded yet.',
    read: ofSender(({ claimed }) => claimed),
  },
  {
    name: 'nightledger_webhook_deliveries_pending',
    type: 'gauge',
    help: 'Deliveries waiting, including those held for switched-off endpoints and those not made yet; counted up to 10000.',
    across: 'max',
    read: ({ backlog }) => only(backlog?.pending),
  },
  {
    name: 'nightledger_webhook_oldest_due_seconds',
    type: 'gauge',
    help: 'How long the oldest delivery to an active endpoint has been due; 0 if none is.',
    across: 'max',
    read: ({ backlog, nowMs }) =>
      backlog === null ? [] : only(Math.max(0, nowMs - (backlog.oldestDueAt ?? nowMs)) * FROM_MS),
  },
]
