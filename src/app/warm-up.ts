/**
 * A booking is several times slower on a connection that has never made one: its backend reads the tables' descriptions and plans each
 * statement. A process that waits for its turn does that meanwhile, because nobody can book while it is done after the take-over.
 */
import type { PostgresCatalogueStore } from '../postgres/stores/postgres-catalogue-store.ts'
import type { PostgresIdempotencyRows } from '../postgres/stores/postgres-idempotency-rows.ts'
import type { PostgresJournalStore } from '../postgres/stores/postgres-journal-store.ts'

/** Connections of the pool `queries` that are made ready. One statement each is in progress at the same time. */
const CONNECTIONS = 4
const NOBODY = `agc_${'0'.repeat(32)}`
const NO_UNIT = `unt_${'0'.repeat(32)}`

/** Runs the statements of a first booking, of an agency that does not exist. */
export async function warmUpStatements(options: {
  store: PostgresJournalStore
  lanes: number
  catalogueStore: PostgresCatalogueStore
  idempotencyRows: PostgresIdempotencyRows
}): Promise<void> {
  const { store, lanes, catalogueStore, idempotencyRows } = options
  const scope = { agencyId: NOBODY, keyId: `key_${'0'.repeat(32)}`, route: '', idempotencyKey: '' }
  const statements: (() => Promise<unknown>)[] = [
    () => idempotencyRows.find(scope, 0),
    () => catalogueStore.loadInventory(NOBODY),
    () => store.loadUnit(NOBODY, NO_UNIT),
  ]
  for (const statement of statements) await Promise.all(Array.from({ length: CONNECTIONS }, statement))
  await store.open(lanes)
}
