import type { SenderStats } from '../webhooks/sender-stats.ts'
import { byLabel, FROM_MS, type Metric, only } from './metric.ts'
import type { ServiceStats } from './service-stats.ts'

/** Of the sender's process: nothing is known of it in its first second, and its counters begin anew with it. */
function ofSender(read: (sender: SenderStats) => number): (stats: ServiceStats) => ReturnType<typeof only> {
  return ({ sender }) => only(sender.sender === null ? null : read(sender.sender))
}

export const WEBHOOK_METRICS: readonly Metric<ServiceStats>[] = [
  {
    name: 'nightledger_webhook_sender_up',
    type: 'gauge',
    help: "Whether the sender's process runs: 1 or 0.",
    read: ({ sender }) => only(sender.isUp ? 1 : 0),
  },
  {
    name: 'nightledger_webhook_sender_restarts_total',
    type: 'counter',
    help: "Times the sender's process ended by itself and was started again.",
    read: ({ sender }) => only(sender.restarts),
  },
  {
    name: 'nightledger_webhook_attempts_total',
    type: 'counter',
    help: 'Attempts to deliver, by outcome: delivered, status (the receiver refused), or why it was not reached.',
    labels: ['outcome'],
    read: ({ sender: { sender } }) =>
      sender === null ? [] : byLabel('outcome', { delivered: sender.delivered, ...sender.failures }),
  },
  {
    name: 'nightledger_webhook_attempt_duration_seconds_total',
    type: 'counter',
    help: "Time of all attempts until the head of the receiver's answer.",
    read: ofSender(({ attemptMsTotal }) => attemptMsTotal * FROM_MS),
  },
  {
    name: 'nightledger_webhook_deliveries_dead_total',
    type: 'counter',
    help: 'Deliveries given up after the last attempt of their schedule.',
    read: ofSender(({ dead }) => dead),
  },
  {
    name: 'nightledger_webhook_endpoints_switched_off_total',
    type: 'counter',
    help: 'Endpoints switched off after too many failed deliveries in a row.',
    read: ofSender(({ switchedOff }) => switchedOff),
  },
  {
    name: 'nightledger_webhook_deliveries_postponed_total',
    type: 'counter',
    help: "Deliveries not sent as their endpoint's secret could not be opened: SECRET_KEY is not the one it was sealed with.",
    read: ofSender(({ postponed }) => postponed),
  },
  {
    name: 'nightledger_webhook_sender_failures_total',
    type: 'counter',
    help: 'Times the sender could not claim deliveries in the database, or record how they ended.',
    labels: ['action'],
    read: ({ sender: { sender } }) =>
      sender === null ? [] : byLabel('action', { claim: sender.claimFailures, record: sender.recordFailures }),
  },
  {
    name: 'nightledger_webhook_attempts_in_flight',
    type: 'gauge',
    help: 'Attempts under way: at receivers that answer soon, and at those that keep us waiting.',
    labels: ['place'],
    read: ({ sender: { sender } }) =>
      sender === null ? [] : byLabel('place', { fast: sender.inFlightFast, parked: sender.inFlightParked }),
  },
  {
    name: 'nightledger_webhook_deliveries_claimed',
    type: 'gauge',
    help: 'Deliveries in the hands of the sender that are not recorded yet.',
    read: ofSender(({ claimed }) => claimed),
  },
  {
    name: 'nightledger_webhook_deliveries_pending',
    type: 'gauge',
    help: 'Deliveries that wait, those held for switched-off endpoints among them; counted up to 10000.',
    read: ({ backlog }) => only(backlog?.pending),
  },
  {
    name: 'nightledger_webhook_oldest_due_seconds',
    type: 'gauge',
    help: 'For how long the delivery that waits longest at an active endpoint has been due; 0 when none is.',
    read: ({ backlog, nowMs }) =>
      backlog === null ? [] : only(Math.max(0, nowMs - (backlog.oldestDueAt ?? nowMs)) * FROM_MS),
  },
]
