/** Nodes, or workers, with real listeners and entries, an app each, and ownership that tests decide. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgencyDirectory, Home } from '../../src/cluster/forward/agency-directory.ts'
import { HOP_HEADER, Hops } from '../../src/cluster/forward/hop.ts'
import { NodeCalls } from '../../src/cluster/forward/node-calls.ts'
import { RequestEntry } from '../../src/cluster/forward/request-entry.ts'
import { RequestHomes } from '../../src/cluster/forward/request-home.ts'
import { WorkerCalls } from '../../src/cluster/forward/worker-calls.ts'
import { WorkerListener } from '../../src/cluster/forward/worker-listener.ts'
import type { NodeAddress, Owners } from '../../src/cluster/shard-owners.ts'
import { SERVE_OPTIONS, withoutIdleTimeout } from '../../src/http/server/listener.ts'
import type { Answering } from '../../src/http/server/served-routes.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { sha256Hex, systemIds } from '../../src/lib/ids.ts'
import type { Tracer } from '../../src/lib/tracer.ts'
import type { Naming } from '../../src/postgres/stores/postgres-directory-rows.ts'

/** That the listeners have a route for. */
export const ROUTED_PATH = '/partner/v1/quote'
export const CLUSTER_SECRET = 's'.repeat(32)

/** Of the key that belongs to this shard. */
export function keyOf(shard: number): string {
  return `hr_live_${String(shard).padStart(43, 'k')}`
}

interface EntryNode {
  readonly id: string
  /** For clients. */
  readonly url: string
  /** For the others. */
  readonly address: string
  readonly entry: RequestEntry
  /** What its app was asked, oldest first. */
  readonly asks: Request[]
  /** Ids of the nodes that it said refused its requests. */
  readonly refusals: readonly string[]
  /** Answers in its place. */
  app: Answering
  /** Which ownership of every shard of its own it is. */
  term: number
  /** How it sees the owner of a shard, if not as it is. */
  readonly sees: Map<number, string | null>
  /** Begins to stop. */
  leave(): void
  /** Ends its connections to the other workers. */
  kill(): Promise<void>
  /** Takes no more connections of workers, and answers what it has got. */
  stopListening(): Promise<void>
  /** Answers a request as if it had come in by its public listener. */
  readonly handle: Answering
  close(): Promise<void>
}

/** How requests get from one to another: by HTTP between nodes, by a socket between workers. */
export type EntryKind = 'nodes' | 'workers'

/** By shard, the id of the owner; null: none. */
export class EntryCluster {
  readonly #kind: EntryKind
  readonly #folder = mkdtempSync(join(tmpdir(), 'entry-'))

  readonly nodes: EntryNode[] = []
  readonly #owners = new Map<number, string | null>()
  readonly #waiting = new Set<() => void>()
  readonly #addresses = new Map<string, NodeAddress>()

  constructor(kind: EntryKind = 'nodes') {
    this.#kind = kind
  }

  /** @param answer of the app; left out: tells what it was asked */
  node(
    id: string,
    answer: (request: Request, node: EntryNode) => Response | Promise<Response> = tell,
    {
      secrets = [CLUSTER_SECRET],
      namesOwner = false,
      ...limits
    }: {
      secrets?: readonly string[]
      namesOwner?: boolean
      forwardedMax?: number
      forwardedOfShardMax?: number
      forwardedFeedsMax?: number
      refreshSession?: (request: Request) => Promise<void>
      tracer?: Tracer
    } = {},
  ): EntryNode {
    const asks: Request[] = []
    const refusals: string[] = []
    const sees = new Map<number, string | null>()
    const state = { term: 1 }
    const leaving = new AbortController()
    const owners: Owners = {
      self: { id, url: '' },
      ownerOf: (shard) => {
        const owner = sees.has(shard) ? sees.get(shard) : this.#owners.get(shard)
        if (owner === undefined || owner === null) return null
        return owner === id ? 'self' : (this.#addresses.get(owner) ?? null)
      },
      changed: (_, ms, signal) =>
        new Promise((resolve) => {
          signal?.addEventListener('abort', () => done())
          const done = () => {
            clearTimeout(timer)
            this.#waiting.delete(done)
            resolve()
          }
          const timer = setTimeout(done, ms)
          this.#waiting.add(done)
        }),
    }
    const common = { owners, clock: systemClock, newId: systemIds, leaving: leaving.signal }
    const isWorker = this.#kind === 'workers'
    const calls = isWorker
      ? new WorkerCalls({ ...common, namesOwner })
      : new NodeCalls({ ...common, fetch, hops: new Hops(secrets) })
    const entry = new RequestEntry({
      ...common,
      calls,
      termOf: () => state.term,
      refreshSession: async () => {},
      ...limits,
      onRefused: (refusing) => void refusals.push(refusing.id),
    })
    const app: Answering = (request) => {
      asks.push(request)
      return node.app(request)
    }
    const server: Bun.Server<undefined> = Bun.serve({
      ...SERVE_OPTIONS,
      hostname: '127.0.0.1',
      port: 0,
      routes: { [ROUTED_PATH]: (request) => routed(request) },
      fetch: (request) => (isForAdmin(request) ? admin : listen)(request),
    })
    const listener = (name: 'public' | 'admin') => ({
      name,
      homes: new RequestHomes({ directory: DIRECTORY, operatorTokens: [OPERATOR_TOKEN], random: () => 0 }),
      peerOf: (request: Request) => server.requestIP(request)?.address ?? null,
      connectionOf: (request: Request) => `${server.requestIP(request)?.port}`,
      withoutIdleTimeout: <T>(request: Request, run: () => Promise<T>) => withoutIdleTimeout(server, request, run),
    })
    const wrap = entry.wrap(listener('public'), app)
    const [listen, routed] = [wrap(app), wrap(app, `GET ${ROUTED_PATH}`)]
    const adminApp: Answering = ({ url }) => Response.json({ by: `${id}'s admin app`, path: new URL(url).pathname })
    const admin = entry.wrap(listener('admin'), adminApp)(adminApp)
    const url = `http://127.0.0.1:${server.port}`
    const path = join(this.#folder, id)
    const worker = isWorker ? new WorkerListener(path, (...received) => entry.receive(...received)) : null
    const address = isWorker ? `unix:${path}` : url
    const node: EntryNode = {
      id,
      url,
      address,
      entry,
      asks: asks,
      sees,
      refusals,
      app: (request) => answer(request, node),
      get term() {
        return state.term
      },
      set term(term) {
        state.term = term
      },
      leave: () => leaving.abort(),
      handle: (request) => listen(request),
      stopListening: async () => worker?.close(systemClock, 5_000),
      kill: async () => {
        if (calls instanceof WorkerCalls) calls.close()
        await worker?.close(systemClock, 0)
      },
      close: async () => {
        await node.kill()
        await server.stop(true)
      },
    }
    Object.assign(owners.self, { url: address })
    this.#addresses.set(id, { id, url: address })
    this.nodes.push(node)
    return node
  }

  /** A node of which only the address exists. */
  stranger(id: string, url: string): void {
    this.#addresses.set(id, { id, url })
  }

  own(shard: number, id: string | null): void {
    this.#owners.set(shard, id)
    for (const done of [...this.#waiting]) done()
  }

  async close(): Promise<void> {
    for (const node of this.nodes) await node.close()
    rmSync(this.#folder, { recursive: true })
  }
}

export const OPERATOR_TOKEN = 'operator'.repeat(5)

/** Keys of `keyOf`, and agencies by the slug `agency-7` of shard 7. */
export const DIRECTORY: Pick<AgencyDirectory, 'home'> = {
  home: ({ kind, name }: Naming): Home | null | Promise<Home | null> => {
    if (kind === 'slug') return name.startsWith('agency-') ? Number(name.slice('agency-'.length)) : null
    return homes.get(`${kind} ${name}`) ?? null
  },
}

const homes = new Map<string, Home | Promise<Home>>(
  Array.from({ length: 256 }, (_, shard) => [`key ${sha256Hex(keyOf(shard))}`, shard] as const),
)

/** A token or session that belongs to a shard, or to the operator; a promise of it if the database must be asked. */
export function addSecret(kind: 'token' | 'session', secret: string, home: Home | Promise<Home>): void {
  homes.set(`${kind} ${sha256Hex(secret)}`, home)
}

async function tell(request: Request, { id }: EntryNode): Promise<Response> {
  const { method, url, headers } = request
  const body = await request.arrayBuffer()
  return Response.json({
    by: id,
    method,
    url,
    headers: Object.fromEntries(headers),
    body: new TextDecoder().decode(body),
  })
}

/** Between nodes there is no listener but PORT. */
function isForAdmin({ headers }: Request): boolean {
  return headers.has('x-test-admin') && !headers.has(HOP_HEADER)
}
