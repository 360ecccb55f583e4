/** Agencies, keys and fee types of tests, made by the commands that the portal runs: fenced, audited, and in memory at once. */
import { AccessTokenCommands } from '../../src/accounts/access-token-commands.ts'
import { AgencyCommands } from '../../src/accounts/agency-commands.ts'
import type { NewSecret } from '../../src/accounts/credential-writes.ts'
import { FeeCommands } from '../../src/accounts/fee-commands.ts'
import { KeyCommands } from '../../src/accounts/key-commands.ts'
import { makeSecret } from '../../src/accounts/secrets.ts'
import type { AgencyOutcome } from '../../src/accounts/store-retries.ts'
import type { Ledger } from '../../src/app/ledger.ts'
import type { AccessToken, Role } from '../../src/core/catalogue/agency.ts'
import { type Agency, type ApiKey, KEY_PREFIX, SCOPES, TOKEN_PREFIX } from '../../src/core/catalogue/agency.ts'
import type { FeeType } from '../../src/core/domain/unit.ts'
import type { Caller } from '../../src/core/journal/record.ts'
import { type IdSource, systemIds } from '../../src/lib/ids.ts'
import { PostgresAgencyStore } from '../../src/postgres/stores/postgres-agency-store.ts'

/** Its lines of the audit trail have this route. */
const FIXTURE: Caller = { actor: { kind: 'system', id: null }, route: 'fixture', requestId: null }

/** What the commands need, with a clock that shows `now` and, for records of one kind, a known id. */
function dependencies(ledger: Ledger, now: number, known: Record<string, string>) {
  const { catalogue, sql, clock } = ledger
  const newId: IdSource = (prefix) => known[prefix] ?? systemIds(prefix)
  return {
    catalogue,
    store: new PostgresAgencyStore(sql, (agencyId) => ledger.epochOf(agencyId)),
    clock: {
      now: () => now,
      monotonicMs: () => clock.monotonicMs(),
      after: (ms: number, task: () => void) => clock.after(ms, task),
    },
    newId,
  }
}

export async function makeAgency(ledger: Ledger, { id, status, createdAt, ...draft }: Agency): Promise<Agency> {
  const agencies = new AgencyCommands(dependencies(ledger, createdAt, { agc: id }))
  const agency = settledValue(await agencies.create(draft, FIXTURE))
  return status === 'active' ? agency : settledValue(await agencies.change(id, { status }, FIXTURE))
}

/** A key with every scope, unless the change says otherwise. */
export async function makeKey(
  ledger: Ledger,
  agency: Agency,
  change: Partial<Omit<ApiKey, 'agencyId' | 'prefix' | 'secretSha256'>> = {},
  made: NewSecret = makeSecret(KEY_PREFIX),
): Promise<{ key: ApiKey; secret: string }> {
  const { id = systemIds('key'), createdAt = Date.UTC(2026, 0, 1), revokedAt = null, ...draft } = change
  const at = (now: number) => new KeyCommands({ ...dependencies(ledger, now, { key: id }), makeSecret: () => made })
  const request = { name: 'Test key', scopes: SCOPES, expiresAt: null, ...draft }
  const { key, secret } = settledValue(await at(createdAt).create(agency, request, FIXTURE))
  return { key: revokedAt === null ? key : settledValue(await at(revokedAt).revoke(agency, id, FIXTURE)), secret }
}

/** An access token named for its role, unless the change says otherwise. */
export async function makeAccessToken(
  ledger: Ledger,
  agency: Agency,
  role: Role,
  change: Partial<Pick<AccessToken, 'name' | 'createdAt' | 'expiresAt' | 'revokedAt'>> = {},
  made: NewSecret = makeSecret(TOKEN_PREFIX),
): Promise<{ token: AccessToken; secret: string }> {
  const { createdAt = Date.UTC(2026, 0, 1), revokedAt = null, ...draft } = change
  const at = (now: number) => new AccessTokenCommands({ ...dependencies(ledger, now, {}), makeSecret: () => made })
  const request = { name: `The ${role}`, role, expiresAt: null, ...draft }
  const { token, secret } = settledValue(await at(createdAt).create(agency, request, FIXTURE))
  return {
    token: revokedAt === null ? token : settledValue(await at(revokedAt).revoke(agency, token.id, FIXTURE)),
    secret,
  }
}

export async function makeFeeType(
  ledger: Ledger,
  agency: Agency,
  { id = systemIds('fee'), ...change }: Partial<FeeType> = {},
): Promise<FeeType> {
  const fees = new FeeCommands(dependencies(ledger, ledger.clock.now(), { fee: id }))
  const linen = { label: 'Linen', kind: 'fixed', amount: 2_500, basisPoints: null } as const
  const draft = { ...linen, includesWeeklyCleaning: false, application: 'every_stay', active: true, ...change } as const
  return settledValue(await fees.create(agency, draft, FIXTURE))
}

function settledValue<T>(settled: AgencyOutcome<T>): T {
  if (settled.kind === 'done') return settled.value
  throw new Error(`Cannot make what a test needs: ${JSON.stringify(settled)}`)
}
