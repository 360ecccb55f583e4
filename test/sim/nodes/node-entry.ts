/** How requests come into a simulated node: the real entry, over a network that is not. */
import { Hops } from '../../../src/cluster/forward/hop.ts'
import type { NodeFetch } from '../../../src/cluster/forward/node-call.ts'
import { NodeCalls } from '../../../src/cluster/forward/node-calls.ts'
import { RequestEntry } from '../../../src/cluster/forward/request-entry.ts'
import { RequestHomes } from '../../../src/cluster/forward/request-home.ts'
import type { ShardHost } from '../../../src/cluster/node-watch.ts'
import type { Owners } from '../../../src/cluster/shard-owners.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import type { Answering } from '../../../src/http/server/served-routes.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import type { IdSource } from '../../../src/lib/ids.ts'
import { sha256Hex } from '../../../src/lib/ids.ts'
import { AGENCIES } from '../sim-agencies.ts'
import { authorizationOf } from './node-app.ts'

const SECRET = 's'.repeat(32)

/** By the hash of its key, the shard of an agency. */
const HOMES: ReadonlyMap<string, number> = new Map(
  AGENCIES.map((agency) => [sha256Hex(authorizationOf(agency).slice('Bearer '.length)), shardOf(agency.id)]),
)

export function openNodeEntry(options: {
  readonly owners: Owners
  readonly shards: Pick<ShardHost, 'termOf'>
  readonly clock: Clock
  readonly newId: IdSource
  readonly fetch: NodeFetch
  /** Aborted when the process begins to stop. */
  readonly leaving: AbortSignal
  readonly app: Answering
  onBug(error: unknown): void
}): { readonly entry: RequestEntry; readonly answer: Answering } {
  const { owners, shards, clock, newId, fetch, leaving, app, onBug } = options
  const entry = new RequestEntry({
    owners,
    clock,
    newId,
    leaving,
    calls: new NodeCalls({ owners, clock, newId, fetch, leaving, hops: new Hops([SECRET]) }),
    termOf: (shard) => shards.termOf(shard),
    refreshSession: async () => {},
    onRefused: ({ id }) => onBug(`node ${id} refused what it was sent`),
  })
  const listener = {
    name: 'public',
    homes: new RequestHomes({ directory: { home: ({ name }) => HOMES.get(name) ?? null }, operatorTokens: [] }),
    peerOf: () => null,
    connectionOf: () => null,
    withoutIdleTimeout: <T>(_: Request, run: () => Promise<T>) => run(),
  } as const
  return { entry, answer: entry.wrap(listener, app)(app) }
}
