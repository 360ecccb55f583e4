/** The service's life: config → database → ledger → listen → drain. */
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { type Ledger, openLedger } from './build.ts'
import { openMetrics } from './build-metrics.ts'
import { openPortal } from './build-portal.ts'
import { openWebhooks, type Webhooks } from './build-webhooks.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import { ServerError } from './db/check-server.ts'
import { EmbeddedError } from './db/embedded-error.ts'
import { fenceEpoch } from './db/fence.ts'
import { MigrationError } from './db/migrate.ts'
import { offerDemo } from './demo/offer-demo.ts'
import { requestIdOf } from './edge/request-id.ts'
import { RequestTally } from './edge/request-tally.ts'
import { createApp } from './http/app.ts'
import { drain } from './http/drain.ts'
import { healthRoutes } from './http/health.ts'
import { ListenError, listenError, mustBeFree } from './http/listen-error.ts'
import { metricsRoute } from './http/metrics.ts'
import { systemClock } from './lib/clock.ts'
import { type Log, openLog } from './log.ts'
import { mcpEndpoint } from './mcp/mcp-endpoint.ts'
import { type Database, openDatabase, UnreachableError } from './open-database.ts'
import { loadSecrets, SecretsError } from './secrets.ts'
import { removeServiceFile, writeServiceFile } from './service-file.ts'
import { welcome } from './welcome.ts'

/** SIGTERM to exit takes at most this long (design, Running it). */
const DRAIN_MS_MAX = 9_500

/** Requests may take so long to their answer: longer than a write is held for a database that is away. */
const ANSWERS_MS_MAX = 6_000

/** Attempts under way may finish for so long; what is cut off is sent again after the next start. */
const SENDER_DRAIN_MS_MAX = 5_000

/** Faults of the surroundings: their message says what to do, a stack would only hide it. */
const EXPLAINED = [ListenError, UnreachableError, ConfigError, EmbeddedError, MigrationError, ServerError, SecretsError]

/**
 * Runs the service until it is told to stop. Never returns before.
 * Exit codes: 0 after a clean stop, 1 when it could not start, was fenced, or met a bug.
 */
export async function serve(env: Record<string, string | undefined>): Promise<void> {
  try {
    await run(readConfig(env))
  } catch (error) {
    const isExplained = EXPLAINED.some((kind) => error instanceof kind)
    console.error(isExplained && error instanceof Error ? error.message : error)
    process.exit(1)
  }
}

async function run(config: Config): Promise<void> {
  ignoreProxies()
  const log = openLog(config.logLevel)
  if (config.databaseUrl === null) await mustHavePostgres()
  await mustBeFree(config)
  const secrets = loadSecrets(config)
  const database = await openDatabase(config, (step) => console.log(step))
  const service = new Service(log, database, config.dataDir)
  const ledger = await openLedger({
    databaseUrl: database.url,
    clock: systemClock,
    limits: config.limits,
    onBookingChange: (agencyId) => service.bookingChanged(agencyId),
    holder: `${hostname()} ${process.pid}`,
    watch: {
      onFenced: (cause) => service.endAfterFence(cause),
      onSnapshotDefect: (fields) => log.error(fields, 'snapshot passed over'),
      onSnapshotFailure: (err) => log.warn({ err }, 'snapshot not written'),
      onHoldTimerFailure: (err) => log.warn({ err }, 'holds not looked at'),
      onHousekeepingFailure: (err) => log.warn({ err }, 'expired answers not deleted'),
    },
  })
  const webhooks = openWebhooks(ledger, {
    databaseUrl: database.url,
    secretKey: secrets.secretKey,
    allowHosts: config.webhookAllowHosts,
    logLevel: config.logLevel,
    onSenderExit: (fields) => log.error(fields, 'webhook sender ended'),
  })
  service.sends(webhooks)
  const demo = database.isEmbedded ? await offerDemo(ledger, config.dataDir, (step) => console.log(step)) : null
  const tally = new RequestTally({ clock: systemClock, log: log.isLevelEnabled('debug') ? log : null })
  const app = createApp({
    ledger,
    portal: {
      ledger: openPortal(ledger, { secretKey: secrets.secretKey, webhooks: webhooks.desk }),
      token: secrets.portalToken,
    },
    mounts: [({ onFailure }) => mcpEndpoint({ ledger, tally, onFailure })],
    tally,
    log,
    onBug: (error) => service.endAfterBug(error),
  })
  const watched = {
    tally,
    requestIdFor: (request: Request) => requestIdOf(request.headers.get('x-request-id'), ledger.newId),
  }
  app.use(
    healthRoutes(
      {
        epoch: ledger.epoch,
        vitals: () => ledger.journal.vitals,
        fenceEpoch: () => fenceEpoch(ledger.probes),
      },
      watched,
    ),
  )
  const openRequests = () => app.server?.pendingRequests ?? 0
  app.use(metricsRoute(openMetrics({ ledger, sender: webhooks.sender, tally, openRequests }), watched))
  try {
    app.listen({ hostname: config.host, port: config.port })
  } catch (error) {
    await database.stop()
    throw listenError(config, error)
  }
  service.isUp(app, ledger)

  const port = app.server?.port ?? config.port
  log.info({ host: config.host, port, epoch: ledger.epoch }, 'listening')
  if (database.isEmbedded) {
    writeServiceFile(config.dataDir, { url: `http://127.0.0.1:${port}`, pid: process.pid })
    const portalTokenFile = secrets.portalTokenFile === null ? null : resolve(secrets.portalTokenFile)
    console.log(welcome({ port, demo, portalTokenFile, now: new Date() }))
  }
}

/** Before anything is written: a binary that was started without DATABASE_URL leaves no folder behind. */
async function mustHavePostgres(): Promise<void> {
  const { findPostgresPackage } = await import('./db/postgres-binaries.ts')
  findPostgresPackage()
}

type App = ReturnType<typeof createApp>

/** What must be closed, in which order, and how the process ends. */
class Service {
  readonly #log: Log
  readonly #database: Database
  readonly #dataDir: string
  #app: App | null = null
  #ledger: Ledger | null = null
  #webhooks: Webhooks | null = null
  #isEnding = false

  constructor(log: Log, database: Database, dataDir: string) {
    this.#log = log
    this.#database = database
    this.#dataDir = dataDir
    process.on('SIGTERM', () => void this.#drain('SIGTERM'))
    process.on('SIGINT', () => void this.#drain('SIGINT'))
    for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
      process.on(event, (error: unknown) => this.endAfterBug(error))
    }
  }

  sends(webhooks: Webhooks): void {
    this.#webhooks = webhooks
  }

  bookingChanged(agencyId: string): void {
    this.#webhooks?.bookingChanged(agencyId)
  }

  isUp(app: App, ledger: Ledger): void {
    this.#app = app
    this.#ledger = ledger
  }

  /** J5: a stale writer stops serving and exits non-zero. Its open commands are being answered with 500. */
  endAfterFence(cause: unknown): void {
    this.#log.fatal({ err: cause }, 'fenced by another writer')
    if (this.#isEnding) return
    this.#isEnding = true
    // A moment for the answers that are on their way; nothing more can be written.
    setTimeout(() => process.exit(1), 200)
  }

  /** A broken invariant: memory can no longer be trusted, the journal can. End now and recover from it. */
  endAfterBug(error: unknown): void {
    this.#log.fatal({ err: error }, 'ended by a bug')
    process.exit(1)
  }

  async #drain(signal: string): Promise<void> {
    if (this.#isEnding) return
    this.#isEnding = true
    this.#log.info({ signal }, 'draining')
    const overdue = setTimeout(() => {
      this.#log.error({ afterMs: DRAIN_MS_MAX }, 'drain took too long')
      process.exit(1)
    }, DRAIN_MS_MAX)
    if (this.#database.isEmbedded) removeServiceFile(this.#dataDir, process.pid)
    const senderEnded = this.#webhooks?.sender.stop(SENDER_DRAIN_MS_MAX)
    if (this.#app !== null && !(await drain(this.#app, systemClock, ANSWERS_MS_MAX))) {
      this.#log.warn({ afterMs: ANSWERS_MS_MAX }, 'requests cut off')
    }
    await Promise.all([senderEnded, this.#ledger?.close()])
    await this.#database.stop()
    clearTimeout(overdue)
    this.#log.info({ signal }, 'stopped')
    process.exit(0)
  }
}

/** A proxy from the environment would take the webhooks' address check out of our hands (docs/decisions.md). */
function ignoreProxies(): void {
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']) {
    delete process.env[name]
    delete process.env[name.toLowerCase()]
  }
}
