/** The demo agency: its key, and an access token for each role. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AccessTokenCommands } from '../../src/accounts/access-token-commands.ts'
import { PortalAccess, roleOf } from '../../src/accounts/portal-access.ts'
import { existingSecret, makeSecret } from '../../src/accounts/secrets.ts'
import { agencyStore, openPeople } from '../../src/app/open-portal.ts'
import { ROLES, TOKEN_PREFIX } from '../../src/core/catalogue/agency.ts'
import { Catalogue } from '../../src/core/catalogue/catalogue.ts'
import { linkOfDemoOwner } from '../../src/demo/demo-owner.ts'
import { ensureDemo } from '../../src/demo/ensure-demo.ts'
import { PostgresCatalogueStore } from '../../src/postgres/stores/postgres-catalogue-store.ts'
import { demoOptions } from '../support/demo-database.ts'
import { openTestLedger } from '../support/ledger.ts'
import { CALLER } from '../support/samples.ts'

const opened = await openTestLedger()
const dataDir = mkdtempSync(join(tmpdir(), 'nightledger-demo-'))
afterAll(async () => {
  await opened.close()
  rmSync(dataDir, { recursive: true, force: true })
})

const fileOf = (role: string) => join(dataDir, `demo-${role}-token`)
const read = (path: string) => readFileSync(path, 'utf8').trim()

function ensure() {
  const { ledger } = opened
  return ensureDemo(ledger, demoOptions(ledger, dataDir))
}

function demoAgency() {
  const agency = opened.ledger.catalogue.agencyBySlug('demo')
  if (agency === null) throw new Error('Cannot test the demo: there is none')
  return agency
}

const tokensOfDemo = () => opened.ledger.catalogue.accessTokens.of(demoAgency().id)

test('an interrupted run is completed with the secret that is in a file already', async () => {
  // The process ended between the file and the database.
  const { secret } = makeSecret(TOKEN_PREFIX)
  writeFileSync(fileOf('desk'), `${secret}\n`, { mode: 0o600 })
  const demo = await ensure()
  expect(demo).toEqual({
    keyFile: join(dataDir, 'demo-api-key'),
    sandboxKeyFile: join(dataDir, 'sandbox-api-key'),
    tokenFiles: ROLES.map((role) => ({ role, path: fileOf(role) })),
    made: true,
  })
  expect(read(fileOf('desk'))).toBe(secret)
})

test('each token has its role, and is in a file that only the user can read', () => {
  const access = new PortalAccess({
    operatorTokens: [],
    catalogue: opened.ledger.catalogue,
    clock: opened.ledger.clock,
  })
  for (const role of ROLES) {
    expect(statSync(fileOf(role)).mode & 0o777).toBe(0o600)
    const identity = access.admit(`Bearer ${read(fileOf(role))}`)
    expect(identity === null ? null : roleOf(identity)).toBe(role)
  }
})

test("what the website booked is in its key's name, and counts as its requests", async () => {
  const { ledger, database } = opened
  const keys = ledger.catalogue.keys.of(demoAgency().id)
  expect(keys.map(({ name, revokedAt }) => [name, revokedAt === null])).toEqual([
    ['Old website', false],
    ['Website', true],
    ['Channel manager', true],
    ['Price comparison', true],
    ['Demo key', true],
  ])
  const lines = await database.sql`
    select route, count(*)::int as count from journal where actor_kind = 'key' group by route order by route`
  expect(lines.map(({ route }) => route)).toEqual([
    'POST /partner/v1/bookings',
    'POST /partner/v1/bookings/{id}/cancel',
  ])
  const requests = lines.reduce((sum, { count }) => sum + count, 0)
  expect(ledger.usage.position(demoAgency().id, 50_000).used).toBe(requests)
  const months = await database.sql`select month from usage_month where used > 10000`
  expect(months).toHaveLength(5)
  // Nothing is invented of single days.
  const [days] = await database.sql`select sum(total_after - total_before)::int as used from usage_day`
  expect(days?.['used'] ?? 0).toBeLessThanOrEqual(requests)
})

test('another start creates none', async () => {
  const before = tokensOfDemo()
  expect(await ensure()).toMatchObject({ made: false, tokenFiles: { length: ROLES.length } })
  expect(tokensOfDemo()).toEqual(before)
})

test('a token that was revoked does not come back, and nobody is pointed to its file', async () => {
  const { ledger } = opened
  const owner = tokensOfDemo().find(({ role }) => role === 'owner')
  const commands = new AccessTokenCommands({
    ...ledger,
    store: agencyStore(ledger),
    makeSecret: (prefix) => existingSecret(prefix, 'not used'),
  })
  await commands.revoke(demoAgency(), owner?.id ?? '', CALLER)
  for (const isThere of [true, false]) {
    if (!isThere) rmSync(fileOf('owner'))
    const demo = await ensure()
    expect(demo?.tokenFiles.map(({ role }) => role)).toEqual(['viewer', 'desk', 'manager'])
  }
  expect(tokensOfDemo()).toHaveLength(ROLES.length)
})

test('a demo that an earlier version made gets them at the next start', async () => {
  const { ledger, database } = opened
  await database.sql`delete from access_token`
  for (const role of ROLES) rmSync(fileOf(role), { force: true })
  const catalogue = new Catalogue(new PostgresCatalogueStore(ledger.sql))
  await catalogue.load()
  const demo = await ensureDemo({ ...ledger, catalogue }, demoOptions(ledger, dataDir))
  expect(demo).toMatchObject({ made: false, tokenFiles: { length: ROLES.length } })
  expect(catalogue.accessTokens.of(demoAgency().id).map(({ role }) => role)).toEqual([...ROLES])
})

test('each start makes a link that signs in as the owner of the demo, who is made once', async () => {
  const { ledger } = opened
  const people = { pageUrl: () => '', oidc: null, onOidcFailure: () => {}, mailer: null }
  const { personSignIn, ...commands } = openPeople(ledger, { secretKey: new Uint8Array(32), people })
  const link = () => linkOfDemoOwner({ ...ledger, ...commands, personSignIn })
  const secrets = [await link(), await link()]
  expect(new Set(secrets).size).toBe(2)
  for (const secret of secrets)
    expect(await personSignIn.findLink(secret ?? '', null)).toMatchObject({
      link: { kind: 'sign_in' },
      member: { member: { name: 'Demo owner', role: 'owner' }, agency: { slug: 'demo' } },
    })
  expect(ledger.catalogue.peopleOf(demoAgency().id)).toHaveLength(1)
})
