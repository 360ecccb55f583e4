import { join } from 'node:path'
import { AgencyCommands } from '../accounts/agency-commands.ts'
import type { AgencyStore } from '../accounts/agency-store.ts'
import { FeeCommands } from '../accounts/fee-commands.ts'
import { KeyCommands } from '../accounts/key-commands.ts'
import type { PartnerAccess } from '../accounts/partner-access.ts'
import { Sandboxes, type SandboxRows } from '../accounts/sandboxes.ts'
import { existingSecret, makeSecret } from '../accounts/secrets.ts'
import type { BookingCommands } from '../core/bookings/booking-commands.ts'
import { type Agency, KEY_PREFIX, TEST_KEY_PREFIX } from '../core/catalogue/agency.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import type { Clock } from '../lib/clock.ts'
import { type IdSource, sha256Hex } from '../lib/ids.ts'
import { keepPrivateFile, readIfPresent } from '../lib/private-file.ts'
import { DEMO_KEY } from './demo-keys.ts'
import { ensureDemoTokens, type TokenFiles } from './demo-tokens.ts'
import { DEMO_AGENCY, type DemoCommands, makeDemo } from './make-demo.ts'

const KEY_FILE = 'demo-api-key'
const SANDBOX_KEY_FILE = 'sandbox-api-key'

/** Where the demo's API key and access tokens can be read. */
export interface Demo {
  readonly keyFile: string
  /** Null: the sandbox was deleted, or its key revoked. */
  readonly sandboxKeyFile: string | null
  readonly tokenFiles: TokenFiles
  readonly made: boolean
}

/** What the demo is created in. */
interface DemoTarget {
  readonly catalogue: Catalogue
  readonly commands: BookingCommands
  readonly access: Pick<PartnerAccess, 'admit'>
  readonly newId: IdSource
  readonly clock: Clock
}

export interface DemoOptions {
  readonly store: AgencyStore
  readonly dataDir: string
  readonly onStep: (step: string) => void
  /** Null: without a webhook endpoint. Otherwise `DEMO_ENDPOINT_HOST` is among the hosts that are allowed. */
  readonly webhooks: DemoCommands['webhooks']
  readonly keepUsage: DemoCommands['keepUsage']
}

/**
 * Creates the demo agency in an empty database. A demo without its own key was interrupted, and is completed.
 * @returns null if the database has no demo, or the file with its key is gone
 */
export async function ensureDemo(
  ledger: DemoTarget,
  { store, dataDir, onStep, webhooks, keepUsage }: DemoOptions,
): Promise<Demo | null> {
  const keyFile = join(dataDir, KEY_FILE)
  const sandboxKeyFile = join(dataDir, SANDBOX_KEY_FILE)
  const { catalogue } = ledger
  const options = { catalogue, store, clock: ledger.clock, newId: ledger.newId }
  const withTokens = async (agency: Agency, made: boolean): Promise<Demo> => ({
    keyFile,
    sandboxKeyFile: isUsable(ledger, sandboxKeyFile) ? sandboxKeyFile : null,
    tokenFiles: await ensureDemoTokens(agency, { ...options, dataDir }),
    made,
  })
  const isEmpty = catalogue.agencies().length === 0
  const demo = catalogue.agencyBySlug(DEMO_AGENCY.slug)
  const isInterrupted = demo !== null && !catalogue.keys.of(demo.id).some(({ name }) => name === DEMO_KEY.name)
  if (!isEmpty && !isInterrupted) return demo !== null && isUsable(ledger, keyFile) ? withTokens(demo, false) : null

  const secret = keepPrivateFile(keyFile, () => makeSecret(KEY_PREFIX).secret)
  const sandboxSecret = keepPrivateFile(sandboxKeyFile, () => makeSecret(TEST_KEY_PREFIX).secret)
  const agencies = new AgencyCommands(options)
  const fees = new FeeCommands(options)
  const commands = {
    webhooks,
    keepUsage,
    agencies,
    fees,
    sandboxes: new Sandboxes({
      ...options,
      agencies,
      fees,
      commands: ledger.commands,
      rows: NO_ROWS,
      onEnded: () => {},
      onReplaced: () => {},
    }),
    sandboxKeys: new KeyCommands({ ...options, makeSecret: (prefix) => existingSecret(prefix, sandboxSecret) }),
    keys: new KeyCommands({ ...options, makeSecret: (prefix) => existingSecret(prefix, secret) }),
    partnerKeys: new KeyCommands({ ...options, makeSecret }),
  }
  const { agency } = await makeDemo({ ...ledger, ...commands }, { now: ledger.clock.now(), onStep })
  return withTokens(agency, true)
}

/** A demo that is being made ends no sandbox, and answers no request. */
const NO_ROWS: SandboxRows = { end: async () => false, nextMoment: async () => null, keepAnswer: async () => {} }

function isUsable(ledger: DemoTarget, keyFile: string): boolean {
  const secret = readIfPresent(keyFile)
  return secret !== null && ledger.catalogue.keys.holderByHash(sha256Hex(secret)) !== null
}
