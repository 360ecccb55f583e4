/**
 * The sender process: its composition and life cycle. The service starts it and exchanges messages with it
 * (sender-process.ts).
 */
import { accessSync } from 'node:fs'
import { hostname } from 'node:os'
import { isAbsolute } from 'node:path'
import { guardedPost } from '../events/webhooks/guarded-post.ts'
import { DnsResolver } from '../events/webhooks/name-resolver.ts'
import { SecretBox } from '../events/webhooks/secret-box.ts'
import type { FromSender, SenderSettings, ToSender } from '../events/webhooks/sender-process.ts'
import { SenderReplacedError } from '../events/webhooks/sender-store.ts'
import { SentShards } from '../events/webhooks/sent-shards.ts'
import { WebhookSender } from '../events/webhooks/webhook-sender.ts'
import { sleep, systemClock } from '../lib/clock.ts'
import type { OtlpTracer } from '../observability/otlp-tracer.ts'
import { PostgresSenderStore } from '../postgres/stores/postgres-sender-store.ts'
import { type Log, openLog } from './log.ts'
import { openTracer } from './open-tracer.ts'
import { selfCommand } from './self-command.ts'

/** The argument that makes main.ts run the sender process. */
export const SEND_WEBHOOKS = 'send-webhooks'

const STATS_EVERY_MS = 1_000
const TAKE_OVER_AGAIN_MS = 500
/** How long attempts in flight may take to finish when the service is gone. */
const ORPHANED_MS_MAX = 2_000
/** Time to send the last spans: the service kills a sender that exceeds its deadline by 500 ms. */
const SPANS_MS_MAX = 300
const EXIT_REPLACED = 3

/** The program that sends webhooks no longer exists where it was when this process started. */
export class SenderCommandError extends Error {
  override readonly name = 'SenderCommandError'
}

/**
 * Checks, before a sender is started, that its program exists.
 * @throws SenderCommandError
 */
export function checkSenderCommand(command: readonly string[] = selfCommand(SEND_WEBHOOKS)): void {
  for (const file of command.filter(isAbsolute)) {
    try {
      accessSync(file)
    } catch (cause) {
      throw new SenderCommandError(`Cannot start: ${file}, which sends the webhooks, no longer exists. Restore it.`, {
        cause,
      })
    }
  }
}

/** Runs the sender until the service sends `stop` or is gone. The channel to the service keeps the process alive. */
export function sendWebhooks(): void {
  if (process.send === undefined) {
    console.error('Cannot send webhooks: only the service starts this process. Run nightledger without arguments.')
    process.exit(1)
  }
  // The service decides when to stop. A terminal and some supervisors signal both processes.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  let run: Promise<SenderRun> | null = null
  process.on('message', (message: ToSender) => {
    if (message.kind === 'start') {
      run ??= SenderRun.start(message.settings)
      run.catch((error) => {
        console.error(error)
        process.exit(error instanceof SenderReplacedError ? EXIT_REPLACED : 1)
      })
    } else if (message.kind === 'stop' && run === null) process.exit(0)
    else void run?.then((running) => running.onMessage(message), ignoreFailedStart)
  })
  process.on('disconnect', () => {
    if (run === null) process.exit(0)
    setTimeout(() => process.exit(0), ORPHANED_MS_MAX + 500)
    void run.then((running) => running.end(ORPHANED_MS_MAX), ignoreFailedStart)
  })
  send({ kind: 'up' })
}

/** A run that fails to start ends the process itself. A failure of a running one is a bug, and is not caught. */
function ignoreFailedStart(): void {}

class SenderRun {
  readonly #store: PostgresSenderStore
  readonly #sender: WebhookSender
  readonly #shards: SentShards
  readonly #tracer: Pick<OtlpTracer, 'stop'> | null

  private constructor(
    store: PostgresSenderStore,
    sender: WebhookSender,
    shards: SentShards,
    tracer: Pick<OtlpTracer, 'stop'> | null,
  ) {
    this.#store = store
    this.#sender = sender
    this.#shards = shards
    this.#tracer = tracer
  }

  static async start(settings: SenderSettings): Promise<SenderRun> {
    const log = openLog(settings.logLevel as Parameters<typeof openLog>[0])
    for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
      process.on(event, (err) => {
        log.fatal({ err }, 'webhook sender ended by a bug')
        process.exit(1)
      })
    }
    const { traces } = settings
    const tracer = traces && openTracer(traces, { instance: `${hostname()} ${process.pid}`, log })
    const store = new PostgresSenderStore(settings.databaseUrl)
    const term = await takeOver(store, settings.epoch, log)
    const sender = new WebhookSender({
      store,
      term,
      clock: systemClock,
      dice: Math.random,
      tracer,
      box: new SecretBox(Uint8Array.fromHex(settings.secretKeyHex)),
      post: guardedPost({
        resolver: new DnsResolver(),
        allowHosts: settings.allowHosts,
        ...(settings.trustedCa === null ? {} : { trustedCa: settings.trustedCa }),
      }),
      watch: {
        onSwitchedOff: (fields) => log.warn(fields, 'webhook endpoint switched off'),
        onFailure: (fields) => log.warn(fields, 'webhook sender cannot reach the database'),
        onSecretUnreadable: (fields) => log.error(fields, 'webhook secret cannot be opened'),
        onEventUnreadable: (fields) => log.error(fields, 'webhook event cannot be read'),
        onReplaced: (cause) => {
          log.warn({ err: cause }, 'webhook sender was replaced')
          process.exit(EXIT_REPLACED)
        },
      },
    })
    log.info({ term, pid: process.pid }, 'webhook sender up')
    const report = () => send({ kind: 'stats', stats: sender.stats })
    report()
    setInterval(report, STATS_EVERY_MS)
    sender.wake()
    const shards = new SentShards({ sendFor: (wanted) => store.sendFor(term, wanted), sender, clock: systemClock })
    return new SenderRun(store, sender, shards, tracer)
  }

  onMessage(message: ToSender): void {
    if (message.kind === 'wake') this.#sender.wake(message.agencyIds)
    else if (message.kind === 'shards') this.#shards.want(message.shards)
    else if (message.kind === 'endpoint_changed') this.#sender.endpointChanged(message)
    else if (message.kind === 'stop') void this.end(message.withinMs)
  }

  async end(withinMs: number): Promise<void> {
    await this.#sender.stop(withinMs)
    await Promise.all([this.#store.close(), this.#tracer?.stop(SPANS_MS_MAX)])
    process.exit(0)
  }
}

async function takeOver(store: PostgresSenderStore, epoch: number | null, log: Log): Promise<number> {
  for (;;) {
    try {
      return epoch === null ? await store.join() : await store.takeOver(epoch)
    } catch (error) {
      if (error instanceof SenderReplacedError) throw error
      log.warn({ err: error }, 'webhook sender waits for the database')
      await sleep(systemClock, TAKE_OVER_AGAIN_MS)
    }
  }
}

function send(message: FromSender): void {
  try {
    process.send?.(message)
  } catch {
    // The service is gone; the disconnect event reports that as well.
  }
}
