import { byLabel, FROM_MS, type Metric, only, type Sample } from './metric.ts'
import type { PoolStats, ServiceStats } from './service-stats.ts'

const STATES = ['idle', 'flushing', 'fenced', 'closed'] as const

const JOURNAL_METRICS: readonly Metric<ServiceStats>[] = [
  {
    name: 'nightledger_journal_state',
    type: 'gauge',
    help: 'State of the writer: 1 for the current state. fenced: another process has taken over and this one is exiting.',
    labels: ['state'],
    across: 'each',
    read: ({ journal }) => STATES.map((state) => ({ labels: { state }, value: journal.state === state ? 1 : 0 })),
  },
  {
    name: 'nightledger_journal_records_waiting',
    type: 'gauge',
    help: 'Records waiting for a journal batch.',
    read: ({ journal }) => only(journal.waiting),
  },
  {
    name: 'nightledger_journal_oldest_record_age_seconds',
    type: 'gauge',
    help: 'Journal lag: age of the oldest record that is not yet durable, in flight or waiting; 0 if there is none.',
    across: 'max',
    read: ({ journal }) => only(journal.oldestMs * FROM_MS),
  },
  {
    name: 'nightledger_journal_batch_in_flight_seconds',
    type: 'gauge',
    help: 'How long the oldest batch in flight has been there; 0 if there is none.',
    across: 'max',
    read: ({ journal }) => only(journal.inFlightMs * FROM_MS),
  },
  {
    name: 'nightledger_journal_append_duration_seconds',
    type: 'histogram',
    help: "Time from a batch's first send until it was known to be durable.",
    read: ({ journal }) => [{ reading: journal.appendMs, scale: FROM_MS }],
  },
  {
    name: 'nightledger_journal_batch_records',
    type: 'histogram',
    help: 'Records per durable batch: how many writes share a commit.',
    read: ({ journal }) => [{ reading: journal.batchSizes, scale: 1 }],
  },
  {
    name: 'nightledger_journal_batch_records_max',
    type: 'gauge',
    help: 'Current limit of records per batch: below JOURNAL_BATCH_MAX after batches were too slow for the database.',
    across: 'min',
    read: ({ journal }) => only(journal.batchMax),
  },
  {
    name: 'nightledger_journal_batches_resent_total',
    type: 'counter',
    help: 'Batches sent again because the outcome was unknown or the database was unavailable.',
    read: ({ journal }) => only(journal.resends),
  },
  {
    name: 'nightledger_journal_records_refused_total',
    type: 'counter',
    help: 'Records that did not become durable, by reason. Each is a request answered with 500.',
    labels: ['reason'],
    read: ({ journal }) => byLabel('reason', journal.refused),
  },
  {
    name: 'nightledger_journal_entries_total',
    type: 'counter',
    help: 'Entries that became durable: changes of bookings and units.',
    read: ({ journal }) => only(journal.entries),
  },
  {
    name: 'nightledger_months_ahead',
    type: 'gauge',
    help: 'Months after this one that have partitions: 3, for up to a day after the beginning of a month 2. Negative: rows of this month are stored in an earlier one.',
    across: 'min',
    read: ({ monthsAhead }) => only(monthsAhead),
  },
]

const UNIT_METRICS: readonly Metric<ServiceStats>[] = [
  {
    name: 'nightledger_units_resident',
    type: 'gauge',
    help: 'Units in memory.',
    read: ({ units }) => only(units.resident),
  },
  {
    name: 'nightledger_units_activating',
    type: 'gauge',
    help: 'Units being loaded from snapshot and journal.',
    read: ({ units }) => only(units.activating),
  },
  {
    name: 'nightledger_units_damaged',
    type: 'gauge',
    help: 'Units refused because their stored data is damaged. Counted from the first request for them.',
    read: ({ units }) => only(units.damaged),
  },
  {
    name: 'nightledger_unit_activations_total',
    type: 'counter',
    help: 'Units loaded into memory.',
    read: ({ units }) => only(units.activations),
  },
  {
    name: 'nightledger_inventory_loads_total',
    type: 'counter',
    help: 'Agencies whose units and fees were read, all of them at once.',
    read: ({ catalogue }) => only(catalogue.inventoryLoads),
  },
  {
    name: 'nightledger_unit_passivations_total',
    type: 'counter',
    help: 'Units evicted from memory.',
    read: ({ units }) => only(units.passivations),
  },
  {
    name: 'nightledger_unit_snapshots_total',
    type: 'counter',
    help: 'Unit snapshots started.',
    read: ({ units }) => only(units.snapshots),
  },
  {
    name: 'nightledger_mailbox_commands_waiting',
    type: 'gauge',
    help: 'Commands waiting in mailboxes, all units in memory together.',
    read: ({ units }) => only(units.waiting),
  },
  {
    name: 'nightledger_mailbox_commands_waiting_deepest',
    type: 'gauge',
    help: 'Commands waiting in the deepest mailbox.',
    across: 'max',
    read: ({ units }) => only(units.deepest),
  },
  {
    name: 'nightledger_mailbox_refusals_total',
    type: 'counter',
    help: 'Commands refused because the mailbox of their unit was full. Each is a request answered with 500.',
    read: ({ units }) => only(units.refused),
  },
  {
    name: 'nightledger_holds_failing',
    type: 'gauge',
    help: 'Expired holds that could not be released at the last attempt. Each is retried at least every five minutes.',
    read: ({ holdsFailing }) => only(holdsFailing),
  },
]

const WRITER_METRICS: readonly Metric<ServiceStats>[] = [
  {
    name: 'nightledger_writer_epoch',
    type: 'gauge',
    help: 'Writer epoch of this process.',
    across: 'max',
    read: ({ epoch }) => only(epoch),
  },
  {
    name: 'nightledger_fence_epoch',
    type: 'gauge',
    help: 'Epoch that may write, according to the database; higher than nightledger_writer_epoch if another process has taken over.',
    across: 'max',
    read: ({ fenceEpoch }) => only(fenceEpoch),
  },
]

const POOL_METRICS: readonly Metric<ServiceStats>[] = [
  {
    name: 'nightledger_database_statements_running',
    type: 'gauge',
    labels: ['pool'],
    help: 'Statements in progress, by pool: queries (look-ups and portal writes), lists, probes.',
    across: 'each',
    read: ({ pools }) => byPool(pools, ({ running }) => running),
  },
  {
    name: 'nightledger_database_statements_waiting',
    type: 'gauge',
    labels: ['pool'],
    help: "Statements waiting for a connection; in the lists pool, also those waiting for their agency's share.",
    across: 'each',
    read: ({ pools }) => byPool(pools, ({ waiting }) => waiting),
  },
  {
    name: 'nightledger_database_statements_refused_total',
    type: 'counter',
    labels: ['pool'],
    help: 'Statements that got no connection in time. Each is a request answered with 500.',
    across: 'each',
    read: ({ pools }) => byPool(pools, ({ refused }) => refused),
  },
  {
    name: 'nightledger_database_connections_lost_total',
    type: 'counter',
    labels: ['pool'],
    help: "Connections that were lost, or discarded because they no longer responded; not counting failed attempts to connect, nor the journal's.",
    across: 'each',
    read: ({ pools }) => byPool(pools, ({ lost }) => lost),
  },
]

function byPool(pools: ServiceStats['pools'], read: (pool: PoolStats) => number): readonly Sample[] {
  return Object.entries(pools).map(([pool, stats]) => ({ labels: { pool }, value: read(stats) }))
}

const RETENTION_METRICS: readonly Metric<ServiceStats>[] = [
  {
    name: 'nightledger_retention_success_age_seconds',
    type: 'gauge',
    help: 'Time since the last round that removed everything no longer kept; before the first one, since the start.',
    across: 'max',
    read: ({ retention }) => only(retention.sinceSuccessMs * FROM_MS),
  },
  {
    name: 'nightledger_retention_removed_total',
    type: 'counter',
    help: 'What retention has removed: guests erased, bookings deleted.',
    labels: ['kind'],
    read: ({ retention: { guests, bookings } }) => byLabel('kind', { guest: guests, booking: bookings }),
  },
  {
    name: 'nightledger_months_to_archive',
    type: 'gauge',
    help: 'Months that no agency keeps any longer: run nightledger journal archive.',
    across: 'max',
    read: ({ retention }) => only(retention.monthsToArchive),
  },
  {
    name: 'nightledger_checkpoints_behind_seconds',
    type: 'gauge',
    help: 'Time since a round began that took every journal entry into the signed checkpoints.',
    across: 'max',
    read: ({ checkpointsBehindMs }) => only(checkpointsBehindMs * FROM_MS),
  },
]

export const LEDGER_METRICS = [
  ...WRITER_METRICS,
  ...JOURNAL_METRICS,
  ...UNIT_METRICS,
  ...POOL_METRICS,
  ...RETENTION_METRICS,
]
