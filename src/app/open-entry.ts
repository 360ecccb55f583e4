/** The composition root of forwarding: how requests come into a node. */
import { AgencyDirectory } from '../api/forward/agency-directory.ts'
import { Hops, type ListenerName } from '../api/forward/hop.ts'
import { RequestEntry } from '../api/forward/request-entry.ts'
import { RequestHomes } from '../api/forward/request-home.ts'
import type { PortalLedger } from '../api/portal/portal-dependencies.ts'
import { sessionSecretIn } from '../api/portal/session-cookie.ts'
import type { Listener, Wrap } from '../api/server/listener.ts'
import { withoutIdleTimeout } from '../api/server/listener.ts'
import { ifRouted } from '../api/server/read-alike.ts'
import type { Answering } from '../api/server/served-routes.ts'
import type { ShardHost } from '../cluster/node-watch.ts'
import type { NodeAddress, Owners } from '../cluster/shard-owners.ts'
import { shardOf } from '../core/journal/shard.ts'
import type { IdSource } from '../lib/ids.ts'
import { sha256Hex } from '../lib/ids.ts'
import { PostgresCatalogueStore } from '../postgres/stores/postgres-catalogue-store.ts'
import { PostgresDirectoryRows } from '../postgres/stores/postgres-directory-rows.ts'
import { PostgresSessionRows } from '../postgres/stores/postgres-session-rows.ts'
import type { Ledger } from './ledger.ts'

/** What makes a process forward requests. */
export interface Forwarding {
  readonly owners: Owners
  readonly shards: Pick<ShardHost, 'termOf'>
  /** Of CLUSTER_SECRET. */
  readonly secrets: readonly string[]
  onRefused(node: NodeAddress): void
}

interface Entry {
  readonly requests: RequestEntry
  /** What a listener answers with goes through what this returns. */
  wrap(
    name: ListenerName,
    listener: Listener,
    options: { readonly operatorTokens: readonly string[]; readonly any: Answering },
  ): Wrap
  /** The other end of the client's connection, whichever node it is connected to. */
  peerOf(listener: Listener, request: Request): string | null
  readonly agencies: Pick<PortalLedger, 'allAgencies' | 'newAgencyId'>
}

/** @param leaving aborted when the process stops */
export function openEntry(
  ledger: Ledger,
  { owners, shards, secrets, onRefused }: Forwarding,
  leaving: AbortSignal,
): Entry {
  const { sql, clock, newId, sessions } = ledger
  const directory = new AgencyDirectory(new PostgresDirectoryRows(sql), clock)
  const sessionRows = new PostgresSessionRows(sql)
  const requests = new RequestEntry({
    ...{ owners, clock, newId, leaving, fetch, hops: new Hops(secrets), onRefused },
    termOf: (shard) => shards.termOf(shard),
    refreshSession: async (request) => {
      const cookie = sessionSecretIn(request)
      if (cookie === null) return
      const sha256 = sha256Hex(cookie)
      sessions.refresh(sha256, await sessionRows.read(sha256))
    },
  })
  const catalogueStore = new PostgresCatalogueStore(sql)
  return {
    requests,
    wrap: (name, listener, { operatorTokens, any }) => {
      const wrap = requests.wrap(
        {
          name,
          homes: new RequestHomes({ directory, operatorTokens }),
          peerOf: (request) => listener.peerOf(request),
          withoutIdleTimeout: (request, answer) => withoutIdleTimeout(listener.server, request, answer),
        },
        any,
      )
      // Which agency a request belongs to is read from its URL, by this node and by the owner.
      return (answer, path) => (path === null ? wrap(answer) : ifRouted(path, wrap(answer)))
    },
    peerOf: (listener, request) => {
      const forwarded = requests.forwardedPeerOf(request)
      return forwarded === undefined ? listener.peerOf(request) : forwarded
    },
    agencies: {
      allAgencies: async () => (await catalogueStore.loadAgencies()).toSorted((a, b) => (a.slug < b.slug ? -1 : 1)),
      newAgencyId: (request) => agencyIdIn(requests.shardOf(request), newId),
    },
  }
}

/** Every 256th id or so is of the shard that is wanted. */
const DRAWN_MAX = 100_000

function agencyIdIn(shard: number | undefined, newId: IdSource): string {
  for (let drawn = 0; drawn < DRAWN_MAX; drawn++) {
    const id = newId('agc')
    if (shard === undefined || shardOf(id) === shard) return id
  }
  throw new Error(`Cannot create an agency: none of ${DRAWN_MAX} ids belongs to shard ${shard}`)
}
