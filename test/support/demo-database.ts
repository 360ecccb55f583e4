import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ledger } from '../../src/app/ledger.ts'
import { agencyStore, usageKeeper } from '../../src/app/open-portal.ts'
import { ROLES, type Role } from '../../src/core/catalogue/agency.ts'
import { type DemoOptions, ensureDemo } from '../../src/demo/ensure-demo.ts'
import { openTestDatabaseLedger } from './open-ledger.ts'
import { type TestDatabase, testDatabase } from './postgres.ts'

/** A database with the demo agency, and what opens it. */
export interface DemoDatabase extends TestDatabase {
  /** Access tokens, as they are sent. */
  readonly tokens: Readonly<Record<Role, string>>
  /** The demo's API key, as it is sent. */
  readonly key: string
}

export async function demoDatabase(): Promise<DemoDatabase> {
  const database = await testDatabase()
  const dataDir = mkdtempSync(join(tmpdir(), 'nightledger-demo-'))
  try {
    const ledger = await openTestDatabaseLedger(database.url)
    await ensureDemo(ledger, demoOptions(ledger, dataDir))
    await ledger.close()
    const read = (name: string) => readFileSync(join(dataDir, name), 'utf8').trim()
    const tokens = Object.fromEntries(ROLES.map((role) => [role, read(`demo-${role}-token`)])) as Record<Role, string>
    return Object.assign(database, { tokens, key: read('demo-api-key') })
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Without a webhook endpoint: nothing would send to it, and tests register their own. */
export function demoOptions(ledger: Ledger, dataDir: string): DemoOptions {
  return {
    dataDir,
    onStep: () => {},
    webhooks: null,
    store: agencyStore(ledger),
    keepUsage: usageKeeper(ledger),
  }
}
