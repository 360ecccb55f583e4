import { join } from 'node:path'
import { keySecretOf, newKeySecret, sha256Hex } from '../access/key-secret.ts'
import { AgencyCommands } from '../admin/agency-commands.ts'
import type { AgencyStore } from '../admin/agency-store.ts'
import { FeeCommands } from '../admin/fee-commands.ts'
import { KeyCommands } from '../admin/key-commands.ts'
import type { BookingCommands } from '../core/bookings/booking-commands.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { keepPrivateFile, readIfPresent } from '../lib/private-file.ts'
import { DEMO_AGENCY, makeDemo } from './make-demo.ts'

const KEY_FILE = 'demo-api-key'

/** Where the demo's API key can be read; null when this database has no demo, or the file is gone. */
export interface Demo {
  readonly keyFile: string
  readonly made: boolean
}

/** What the demo is created in. */
export interface DemoTarget {
  readonly catalogue: Catalogue
  readonly commands: BookingCommands
  readonly newId: IdSource
  readonly clock: Clock
}

/**
 * Creates the demo agency in an empty database. A demo without a key was interrupted, and is completed.
 * @returns null if the database has other agencies
 */
export async function ensureDemo(
  ledger: DemoTarget,
  { store, dataDir, onStep }: { store: AgencyStore; dataDir: string; onStep: (step: string) => void },
): Promise<Demo | null> {
  const keyFile = join(dataDir, KEY_FILE)
  const { catalogue } = ledger
  const isEmpty = catalogue.agencies().length === 0
  const demo = catalogue.agencyBySlug(DEMO_AGENCY.slug)
  const isInterrupted = demo !== null && catalogue.keysOf(demo.id).length === 0
  if (!isEmpty && !isInterrupted) return isUsable(ledger, keyFile) ? { keyFile, made: false } : null

  const secret = keepPrivateFile(
    keyFile,
    () => newKeySecret((bytes) => crypto.getRandomValues(new Uint8Array(bytes))).secret,
  )
  const options = { catalogue, store, clock: ledger.clock, newId: ledger.newId }
  const commands = {
    agencies: new AgencyCommands(options),
    fees: new FeeCommands(options),
    keys: new KeyCommands({ ...options, makeSecret: () => keySecretOf(secret) }),
  }
  await makeDemo({ ...ledger, ...commands }, { now: ledger.clock.now(), onStep })
  return { keyFile, made: true }
}

function isUsable(ledger: DemoTarget, keyFile: string): boolean {
  const secret = readIfPresent(keyFile)
  return secret !== null && ledger.catalogue.holderByHash(sha256Hex(secret)) !== null
}
