/** The workers of this machine, as their parent has them: started, told apart from those before them, and started again. */

import { type RetentionRound, together } from '../accounts/retention-job.ts'
import { ClusterKeys } from '../cluster/cluster-keys.ts'
import { Gathering } from '../cluster/workers/gathering.ts'
import { LeaseStore } from '../cluster/workers/lease-store.ts'
import type { ParentCalls, Standing, WorkerCalls, WorkerSettings } from '../cluster/workers/parent-calls.ts'
import { ProcessChannel, type Remote } from '../cluster/workers/process-channel.ts'
import { WORKERS_PREFIX } from '../cluster/workers/worker-member.ts'
import { type Clock, sleep } from '../lib/clock.ts'
import { withDeadline } from '../lib/deadline.ts'
import { sharedCall } from '../lib/shared-call.ts'
import { SummedMetrics } from '../observability/summed-metrics.ts'
import type { ResidentUnit } from '../verify/verification-process.ts'
import { selfCommand } from './self-command.ts'

/** The argument that makes main.ts run a worker. */
export const SERVE_AS_WORKER = 'serve-as-worker'

const RESTART_MS = [0, 100, 500, 2_000, 5_000] as const
/** A worker that ran at least this long is started again at once. */
const STABLE_RUN_MS = 60_000
/**
 * How long the first workers wait for each other, so that none of them takes everything and has to give it away again. Less than a worker
 * waits for an answer of its parent (parent-store.ts).
 */
const GATHER_MS_MAX = 1_500
const LOOK_MS = 1_000
/** A worker that has not renewed its lease for so many looks of this process hangs. By looks: this process may have hung itself. */
const SILENT_LOOKS_MAX = 10

/** Less than the relay of ADMIN_PORT waits for the worker that asks for them (admin-relay.ts). The database is asked for one second. */
const READINGS_MS_MAX = 2_000

interface WorkerProcess {
  readonly worker: number
  readonly child: Bun.Subprocess
  readonly channel: ProcessChannel
  readonly calls: Remote<WorkerCalls>
  readonly since: number
  /** Which end with it. */
  readonly leases: Set<string>
  /** It had what it needs, and its turn could come. */
  isPrepared: boolean
  isServing: boolean
  /** Since it last answered; null before it serves, or has answered first. */
  silentLooks: number | null
}

interface WorkerProcessesWatch {
  /** It ended unasked, and is started again after `restartMs`. */
  onEnd(fields: { worker: number; exitCode: number | null; signal: string | number | null; restartMs: number }): void
  /** A process could not be started. It is tried again. */
  onNotStarted(error: unknown): void
  /** It hangs, and is killed. */
  onSilent(worker: number): void
  /** One of the first ended before it had what it needs: it has said why. */
  onFailedStart(worker: number): void
  /** A worker has learned that another process is the writer, or that SECRET_KEY is another one. */
  onReplaced(worker: number): void
}

export interface WorkerProcessesOptions {
  readonly count: number
  readonly settings: Omit<WorkerSettings, 'worker' | 'isFirst' | 'isSuccessor'>
  readonly clock: Clock
  readonly watch: WorkerProcessesWatch
}

export class WorkerProcesses {
  readonly #options: WorkerProcessesOptions
  readonly #store: LeaseStore
  readonly #running = new Map<number, WorkerProcess>()
  readonly #failuresInARow = new Map<number, number>()
  readonly #turn = Promise.withResolvers<void>()
  readonly #prepared: Gathering
  /** Of the first workers: who registers and who serves together. With the embedded database the first one makes the demo, alone. */
  readonly #registered: readonly Gathering[]
  readonly #ready: readonly Gathering[]
  readonly #drained: Gathering
  readonly #firstServes = Promise.withResolvers<void>()
  readonly #allServe: Gathering
  readonly #metrics = new SummedMetrics()
  #standing: Standing | null = null
  #restarts = 0
  #isStopping = false

  constructor(options: WorkerProcessesOptions) {
    this.#options = options
    this.#store = new LeaseStore(options.clock)
    const all = Array.from({ length: options.count }, (_, index) => index + 1)
    const groups = options.settings.database.isEmbedded ? [all.slice(0, 1), all.slice(1)] : [all]
    const gatherings = () => groups.map((members) => new Gathering(members))
    this.#prepared = new Gathering(all)
    this.#registered = gatherings()
    this.#ready = gatherings()
    this.#drained = new Gathering(all)
    this.#allServe = new Gathering(all)
    for (const worker of all) this.#start(worker, { isSuccessor: false })
    this.#lookLater()
  }

  /** Those that serve. */
  get serving(): readonly { readonly worker: number; readonly calls: Remote<WorkerCalls> }[] {
    return [...this.#running.values()].filter(({ isServing }) => isServing)
  }

  /** Resolves when all workers have what they need before their turn. */
  get prepared(): Promise<void> {
    return this.#prepared.complete
  }

  /** Resolves when all workers serve. */
  get allServe(): Promise<void> {
    return this.#allServe.complete
  }

  /** The metrics of all workers, as they are now. One that does not answer is shown as it was. */
  readonly metricsPage = sharedCall(() => this.#readMetrics())

  /** Whether this service waits until another one ends. */
  get isStandby(): boolean {
    return this.#standing === 'standby'
  }

  /** Tells the workers whether they will serve soon. */
  tell(standing: Standing): void {
    this.#standing = standing
    for (const { calls } of this.#running.values()) void calls.standing(standing).catch(ignoreEnd)
  }

  /** The parent is the writer: the workers take their shards. */
  giveTurn(): void {
    this.#turn.resolve()
  }

  /** Ends all workers; kills those that have not ended after `withinMs`. @returns whether all have ended cleanly */
  async stop(signal: string, withinMs: number): Promise<boolean> {
    this.#isStopping = true
    const running = [...this.#running.values()]
    for (const worker of range(this.#options.count)) if (!this.#running.has(worker)) this.#drained.arrive(worker)
    for (const { calls } of running) void calls.stop(signal).catch(ignoreEnd)
    // Those that wait for their turn find that they are being stopped.
    this.#turn.resolve()
    this.#firstServes.resolve()
    const cancel = this.#options.clock.after(withinMs, () => {
      for (const { child } of running) child.kill('SIGKILL')
    })
    const codes = await Promise.all(running.map(({ child }) => child.exited))
    cancel()
    return codes.every((code) => code === 0)
  }

  async #runRetention(isDryRun: boolean): Promise<RetentionRound> {
    const rounds = await Promise.allSettled(this.serving.map(({ calls }) => calls.runRetention(isDryRun)))
    return together(
      rounds.map((round) => {
        if (round.status === 'rejected') throw round.reason
        return round.value
      }),
    )
  }

  /** Fails when a worker ends meanwhile: what it has in memory cannot be compared any more. */
  async #residentUnits(unitIds: readonly string[]): Promise<readonly ResidentUnit[]> {
    return (await Promise.all(this.serving.map(({ calls }) => calls.residentUnits(unitIds)))).flat()
  }

  async #readMetrics(): Promise<string> {
    const { clock } = this.#options
    const asked = [...this.#running.values()].map(async (running) => {
      const readings = await withDeadline(running.calls.readings(), READINGS_MS_MAX, clock).catch(() => null)
      if (readings !== null && this.#running.get(running.worker) === running)
        this.#metrics.report(running.worker, readings)
    })
    await Promise.all(asked)
    return this.#metrics.text({ running: this.#running.size, restarts: this.#restarts })
  }

  /** A worker that hangs serves nothing, but the kernel gives it connections. */
  #lookLater(): void {
    this.#options.clock.after(LOOK_MS, () => {
      for (const running of this.#running.values()) {
        void running.calls.alive().then(() => {
          running.silentLooks = 0
        }, ignoreEnd)
        if (running.silentLooks === null) continue
        running.silentLooks += 1
        if (running.silentLooks < SILENT_LOOKS_MAX) continue
        this.#options.watch.onSilent(running.worker)
        running.silentLooks = null
        running.child.kill('SIGKILL')
      }
      if (!this.#isStopping) this.#lookLater()
    })
  }

  #start(worker: number, { isSuccessor }: { isSuccessor: boolean }): void {
    const { clock, settings, watch } = this.#options
    const since = clock.monotonicMs()
    let child: Bun.Subprocess
    try {
      // The number is for whoever lists the processes.
      child = Bun.spawn([...selfCommand(SERVE_AS_WORKER), String(worker)], {
        env: process.env,
        stdio: ['ignore', 'inherit', 'inherit'],
        serialization: 'json',
        ipc: (message) => channel.receive(message),
        onExit: (_, exitCode, signal) => this.#ended(started, { exitCode, signal }),
      })
    } catch (error) {
      // The program was removed, or the machine cannot start another process.
      watch.onNotStarted(error)
      this.#startAgain(worker)
      return
    }
    const leases = new Set<string>()
    const channel = new ProcessChannel((message) => child.send(message), this.#answers(worker, leases, { isSuccessor }))
    const started: WorkerProcess = {
      worker,
      child,
      channel,
      calls: channel.remote<WorkerCalls>(),
      since,
      leases,
      isPrepared: false,
      isServing: false,
      silentLooks: null,
    }
    this.#running.set(worker, started)
    const isFirst = worker === 1 && !isSuccessor && settings.database.isEmbedded
    void started.calls.start({ ...settings, worker, isFirst, isSuccessor }).catch(ignoreEnd)
    if (this.#standing !== null) void started.calls.standing(this.#standing).catch(ignoreEnd)
  }

  #answers(worker: number, leases: Set<string>, { isSuccessor }: { isSuccessor: boolean }): ParentCalls {
    const store = this.#store
    const group = Math.min(worker - 1, this.#ready.length - 1)
    return {
      grant: (_, ttlS) => {
        const lease = store.grant(ttlS)
        leases.add(lease)
        return lease
      },
      keepAlive: (_, lease) => store.keepAlive(lease),
      revoke: (_, lease) => store.revoke(lease),
      read: (_, prefix) => store.read(prefix),
      commit: async (_, changes) => {
        const committed = store.commit(changes)
        const isMember = changes.some(({ key }) => MEMBERS.parse(key)?.kind === 'member')
        if (isMember && !isSuccessor) await this.#together(this.#registered[group], worker)
        return committed
      },
      changes: (signal, fromRevision) => store.changes(fromRevision, signal),
      turn: async () => {
        this.#prepared.arrive(worker)
        const running = this.#running.get(worker)
        if (running !== undefined) running.isPrepared = true
        await this.#turn.promise
        if (group > 0) await this.#firstServes.promise
      },
      ready: async () => {
        if (!isSuccessor) await this.#together(this.#ready[group], worker)
      },
      serving: () => {
        const running = this.#running.get(worker)
        // As a node of a cluster, it asks nobody here for its turn.
        if (running !== undefined) {
          running.isPrepared = running.isServing = true
          // From now on the kernel gives it connections.
          running.silentLooks ??= 0
        }
        if (worker === 1) this.#firstServes.resolve()
        this.#allServe.arrive(worker)
      },
      drained: async () => {
        this.#drained.arrive(worker)
        await this.#drained.complete
      },
      replaced: () => this.#options.watch.onReplaced(worker),
      metricsPage: () => this.metricsPage(),
      runRetention: (_, isDryRun) => this.#runRetention(isDryRun),
      residentUnits: (_, unitIds) => this.#residentUnits(unitIds),
      wrongToken: (_, throttle, key) => {
        for (const other of this.#running.values())
          if (other.worker !== worker) void other.calls.wrongToken(throttle, key).catch(ignoreEnd)
      },
    }
  }

  async #together(gathering: Gathering | undefined, worker: number): Promise<void> {
    gathering?.arrive(worker)
    await Promise.race([gathering?.complete, sleep(this.#options.clock, GATHER_MS_MAX)])
  }

  #ended(
    ended: WorkerProcess,
    { exitCode, signal }: { exitCode: number | null; signal: string | number | null },
  ): void {
    const { worker, leases, channel, since, isPrepared } = ended
    const { clock, watch } = this.#options
    channel.close()
    this.#running.delete(worker)
    // What it owned is free at once: Postgres' fence keeps it from writing, should it live on for a moment.
    for (const lease of leases) this.#store.revoke(lease)
    for (const gathering of [...this.#registered, ...this.#ready, this.#drained]) gathering.arrive(worker)
    this.#metrics.ended(worker)
    if (this.#isStopping) return
    if (!isPrepared && this.#restarts === 0) {
      watch.onFailedStart(worker)
      return
    }
    if (clock.monotonicMs() - since >= STABLE_RUN_MS) this.#failuresInARow.delete(worker)
    const restartMs = this.#startAgain(worker)
    watch.onEnd({ worker, exitCode, signal, restartMs })
  }

  /** @returns after how many milliseconds */
  #startAgain(worker: number): number {
    const failures = this.#failuresInARow.get(worker) ?? 0
    this.#failuresInARow.set(worker, failures + 1)
    const restartMs = RESTART_MS[Math.min(failures, RESTART_MS.length - 1)] ?? 0
    this.#options.clock.after(restartMs, () => {
      if (this.#isStopping) return
      this.#restarts += 1
      this.#start(worker, { isSuccessor: true })
    })
    return restartMs
  }
}

const MEMBERS = new ClusterKeys(WORKERS_PREFIX)

function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}

/** Of a worker that has just ended, which `onExit` reports. */
function ignoreEnd(): void {}
