/** How the service starts: config → listen → database → ledger → serve. How it ends is in service.ts. */
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import type { OidcFailure } from '../accounts/oidc-sign-in.ts'
import { joinUrl } from '../accounts/person-links.ts'
import { SmtpMailer } from '../accounts/smtp-mailer.ts'
import { loadMcpSdk } from '../api/mcp/mcp-endpoint.ts'
import { Alone } from '../cluster/alone.ts'
import type { Turn, TurnWatch } from '../cluster/await-turn.ts'
import { ClusterMember } from '../cluster/cluster-member.ts'
import { ClusterError } from '../cluster/lease-keeper.ts'
import { type Membership, TakeOverError } from '../cluster/membership.ts'
import { DEMO_ENDPOINT_HOST } from '../demo/demo-endpoint.ts'
import { linkOfDemoOwner } from '../demo/demo-owner.ts'
import { ensureDemo } from '../demo/ensure-demo.ts'
import { ListenError } from '../http/server/listener.ts'
import { systemClock } from '../lib/clock.ts'
import { ignoreProxies } from '../lib/ignore-proxies.ts'
import { localUrl } from '../lib/local-url.ts'
import { ServerError } from '../postgres/client/check-server.ts'
import { EmbeddedError } from '../postgres/embedded/data-dir-lock.ts'
import { MigrationError } from '../postgres/schema/migrate.ts'
import { SecretKeyError } from '../postgres/stores/stored-key-check.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import { openErasuresFile } from './erasures-file.ts'
import { IdleMetrics } from './idle-metrics.ts'
import { Listeners } from './listeners.ts'
import { type Log, openLog } from './log.ts'
import { type Database, mustHavePostgres, openDatabase, UnreachableError, warnOfDatabase } from './open-database.ts'
import { prepareLedger } from './open-ledger.ts'
import { agencyStore, openPeople, usageKeeper } from './open-portal.ts'
import { prepareSurfaces } from './open-surfaces.ts'
import { openTracer } from './open-tracer.ts'
import { openWebhooks } from './open-webhooks.ts'
import { loadSecrets, SecretsError } from './secrets.ts'
import { liftFetchLimit } from './self-command.ts'
import { checkSenderCommand, SenderCommandError } from './send-webhooks.ts'
import { serveWithWorkers } from './serve-with-workers.ts'
import { Service } from './service.ts'
import { writeServiceFile } from './service-file.ts'
import { welcome } from './welcome.ts'
import type { WorkerPlace } from './worker-place.ts'

/** Faults outside the program. Their message says what to do; a stack trace would only hide it. */
const EXPLAINED = [
  ...[ListenError, UnreachableError, ConfigError, EmbeddedError, MigrationError, ServerError, SecretsError],
  ...[SecretKeyError, SenderCommandError, ClusterError, TakeOverError],
]

/** After a take-over bookings wait, and a process that starts takes a core for a tenth of a second. */
const SENDER_AFTER_MS = 500
/** How long a node waits for its sender before it joins. */
const SENDER_BEGINS_MS_MAX = 5_000

/**
 * Runs the service until it is stopped; returns only then.
 * @param options.takesOver fences out the present writer at once, instead of waiting until it stops or is silent. Not nodes of a cluster
 * Exit codes: 0 after a clean stop, 1 when it could not start, was fenced, or met a bug.
 */
export async function serve(
  env: Record<string, string | undefined>,
  { takesOver = false }: { takesOver?: boolean } = {},
): Promise<void> {
  liftFetchLimit(env, takesOver ? ['--take-over'] : [])
  await explained(async () => {
    const config = readConfig(env)
    if (config.workers > 1) return serveWithWorkers(config, { takesOver })
    const onOpen = ({ service }: { readonly service: Service }) => {
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void service.end(signal))
    }
    await run(config, { takesOver, worker: null, onOpen })
  })
}

/**
 * Runs this process as a worker, until its parent stops it.
 * @param onOpen called once, before anything else: signals are the parent's
 */
export async function serveAsWorker(
  env: Record<string, string | undefined>,
  worker: WorkerPlace,
  onOpen: (opened: { readonly service: Service; readonly listeners: Listeners }) => void,
): Promise<void> {
  await explained(() => run(readConfig(env), { takesOver: false, worker, onOpen }))
}

/** Faults outside the program end the process with what to do; anything else with its stack. */
async function explained(serving: () => Promise<void>): Promise<void> {
  try {
    await serving()
  } catch (error) {
    const isExplained = EXPLAINED.some((kind) => error instanceof kind)
    console.error(isExplained && error instanceof Error ? error.message : (connectionFault(error) ?? error))
    process.exit(1)
  }
}

/** SQLSTATE 53300: the first connection was made, and another one is refused. Null: it is something else. */
function connectionFault(error: unknown): string | null {
  if (!(error instanceof Error && 'code' in error && error.code === '53300')) return null
  return `Cannot start: the database refuses further connections (${error.message}). Run nightledger doctor, which says how many this service needs, and how to get them.`
}

interface RunOptions {
  readonly takesOver: boolean
  /** Null: this process serves by itself. */
  readonly worker: WorkerPlace | null
}

/**
 * Opens what the service needs: first everything that can fail, while another process may still serve, and the take-over last
 * (J5). Requests get 503 until everything is open.
 */
async function run(
  config: Config,
  { onOpen, ...options }: RunOptions & { onOpen(opened: { service: Service; listeners: Listeners }): void },
): Promise<void> {
  const { worker } = options
  ignoreProxies()
  const log = openLog(config.logLevel, worker?.settings)
  if (worker === null && config.databaseUrl === null) await mustHavePostgres()
  const { host, port, admin, workerPorts } = config
  const idle = new IdleMetrics()
  // A proxy that is set up for workers finds this process where the first of them would be.
  const own = workerPorts ? { at: { host, port: port + 1 }, isLate: false } : null
  const listeners =
    worker?.listeners(config) ?? new Listeners({ main: { host, port }, own, admin }, (reason) => idle.text(reason))
  worker?.surfaces.measureWith(() => idle.readings(listeners.reason))
  const service = new Service(log, listeners, config.dataDir)
  onOpen({ service, listeners })
  log.info(
    worker === null ? addressesOf(config, listeners) : { pid: process.pid },
    worker === null ? 'starting' : 'worker starts',
  )
  try {
    await start(config, { log, listeners, service, idle, ...options })
  } catch (error) {
    await service.giveUp()
    throw error
  }
}

async function start(
  config: Config,
  {
    log,
    listeners,
    service,
    idle,
    takesOver,
    worker,
  }: RunOptions & {
    readonly log: Log
    readonly listeners: Listeners
    readonly service: Service
    readonly idle: IdleMetrics
  },
): Promise<void> {
  const secrets = loadSecrets(config)
  checkSenderCommand()
  const onStep = (step: string) => console.log(step)
  const isCancelled = () => service.isEnding
  const opening = worker?.database() ?? openDatabase(config, { secretKey: secrets.secretKey, onStep })
  const database = await service.during(opening, (opened) => service.has({ database: opened }))
  if (worker === null) warnOfDatabase(database, log)
  const membership: Membership =
    worker?.membership(config, log) ?? (config.cluster === null ? new Alone() : new ClusterMember(config.cluster, log))
  const { traces } = config
  const instance = `${hostname()} ${process.pid}`
  const tracer = traces && openTracer(traces, { instance, log })
  if (tracer !== null) service.has({ tracer })
  const listErasure = config.erasuresFile === null ? null : await openErasuresFile(config.erasuresFile)
  const preparing = prepareLedger({
    databaseUrl: database.url,
    secretKey: secrets.secretKey,
    clock: systemClock,
    limits: config.limits,
    tracer,
    onBookingChange: (agencyId) => service.bookingChanged(agencyId),
    onUnitChange: (agencyId) => service.unitChanged(agencyId),
    holder: instance,
    watch: {
      onFenced: (cause, settled) => {
        worker?.replaced()
        service.endAfterFence(cause, settled)
      },
      onEntriesLost: (err) =>
        log.error({ err }, 'the database has lost entries: stop every process and run nightledger after-restore'),
      onSnapshotDefect: (fields) => log.error(fields, 'snapshot skipped'),
      onDamagedUnit: (fields) => log.error(fields, 'unit is damaged'),
      onSnapshotFailure: (err) => log.warn({ err }, 'snapshot not written'),
      onHoldTimerFailure: (err) => log.warn({ err }, 'cannot look for expired holds'),
      onHoldFailure: (fields) => log.error(fields, 'hold not released'),
      onBug: (error) => service.endAfterBug(error),
      onConfirmed: (isConfirmed) =>
        isConfirmed
          ? log.info('heartbeat confirmed: requests are answered again')
          : log.error('heartbeat not confirmed, and a standby may take over: requests are refused'),
      onHousekeepingFailure: (err) => log.warn({ err }, 'housekeeping failed'),
      onTakeOverFailure: (err) => log.warn({ err }, 'take-over is waiting for the database'),
      onCountersNotWritten: (err) => log.warn({ err }, 'request counts not written'),
    },
    ...(listErasure && { listErasure }),
    isCancelled,
    openOwnership: (parts) => membership.openOwnership(parts),
  })
  const { ledger, begin } = await service.during(preparing)
  idle.watch(ledger.probes)
  const entrance = await service.during(membership.enter(ledger, service.draining))
  const webhooks = openWebhooks(ledger, {
    databaseUrl: database.url,
    secretKey: secrets.secretKey,
    allowHosts: allowHostsOf(config, database),
    logLevel: config.logLevel,
    traces,
    onSenderExit: (fields) => log.error(fields, 'webhook sender ended'),
  })
  const { oidc, mail } = config.signIn
  const people = {
    pageUrl: () => config.publicUrl ?? `http://localhost:${listeners.public.port}`,
    oidc,
    onOidcFailure: (failure: OidcFailure) => log.warn(failure, 'sign-in with the provider failed'),
    mailer: mail && new SmtpMailer({ ...mail, onFailure: (failure) => log.warn(failure, 'mail not sent') }),
  }
  const serveSurfaces = prepareSurfaces({
    config,
    secrets,
    log,
    listeners,
    service,
    ledger,
    webhooks,
    entrance,
    people,
    shared: worker?.surfaces ?? null,
  })

  let hasWaited = false
  const watch = (warmUp: Turn['warmUp']): TurnWatch => {
    const onFailure = (err: unknown) => log.warn({ err }, 'the standby cannot reach the database')
    return {
      onWaiting: ({ name, shards }) => {
        hasWaited = true
        log.info({ writer: name, shards }, 'waiting as a standby')
        listeners.refuse('standby', { isDraining: false })
        void loadMcpSdk()
      },
      onDraining: ({ name, isReleased }) => {
        log.info({ writer: name }, 'the writer is stopping')
        listeners.hold()
        // It may have waited for days, and months were added. A collection that is due would come after the take-over, and take 30 ms.
        if (!isReleased) warmUp().then(() => Bun.gc(true), onFailure)
      },
      onTurn: (why, { name }) => {
        log.warn({ writer: name, why }, 'taking over from a writer that is gone')
        listeners.hold()
      },
      onFailure,
    }
  }
  const untilTurn = (turn: Turn) => membership.turn(turn, { takesOver, isCancelled, watch: watch(turn.warmUp) })
  // The embedded server has one process: the lock of its folder sees to that. Its workers wait for each other.
  const takingOver = begin(database.isEmbedded && worker === null ? undefined : untilTurn)
  await service.during(takingOver, () => service.has({ ledger, webhooks }))
  // Nobody waits for a node that joins beside others; its sender, and what /mcp needs, would compete with the first shards that it takes.
  const isSenderFirst = membership.joinsLater && !hasWaited
  if (isSenderFirst) {
    webhooks.start()
    await service.during(Promise.all([webhooks.sender.started(SENDER_BEGINS_MS_MAX), loadMcpSdk()]))
  }
  await service.during(membership.join(), () => service.has({ membership }))
  const hasDemo = database.isEmbedded && (worker?.settings.isFirst ?? true)
  const demo = hasDemo
    ? await service.during(
        ensureDemo(ledger, {
          dataDir: config.dataDir,
          onStep,
          webhooks: webhooks.commands,
          store: agencyStore(ledger),
          keepUsage: usageKeeper(ledger),
        }),
      )
    : null
  const { secretKey } = secrets
  const openedPeople = openPeople(ledger, { secretKey, people })
  const secret = demo === null ? null : await service.during(linkOfDemoOwner({ ...ledger, ...openedPeople }))
  serveSurfaces()
  worker?.serving()
  if (!isSenderFirst)
    systemClock.after(hasWaited ? SENDER_AFTER_MS : 0, () => {
      if (!service.isEnding) webhooks.start()
    })

  log.info(
    { ...addressesOf(config, listeners), epoch: ledger.ownership.epoch() ?? undefined },
    worker === null ? 'listening' : 'worker serves',
  )
  // Not before, unless there was time: it would delay the first answer.
  void loadMcpSdk()
  if (hasDemo) {
    const { port } = listeners.public
    const url = `http://127.0.0.1:${port}`
    const adminPort = worker?.settings.adminPort ?? listeners.operating.port
    const adminUrl = config.admin === null ? null : localUrl(config.admin.host, adminPort)
    const pid = worker?.settings.parentPid ?? process.pid
    writeServiceFile(config.dataDir, { url, adminUrl: adminUrl ?? url, pid })
    const portalTokenFile = secrets.portalTokenFile === null ? null : resolve(secrets.portalTokenFile)
    const signInLink = secret === null ? null : joinUrl(people.pageUrl(), secret)
    console.log(welcome({ port, adminUrl, demo, signInLink, portalTokenFile, now: new Date() }))
  }
}

/** Where the service listens, for the log. */
function addressesOf({ host, admin }: Config, listeners: Listeners) {
  const own = { host, port: listeners.public.port }
  return admin === null ? own : { ...own, adminHost: admin.host, adminPort: listeners.admin?.port }
}

/** The demo's endpoint resolves nowhere, so nothing is sent to it; in production, there are no exceptions but those of our own database. */
function allowHostsOf({ webhookAllowHosts, environment }: Config, { isEmbedded }: Database): readonly string[] {
  return isEmbedded || environment !== 'production' ? [...webhookAllowHosts, DEMO_ENDPOINT_HOST] : webhookAllowHosts
}
