/** The connections of a ledger, and the stores on them. */

import { SecretBox } from '../events/webhooks/secret-box.ts'
import { ownRun } from '../lib/process-run.ts'
import { connect } from '../postgres/client/connect.ts'
import { ListReads } from '../postgres/stores/list-reads.ts'
import { PostgresCatalogueStore } from '../postgres/stores/postgres-catalogue-store.ts'
import { PostgresChainKeys } from '../postgres/stores/postgres-chain-keys.ts'
import { PostgresChangeRows } from '../postgres/stores/postgres-change-rows.ts'
import { PostgresErasureRows } from '../postgres/stores/postgres-erasure-rows.ts'
import { PostgresIdempotencyRows } from '../postgres/stores/postgres-idempotency-rows.ts'
import { PostgresJournalStore } from '../postgres/stores/postgres-journal-store.ts'
import { PostgresRateRows } from '../postgres/stores/postgres-rate-rows.ts'
import { PostgresRefusalRows } from '../postgres/stores/postgres-refusal-rows.ts'
import { PostgresRetentionRows } from '../postgres/stores/postgres-retention-rows.ts'
import { PostgresSandboxClocks } from '../postgres/stores/postgres-sandbox-clocks.ts'
import { PostgresSandboxRows } from '../postgres/stores/postgres-sandbox-rows.ts'
import { PostgresSessionRows } from '../postgres/stores/postgres-session-rows.ts'
import { PostgresUsageRows } from '../postgres/stores/postgres-usage-rows.ts'
import { PostgresWriters } from '../postgres/stores/postgres-writers.ts'
import type { LedgerOptions } from './ledger.ts'

export type LedgerStores = ReturnType<typeof openStores>

/** Nothing is connected before its first statement. */
export function openStores({
  databaseUrl,
  queryConnections,
  secretKey,
  epochOf,
  shards,
}: Pick<LedgerOptions, 'databaseUrl' | 'queryConnections' | 'secretKey'> & {
  /** Once the ledger is taken over (Journal.epochOf). */
  readonly epochOf: (agencyId: string) => number
  /** Once the ledger is prepared (Ownership.owned). */
  readonly shards: () => Iterable<number> | 'all'
}) {
  const box = new SecretBox(secretKey)
  const sql = connect(databaseUrl, {
    purpose: 'queries',
    ...(queryConnections === undefined ? {} : { max: queryConnections }),
  })
  const lists = new ListReads(connect(databaseUrl, { purpose: 'lists' }))
  const probes = connect(databaseUrl, { purpose: 'probes' })
  const writer = { writerId: crypto.randomUUID(), run: ownRun() }
  const store = new PostgresJournalStore({ url: databaseUrl, queries: sql, writer, epochOf })
  return {
    sql,
    lists,
    probes,
    writerId: writer.writerId,
    writer,
    writers: new PostgresWriters(probes),
    /** Of the journal. */
    store,
    catalogueStore: new PostgresCatalogueStore(sql),
    chainKeys: new PostgresChainKeys(sql, secretKey),
    changeRows: new PostgresChangeRows(lists),
    idempotencyRows: new PostgresIdempotencyRows(sql),
    erasureRows: new PostgresErasureRows(sql, { epochOf, shards }),
    usageRows: new PostgresUsageRows(sql),
    rateRows: new PostgresRateRows(sql),
    refusalRows: new PostgresRefusalRows(sql),
    sessionRows: new PostgresSessionRows(sql),
    sandboxRows: new PostgresSandboxRows(sql, {
      epochOf,
      reseal: (sealed, endpointId, { from, to }) =>
        box.seal(box.open(sealed, { agencyId: from, endpointId }), { agencyId: to, endpointId }),
    }),
    retentionRows: new PostgresRetentionRows(sql, epochOf),
    sandboxClockRows: new PostgresSandboxClocks(sql, epochOf),
    close: async (): Promise<void> => {
      await store.close()
      await Promise.all([sql, lists, probes].map((pool) => pool.end({ timeout: 1 })))
    },
  }
}
