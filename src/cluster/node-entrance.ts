import { sessionSecretIn } from '../api/portal/session-cookie.ts'
import { idInShard } from '../core/journal/shard.ts'
import { ifRouted } from '../http/server/served-routes.ts'
import { sha256Hex } from '../lib/ids.ts'
import { readMetrics } from '../observability/metric.ts'
import { PostgresCatalogueStore } from '../postgres/stores/postgres-catalogue-store.ts'
import { PostgresDirectoryRows } from '../postgres/stores/postgres-directory-rows.ts'
import { PostgresSessionRows } from '../postgres/stores/postgres-session-rows.ts'
import { CLUSTER_METRICS } from './cluster-metrics.ts'
import type { ClusterNode } from './cluster-node.ts'
import { clusterRoutes } from './cluster-routes.ts'
import { clusterStats, clusterStatus } from './cluster-status.ts'
import { AgencyDirectory } from './forward/agency-directory.ts'
import type { OwnerCalls } from './forward/owner-calls.ts'
import { RequestEntry } from './forward/request-entry.ts'
import { RequestHomes } from './forward/request-home.ts'
import type { EnteredLedger, Entrance } from './membership.ts'
import type { ShardHost } from './node-watch.ts'

/**
 * The way into a node: requests of agencies that another node owns are sent there.
 * @param options.leaving aborted when the process stops
 */
export function openEntrance({
  node,
  ledger,
  shards,
  calls,
  leaving,
  log,
}: {
  readonly node: ClusterNode
  readonly ledger: EnteredLedger
  readonly shards: Pick<ShardHost, 'termOf'>
  /** How requests reach the other processes. */
  readonly calls: OwnerCalls
  readonly leaving: AbortSignal
  readonly log: { error(fields: object, message: string): void }
}): { readonly entrance: Entrance; readonly requests: RequestEntry } {
  const { sql, clock, newId, sessions, tracer } = ledger
  const directory = new AgencyDirectory(new PostgresDirectoryRows(sql), clock)
  const sessionRows = new PostgresSessionRows(sql)
  const requests = new RequestEntry({
    owners: node.owners,
    clock,
    newId,
    tracer,
    leaving,
    calls,
    onRefused: ({ id, url }) =>
      log.error({ node: id, url }, 'requests refused by another node: its CLUSTER_SECRET is different'),
    termOf: (shard) => shards.termOf(shard),
    refreshSession: async (request) => {
      const cookie = sessionSecretIn(request)
      if (cookie === null) return
      const sha256 = sha256Hex(cookie)
      sessions.refresh(sha256, await sessionRows.read(sha256))
    },
  })
  const catalogueStore = new PostgresCatalogueStore(sql)
  const entrance: Entrance = {
    wrap: (name, listener, { operatorTokens, any }) => {
      const wrap = requests.wrap(
        {
          name,
          homes: new RequestHomes({ directory, operatorTokens }),
          peerOf: (request) => listener.peerOf(request),
          connectionOf: (request) => listener.connectionOf(request),
          withoutIdleTimeout: (request, answer) => listener.withoutIdleTimeout(request, answer),
        },
        any,
      )
      // Which agency a request belongs to is read from its URL, by this node and by the owner.
      return (answer, path, method) =>
        path === null ? wrap(answer) : ifRouted(path, wrap(answer, `${method} ${path}`))
    },
    peerOf: (listener, request) => {
      const forwarded = requests.forwardedPeerOf(request)
      return forwarded === undefined ? listener.peerOf(request) : forwarded
    },
    agencies: {
      allAgencies: async () =>
        (await catalogueStore.loadAgencies())
          .filter(({ status }) => status !== 'deleted')
          .toSorted((a, b) => (a.slug < b.slug ? -1 : 1)),
      newAgencyId: (request) => idInShard(requests.shardOf(request), newId),
    },
    faults: () => node.faults,
    routes: (options) => [
      clusterRoutes({ status: () => clusterStatus(node), drain: (id, drained) => node.drain(id, drained) }, options),
    ],
    metrics: () => readMetrics(CLUSTER_METRICS, clusterStats(node, requests.stats)),
  }
  return { entrance, requests }
}
