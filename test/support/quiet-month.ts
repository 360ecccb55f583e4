/** What Prometheus scrapes of a service whose operator is never called: a writer and a standby that swap their roles every night. */

/** The interval of the scrapes. */
export const SCRAPE_MIN = 5
const PER_DAY = (24 * 60) / SCRAPE_MIN
/** The deployment of the night, at three. */
const DEPLOYED_AT = PER_DAY / 8

/** One series in promtool's notation. */
export interface InputSeries {
  readonly series: string
  readonly values: string
}

/** A day's traffic: least at night, most in the evening; between 0 and 1. */
function busy(step: number): number {
  const hour = ((step % PER_DAY) * SCRAPE_MIN) / 60
  return 0.55 - 0.45 * Math.cos(((hour - 4) / 24) * 2 * Math.PI)
}

/** What the writer counts in one step, by series. */
function counted(step: number): Record<string, number> {
  const bookings = Math.round(200 * busy(step))
  const reads = Math.round(3_000 * busy(step))
  const duration = 'nightledger_http_request_duration_seconds'
  const read = 'surface="partner", method="GET", route="/partner/v1/availability"'
  const book = 'surface="partner", method="POST", route="/partner/v1/bookings"'
  const isNth = (n: number) => step % n === n - 1
  return {
    [`nightledger_http_requests_total{${read}, status="200"}`]: reads,
    // One in some ten thousand.
    [`nightledger_http_requests_total{${read}, status="500"}`]: isNth(30) ? 1 : 0,
    [`nightledger_http_requests_total{${book}, status="201"}`]: bookings,
    [`nightledger_http_requests_total{${book}, status="409"}`]: isNth(7) ? 2 : 0,
    [`nightledger_http_requests_total{surface="operating", method="GET", route="/readyz", status="200"}`]: 60,
    [`nightledger_http_requests_total{surface="operating", method="GET", route="/readyz", status="503"}`]: isNth(50)
      ? 1
      : 0,
    [`${duration}_bucket{${read}, le="0.01"}`]: reads - 3,
    [`${duration}_bucket{${read}, le="0.05"}`]: reads - 1,
    [`${duration}_bucket{${read}, le="0.25"}`]: reads,
    [`${duration}_bucket{${read}, le="+Inf"}`]: reads,
    [`${duration}_count{${read}}`]: reads,
    [`${duration}_bucket{${book}, le="0.25"}`]: bookings - (isNth(5) ? 1 : 0),
    [`${duration}_bucket{${book}, le="1"}`]: bookings,
    [`${duration}_bucket{${book}, le="+Inf"}`]: bookings,
    [`${duration}_count{${book}}`]: bookings,
    'nightledger_journal_append_duration_seconds_bucket{le="0.05"}': bookings,
    'nightledger_journal_append_duration_seconds_bucket{le="0.1"}': bookings,
    'nightledger_journal_append_duration_seconds_bucket{le="+Inf"}': bookings,
    'nightledger_journal_records_refused_total{reason="poisoned"}': 0,
    'nightledger_journal_records_refused_total{reason="held_too_long"}': 0,
    // PostgreSQL is updated every third night.
    'nightledger_database_connections_lost_total{pool="queries"}': step % (3 * PER_DAY) === 50 ? 8 : 0,
    'nightledger_database_connections_lost_total{pool="lists"}': step % (3 * PER_DAY) === 50 ? 4 : 0,
    'nightledger_database_statements_refused_total{pool="lists"}': isNth(100) ? 5 : 0,
    nightledger_mailbox_refusals_total: 0,
    'nightledger_key_refusals_total{reason="unauthorized"}': isNth(3) ? 20 : 0,
    'nightledger_key_refusals_total{reason="rate_limited"}': Math.round(30 * busy(step)),
    'nightledger_key_refusals_total{reason="quota_exceeded"}': isNth(40) ? 50 : 0,
    'nightledger_portal_token_refusals_total{reason="wrong"}': isNth(11) ? 3 : 0,
    nightledger_refused_writes_unrecorded_total: 0,
    nightledger_webhook_sender_restarts_total: step % (7 * PER_DAY) === 60 ? 1 : 0,
    'nightledger_webhook_sender_failures_total{action="claim"}': isNth(200) ? 1 : 0,
    nightledger_webhook_deliveries_dead_total: 0,
    nightledger_webhook_endpoints_switched_off_total: 0,
    nightledger_webhook_deliveries_postponed_total: 0,
    'nightledger_event_loop_delay_seconds_bucket{le="0.05"}': 2_985,
    'nightledger_event_loop_delay_seconds_bucket{le="0.1"}': 2_998,
    'nightledger_event_loop_delay_seconds_bucket{le="+Inf"}': 3_000,
    'nightledger_process_cpu_seconds_total{mode="user"}': 150 * busy(step),
    'nightledger_process_cpu_seconds_total{mode="system"}': 30 * busy(step),
    nightledger_worker_restarts_total: step % (10 * PER_DAY) === 70 ? 1 : 0,
  }
}

/** What the writer shows at one step. */
function shown(step: number, deployments: number): Record<string, number> {
  const sinceDeployed = (step - DEPLOYED_AT + PER_DAY) % PER_DAY
  const isFirstOfMonth = step % (30 * PER_DAY) < PER_DAY
  return {
    nightledger_writer_epoch: 1 + deployments,
    nightledger_fence_epoch: 1 + deployments,
    'nightledger_database_statements_waiting{pool="queries"}': Math.round(10 * busy(step)),
    nightledger_journal_oldest_record_age_seconds: 0.02 * busy(step),
    nightledger_mailbox_commands_waiting_deepest: Math.round(12 * busy(step)),
    nightledger_units_damaged: 0,
    // One that met a fail-over of the database, until it is tried again.
    nightledger_holds_failing: step % (3 * PER_DAY) === 50 ? 1 : 0,
    nightledger_months_ahead: isFirstOfMonth ? 2 : 3,
    nightledger_retention_success_age_seconds: sinceDeployed * SCRAPE_MIN * 60,
    nightledger_checkpoints_behind_seconds: 5 + 10 * busy(step),
    nightledger_months_to_archive: Math.floor(step / (30 * PER_DAY)),
    nightledger_webhook_sender_up: 1,
    nightledger_webhook_oldest_due_seconds: 40 * busy(step),
    nightledger_webhook_deliveries_pending: Math.round(300 * busy(step)),
  }
}

/** @returns the series of that many hours, in intervals of SCRAPE_MIN */
export function quietTraffic(hours: number): readonly InputSeries[] {
  const steps = (hours * 60) / SCRAPE_MIN
  const values = new Map<string, string[]>()
  const set = (series: string, instance: string, step: number, value: number) => {
    const [name = '', labels = '}'] = series.split(/\{(?=.)/)
    const key = `${name}{job="nightledger", instance="${instance}"${labels === '}' ? '' : `, ${labels.slice(0, -1)}`}}`
    const at = values.get(key) ?? Array<string>(steps).fill('_')
    values.set(key, at)
    at[step] = String(Number(value.toPrecision(12)))
  }
  let counts: Record<string, number> = {}
  let deployments = 0
  for (let step = 0; step < steps; step++) {
    const isDeployed = step % PER_DAY === DEPLOYED_AT
    if (isDeployed) {
      deployments += 1
      counts = {}
    }
    const writer = 'ab'[deployments % 2] ?? 'a'
    const standby = 'ba'[deployments % 2] ?? 'b'
    for (const [series, by] of Object.entries(counted(step))) {
      counts[series] = (counts[series] ?? 0) + by
      set(series, writer, step, counts[series])
    }
    for (const [series, value] of Object.entries(shown(step, deployments))) set(series, writer, step, value)
    // The former writer starts again as the standby.
    for (const instance of isDeployed ? [writer] : [writer, standby]) {
      const isWriter = instance === writer
      set('nightledger_build_info', instance, step, 1)
      set('nightledger_ready', instance, step, isWriter ? 1 : 0)
      set('nightledger_role{role="writer"}', instance, step, isWriter ? 1 : 0)
      set('nightledger_role{role="standby"}', instance, step, isWriter ? 0 : 1)
      set('nightledger_database_up', instance, step, 1)
      set('nightledger_process_resident_memory_bytes', instance, step, isWriter ? 2e8 + 8e7 * busy(step) : 9e7)
    }
  }
  return [...values].map(([series, each]) => ({ series, values: each.join(' ') }))
}
