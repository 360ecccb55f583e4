/** `bench`: a load test of a deployment, within the limits of an API key, with a report to share. */
import { statSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { SeededRandom } from '../../lib/seeded-random.ts'
import { VERSION } from '../../lib/version.ts'
import { type Connection, connectionOf } from '../connection.ts'
import { CliError, EXIT, RefusedError, UsageError } from '../exit-codes.ts'
import { asNumber } from '../flags.ts'
import { keyOf, PartnerClient, type PartnerOptions, URL_HELP } from '../partner-client.ts'
import { type Json, unreachable } from '../portal-client.ts'
import { cellOf, table } from '../table.ts'
import type { Terminal } from '../terminal.ts'
import { type BenchResult, warningsOf } from './figures.ts'
import { type BookingLoad, type Cleanup, type Load, openBookings, openReads, todayOf } from './load.ts'
import {
  CONNECTIONS_DEFAULT,
  CONNECTIONS_MAX,
  DURATION_S_DEFAULT,
  DURATION_S_MAX,
  type Mix,
  planOf,
  RATE_DEFAULT,
  RATE_MAX,
  type WantedLoad,
} from './plan.ts'
import { figure, headline, reportOf } from './report.ts'
import { floorOf, type Running, runLoad } from './run.ts'

interface BenchOptions extends PartnerOptions {
  readonly rate?: string
  readonly duration: string
  readonly connections: string
  readonly mix: string
  readonly out?: string
}

const HELP = `
Requests are scheduled at random times, --rate per second on average, whether or not earlier ones have been answered.
Latency is measured from the scheduled time.

  --mix reads     calendars, quotes, searches and single units of the key's agency, in the coming months.
                  The key needs read:units; without read:availability or read:rates, those reads are left out
  --mix bookings  books free stays in a sandbox, some confirmed and some as options, and cancels them. Accepts only keys that
                  begin with hr_test_ and have the scopes read:rates and write:bookings. The sandbox's endpoints get the events

The command reads the key's limits first and refuses a rate that exceeds them, because it would measure the rate limiter.
Every request counts against the agency's monthly quota; a run uses at most half of what is left. Ctrl-C stops the run,
cancels its bookings and reports what was measured.

Exit codes: 0 measured, 2 load exceeds the limits, 3 ended by a 401, 403 or 429, 4 service unreachable.

Examples:
  $ nightledger bench --url https://bookings.example.com --out report.html
  $ nightledger bench --mix bookings --rate 20 --duration 2m --json`

export function addBench(command: Command, terminal: Terminal): void {
  command
    .option(
      '--rate <n>',
      `requests per second, at most ${RATE_MAX} (default: ${RATE_DEFAULT}, or what the limits allow)`,
    )
    .option(
      '--duration <time>',
      `duration of the load, such as 30s or 5m, at most ${DURATION_S_MAX / 60}m`,
      `${DURATION_S_DEFAULT}s`,
    )
    .option('--connections <n>', `concurrent requests, 1 to ${CONNECTIONS_MAX}`, String(CONNECTIONS_DEFAULT))
    .option('--mix <mix>', 'reads, or bookings in a sandbox', 'reads')
    .option('--out <file>', 'write the report as a single HTML file')
    .option('--key <key>', 'API key (default: NIGHTLEDGER_KEY, which keeps it out of your shell history)')
    .option('--json', 'print the figures as JSON')
    .option('--url <url>', URL_HELP)
    .addHelpText('after', HELP)
    .action((options: BenchOptions) => bench(options, terminal))
}

/** Runs until done or interrupted. A second interrupt exits at once. */
async function bench(options: BenchOptions, terminal: Terminal): Promise<void> {
  const stop = new AbortController()
  const onSignal = () => stop.abort(new CliError('Interrupted before the load began.'))
  process.once('SIGINT', onSignal)
  process.once('SIGTERM', onSignal)
  try {
    await run(options, terminal, stop.signal)
  } catch (error) {
    const isCutOff = stop.signal.aborted && error instanceof CliError && error.exitCode === EXIT.unreachable
    throw isCutOff ? stop.signal.reason : error
  } finally {
    process.off('SIGINT', onSignal)
    process.off('SIGTERM', onSignal)
  }
}

async function run(options: BenchOptions, terminal: Terminal, stop: AbortSignal): Promise<void> {
  const wanted = wantedOf(options)
  const key = keyOf(options, terminal.env)
  const isSandbox = key.startsWith('hr_test_')
  if (wanted.mix === 'bookings' && !isSandbox)
    throw new UsageError(
      'This is not a sandbox key: --mix bookings makes bookings, and only takes keys that begin with hr_test_.',
    )
  const out = options.out === undefined ? null : writable(options.out)
  const result = await measure(options, wanted, { key, isSandbox, terminal, stop })
  // The key must not appear in the output, even if the service echoed it.
  const show = (text: string) => text.replaceAll(key, 'hr_…')
  if (out !== null) {
    writeFileSync(out, show(reportOf(result)))
    terminal.err(`Report: ${out}\n`)
  }
  terminal.out(show(options.json === true ? `${JSON.stringify(result, null, 2)}\n` : summaryOf(result)))
  const { end } = result
  if (end?.reason === 'rate_limited' || end?.reason === 'refused') throw new CliError(show(end.message), EXIT.refused)
}

interface Context {
  readonly key: string
  readonly isSandbox: boolean
  readonly terminal: Terminal
  readonly stop: AbortSignal
}

async function measure(options: BenchOptions, wanted: WantedLoad, context: Context): Promise<BenchResult> {
  const { key, isSandbox, terminal, stop } = context
  const connection = connectionOf({ url: options.url, token: key }, terminal.env)
  const client = new PartnerClient(options, terminal.env)
  const ask = { get: (path: string) => client.get(path, stop).catch(limited) }
  const { tenant, key: own, rateLimit, quota } = await ask.get('/me')
  const agency = cellOf((tenant as Json | undefined)?.['slug'])
  const limits = () => ({
    requestsPerMinute: Number((rateLimit as Json | undefined)?.['requestsPerMinute']),
    leftOfMinute: client.leftOfMinute ?? Number.POSITIVE_INFINITY,
    leftOfMonth: Number((quota as Json | undefined)?.['remaining']),
  })
  // Refuses a load that does not fit before sending anything else.
  planOf(wanted, limits(), agency)
  const scopes = ((own as Json | undefined)?.['scopes'] as string[] | undefined) ?? []
  const startedAt = new Date().toISOString()
  const seed = Date.parse(startedAt) | 0
  const today = await todayOf(ask, scopes, { isSandbox })
  const reference = `bench ${startedAt}`
  const load =
    wanted.mix === 'reads'
      ? await openReads(ask, scopes, new SeededRandom(seed), today)
      : await openBookings(ask, scopes, reference, today)
  const connections = 'connectionsMax' in load ? connectionsOf(load, wanted) : wanted.connections
  const serviceVersion = await versionOf(connection, stop)
  const floor = await floorOf(connection, { connections, stop }).catch((error: unknown) => {
    throw error instanceof CliError ? error : unreachable(connection, error)
  })
  const left = limits()
  const plan = planOf({ ...wanted, connections }, left, agency)
  const url = shownUrl(connection)
  terminal.err(
    `${plan.mix} at ${plan.perSecond} requests per second for ${plan.durationS} s against ${url}, agency ${agency}. Stop with Ctrl-C.\n`,
  )
  const onSecond = progressOn(terminal, plan.durationS)
  stop.throwIfAborted()
  const run = await runLoad({ connection, load, plan, seed, stop, onSecond })
  const cleanup = await cleanUp(load, client, terminal)
  const result = {
    ...{ startedAt, url, agency, isSandbox, serviceVersion, version: VERSION, plan, limits: left },
    ...{ leftOut: load.leftOut, floor, ...run, cleanup },
  }
  return { ...result, warnings: warningsOf(result) }
}

/** @throws CliError for a 429, which needs no more explanation than its title */
function limited(error: unknown): never {
  if (error instanceof RefusedError && error.status === 429)
    throw new CliError(`Cannot run yet: ${error.body['title']}`, EXIT.refused)
  throw error
}

function connectionsOf({ connectionsMax }: BookingLoad, { connections }: WantedLoad): number {
  return Math.min(connections, connectionsMax)
}

async function cleanUp(load: Load, client: PartnerClient, terminal: Terminal): Promise<Cleanup | null> {
  if (load.cleanUp === null) return null
  const cleanup = await load.cleanUp(client, (left) => {
    if (terminal.isTty) terminal.err(`\r\u001b[KCancelling bookings: ${left} left`)
  })
  if (terminal.isTty) terminal.err('\r\u001b[K')
  return cleanup
}

function progressOn({ isTty, err }: Terminal, durationS: number): (running: Running) => void {
  return ({ second, answered, failed }) => {
    if (!isTty) return
    const trouble = failed === 0 ? '' : `, ${failed} failed`
    const step = second < durationS ? `${second} of ${durationS} s` : 'waiting for the last answers'
    err(`\r\u001b[K${step}: ${answered} answers per second${trouble}`)
    if (second >= durationS) err('\r\u001b[K')
  }
}

/** @throws UsageError naming the option */
export function wantedOf(options: Omit<BenchOptions, 'key' | 'url' | 'json'>): WantedLoad {
  const { rate, duration, connections, mix } = options
  if (mix !== 'reads' && mix !== 'bookings')
    throw new UsageError(`--mix: ${JSON.stringify(mix)} is not one of reads, bookings.`)
  return {
    mix: mix satisfies Mix,
    perSecond: rate === undefined ? null : numberOf('--rate', rate, { min: 0.1, max: RATE_MAX }),
    durationS: secondsOf(duration),
    connections: numberOf('--connections', connections, { min: 1, max: CONNECTIONS_MAX, isWhole: true }),
  }
}

function numberOf(flag: string, text: string, bounds: { min: number; max: number; isWhole?: boolean }): number {
  const { min, max, isWhole = false } = bounds
  const value = asNumberOr(text)
  if (value === null || value < min || value > max || (isWhole && !Number.isInteger(value)))
    throw new UsageError(
      `${flag}: ${JSON.stringify(text)} is not a ${isWhole ? 'whole ' : ''}number from ${min} to ${max}.`,
    )
  return value
}

function asNumberOr(text: string): number | null {
  try {
    return asNumber(text)
  } catch {
    return null
  }
}

function secondsOf(text: string): number {
  const [, digits = '', unit = 's'] = /^(\d{1,6})(s|m)?$/.exec(text) ?? []
  const seconds = Number(digits) * (unit === 'm' ? 60 : 1)
  if (digits === '' || seconds < 1 || seconds > DURATION_S_MAX)
    throw new UsageError(
      `--duration: ${JSON.stringify(text)} is not a time from 1s to ${DURATION_S_MAX / 60}m, such as 30s or 5m.`,
    )
  return seconds
}

/** @throws UsageError before the run, not after it */
function writable(out: string): string {
  const folder = dirname(resolve(out))
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UsageError(`--out: there is no folder ${folder}.`)
  if (statSync(out, { throwIfNoEntry: false })?.isDirectory() === true)
    throw new UsageError(`--out: ${out} is a folder, not a file.`)
  return out
}

/** Without a user's name and password. */
function shownUrl({ url }: Connection): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`.replace(/\/$/, '')
}

const VERSION_MS_MAX = 3_000

/** From its metrics, if they are served at this address; no other response contains it. */
async function versionOf({ url }: Connection, stop: AbortSignal): Promise<string | null> {
  try {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(VERSION_MS_MAX)])
    const response = await fetch(`${url}/metrics`, { redirect: 'error', signal })
    return /^nightledger_build_info\{version="([\w.+-]{1,40})"/m.exec(await response.text())?.[1] ?? null
  } catch {
    return null
  }
}

function summaryOf(result: BenchResult): string {
  const { operations, total, warnings } = result
  const rows = [...operations, { ...total, operation: 'all' }]
  const figures = table(rows, {
    OPERATION: 'operation',
    'P50 MS': ({ p50Ms }) => figure(p50Ms),
    'P90 MS': ({ p90Ms }) => figure(p90Ms),
    'P99 MS': ({ p99Ms }) => figure(p99Ms),
    'P99.9 MS': ({ p999Ms }) => figure(p999Ms),
    'MAX MS': ({ maxMs }) => figure(maxMs),
    REQUESTS: 'measured',
    FAILED: 'failed',
  })
  const codes = [...operations]
    .map(({ operation, outcomes }) => {
      const all = Object.entries(outcomes).map(([outcome, times]) => `${times} × ${outcome}`)
      return all.length === 0 ? '' : `${operation}: ${all.join(', ')}\n`
    })
    .join('')
  const notes = warnings.map((warning) => `! ${cellOf(warning)}\n`).join('')
  return `${headline(result)}\n\n${figures}\n${codes}${notes}`
}
