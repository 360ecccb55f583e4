import { SHARDS } from '../../core/journal/shard.ts'
import { UNCONFIRMED_FAULT, whileConfirmed } from '../../http/server/not-serving.ts'
import { assert } from '../../lib/assert.ts'
import { type Clock, sleep } from '../../lib/clock.ts'
import { isOver, ownRun } from '../../lib/process-run.ts'
import { VERSION } from '../../lib/version.ts'
import { workerNode } from '../../postgres/stores/postgres-writers.ts'
import { ClusterKeys, SOCKET_URL_PREFIX } from '../cluster-keys.ts'
import { type NodeLog, openNodeLedger } from '../cluster-member.ts'
import { ClusterNode } from '../cluster-node.ts'
import type { NotOwner } from '../forward/owner-calls.ts'
import { WorkerCalls } from '../forward/worker-calls.ts'
import { WorkerListener } from '../forward/worker-listener.ts'
import type { EnteredLedger, Entrance, Membership, OwnershipParts } from '../membership.ts'
import { openEntrance } from '../node-entrance.ts'
import type { NodeLedger } from '../node-ledger.ts'
import type { NodeWatch } from '../node-watch.ts'
import type { Ownership } from '../ownership.ts'
import type { ParentCalls, WorkerSettings } from './parent-calls.ts'
import { ParentStore } from './parent-store.ts'
import type { ProcessChannel, Remote } from './process-channel.ts'
import { socketOf } from './worker-sockets.ts'

/** The keys of one parent: there is no other in its memory. */
export const WORKERS_PREFIX = '/workers/'
const LOOK_MS = 5
/** How long this worker answers others that are not drained; less than a drain may take (service.ts). */
const DRAINED_MS_MAX = 7_000
/** All requests are answered by then. */
const CLOSE_MS_MAX = 100
/** Raised by `take_shards` when another process has taken over from the parent. */
const TAKEN_OVER = 'NL005'

const NOT_CONFIRMED: NotOwner = { kind: 'not_owner', owner: null, isDoubtful: false }

interface WorkerMemberOptions {
  readonly log: NodeLog
  /** Whether each answer says which worker has made it (SERVED_BY_HEADER). */
  readonly namesOwner: boolean
  /** Another process is the writer now. */
  onReplaced(): void
}

/**
 * One worker of several on a machine: a node whose keys and leases are in the memory of its parent, and whose requests reach other workers
 * through Unix sockets.
 */
export class WorkerMember implements Membership {
  readonly joinsLater = false
  readonly #settings: WorkerSettings
  readonly #channel: ProcessChannel
  readonly #parent: Remote<ParentCalls>
  readonly #options: WorkerMemberOptions
  #ledger: NodeLedger | null = null
  #opened: {
    readonly node: ClusterNode
    readonly clock: Clock
    readonly listener: WorkerListener
    readonly calls: WorkerCalls
  } | null = null

  constructor(settings: WorkerSettings, channel: ProcessChannel, options: WorkerMemberOptions) {
    this.#settings = settings
    this.#channel = channel
    this.#parent = channel.remote<ParentCalls>()
    this.#options = options
  }

  openOwnership(parts: OwnershipParts): Ownership {
    const { parentId, worker } = this.#settings
    this.#ledger = openNodeLedger({ node: workerNode(parentId, worker), parentId }, parts)
    return this.#ledger
  }

  async enter(ledger: EnteredLedger, leaving: AbortSignal): Promise<Entrance> {
    assert(this.#ledger !== null, 'Cannot enter: the ownership is not open')
    const { shards } = this.#ledger
    const { clock, newId } = ledger
    const { worker, folder } = this.#settings
    const socket = socketOf(folder, worker)
    const node = new ClusterNode({
      self: {
        id: `worker-${worker}`,
        url: `${SOCKET_URL_PREFIX}${socket}`,
        version: VERSION,
        run: ownRun(),
        startedAt: clock.now(),
      },
      etcd: new ParentStore(this.#channel, clock),
      keys: new ClusterKeys(WORKERS_PREFIX),
      clock,
      host: shards,
      isOver,
      watch: this.#watch(),
    })
    const { log, namesOwner } = this.#options
    const calls = new WorkerCalls({ owners: node.owners, clock, leaving, namesOwner })
    const { entrance, requests } = openEntrance({ node, ledger, shards, leaving, calls, log })
    const listener = new WorkerListener(socket, (request, forwarded) =>
      // As for what comes in by a listener (P3).
      ledger.isConfirmed ? requests.receive(request, forwarded) : NOT_CONFIRMED,
    )
    this.#opened = { node, clock, listener, calls }
    return {
      ...entrance,
      wrap: (name, from, options) => {
        const wrap = entrance.wrap(name, from, options)
        const { hasProbes } = options
        // Its lease says which shards are its own, and its heartbeat that no standby has taken over (P3).
        return (answer, path, method) =>
          whileConfirmed(() => ledger.isConfirmed, wrap(answer, path, method), newId, { hasProbes })
      },
      faults: (fence) => [...(ledger.isConfirmed ? [] : [UNCONFIRMED_FAULT]), ...entrance.faults(fence)],
      routes: () => [],
    }
  }

  /** Whoever serves beside the parent is waited for by the parent. */
  async turn(): Promise<null> {
    await this.#parent.turn()
    return null
  }

  async join(): Promise<void> {
    const { node, clock } = this.#here
    await node.join()
    // The demo agency is made by one process, which needs the agency's shard, whichever it is.
    if (this.#settings.isFirst) while (node.owned.size < SHARDS) await sleep(clock, LOOK_MS)
    await this.#parent.ready()
  }

  /** All workers are stopped together: nobody is handed anything, and each answers until all have answered everything. */
  async leave(): Promise<void> {
    this.#here.node.standStill()
  }

  async drained(): Promise<void> {
    const all = this.#parent.drained().catch(() => {})
    await Promise.race([all, sleep(this.#here.clock, DRAINED_MS_MAX)])
  }

  async close(): Promise<void> {
    const { node, clock, listener, calls } = this.#here
    await node.close()
    await listener.close(clock, CLOSE_MS_MAX)
    calls.close()
  }

  get #here() {
    assert(this.#opened !== null, 'Cannot use the worker: it has not entered')
    return this.#opened
  }

  #watch(): NodeWatch {
    const { log, onReplaced } = this.#options
    return {
      onJoined: () => {},
      onLeaseLost: (fields) =>
        log.error(
          fields,
          'the parent has given up this worker: it serves only what PostgreSQL confirms until it is back',
        ),
      onNodeIdTaken: ({ id }) => log.warn({ worker: id }, 'the process before this one has not ended'),
      onEtcdFailure: (err) => log.error({ err }, 'the parent does not answer'),
      onEtcdBack: () => log.info({}, 'the parent answers again'),
      onAcquired: ({ shards, ms }) => log.info({ shards, ms: Math.round(ms) }, 'shards acquired'),
      onReleased: ({ shards, ms }) => log.info({ shards, ms: Math.round(ms) }, 'shards released'),
      onDropped: (fields) => log.warn(fields, 'shards dropped: another worker has claimed them'),
      onFenced: (fields) => log.warn(fields, 'shards fenced by another writer'),
      onDatabaseMissed: (fields) =>
        log.error(fields, 'shards given up: PostgreSQL answers other workers but not this one'),
      onDatabaseBack: () => log.info({}, 'PostgreSQL answers this worker again'),
      onMoveFailure: (fields) => {
        log.error(fields, 'shards not moved')
        if ((fields.err as { code?: unknown } | null)?.code === TAKEN_OVER) onReplaced()
      },
    }
  }
}
