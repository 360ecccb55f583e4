import type { Sql } from '../../src/postgres/client/connect.ts'
import { PostgresChainKeys } from '../../src/postgres/stores/postgres-chain-keys.ts'
import { PostgresVerifyStore } from '../../src/postgres/stores/postgres-verify-store.ts'
import type { Verification } from '../../src/verify/findings.ts'
import { type LiveUnits, verify } from '../../src/verify/verify.ts'
import type { VerifyStore } from '../../src/verify/verify-store.ts'
import { TEST_SECRET_KEY } from './service-process.ts'

/** Verifies a database that a test service or ledger has written. */
export async function verifyDatabase(
  sql: Sql,
  options: { store?: VerifyStore; live?: LiveUnits; limit?: number; secretKeyHex?: string } = {},
): Promise<Verification> {
  const { store = new PostgresVerifyStore(sql), secretKeyHex = TEST_SECRET_KEY, ...others } = options
  const chainKeys = await new PostgresChainKeys(sql, Uint8Array.fromHex(secretKeyHex)).read()
  return verify(store, { chainKeys, ...others })
}
