/** An agency has so many API keys and access tokens that are valid, and no more (src/core/catalogue/agency.ts). */
import { expect, test } from 'bun:test'
import { ENDED_CREDENTIALS_KEPT_MAX, LIVE_CREDENTIALS_MAX } from '../../../src/core/catalogue/agency.ts'
import { PostgresCatalogueStore } from '../../../src/postgres/stores/postgres-catalogue-store.ts'
import { sharedTestService } from '../../support/test-service.ts'

const service = await sharedTestService()

const KINDS = [
  { path: '/access-tokens', draft: { name: 'x', role: 'viewer' }, member: 'accessToken', what: 'access tokens' },
  { path: '/keys', draft: { name: 'x' }, member: 'key', what: 'API keys' },
]

test.each(KINDS)(
  'an agency has at most 200 valid $what, however many are asked for at once; a revoked one makes room',
  async ({ path, draft, member, what }) => {
    const [agency, other] = [await service.agency(), await service.agency()]
    for (const change of [{ revokedAt: 1 }, { expiresAt: 1 }]) {
      await service.accessToken(agency, 'viewer', change)
      await service.key(agency, change)
    }
    const at = `/agencies/${agency.slug}${path}`
    const make = () => service.ask(at, draft)
    const made = await Promise.all(Array.from({ length: LIVE_CREDENTIALS_MAX + 10 }, make))
    expect(made.filter(({ status }) => status === 201)).toHaveLength(LIVE_CREDENTIALS_MAX)
    const refused = await make()
    expect([refused.status, refused.body.code]).toEqual([400, 'VALIDATION'])
    expect(refused.body.title).toContain(`already has 200 valid ${what}`)
    expect((await service.ask(`/agencies/${other.slug}${path}`, draft)).status).toBe(201)
    const one = made.find(({ status }) => status === 201)
    await service.delete(`${at}/${one?.body[member].id}`)
    expect([(await make()).status, (await make()).status]).toEqual([201, 400])
  },
)

const TABLES = [
  { table: 'api_key', id: 'key_id', own: 'scopes', value: 'array[]::text[]' },
  { table: 'access_token', id: 'token_id', own: 'role', value: "'viewer'" },
]

test.each(TABLES)(
  'a start reads of $table what is live and the newest that have ended',
  async ({ table, id, own, value }) => {
    const agency = await service.agency()
    const liveId =
      table === 'api_key' ? (await service.key(agency)).key.id : (await service.accessToken(agency, 'viewer')).token.id
    const { sql } = service.ledger
    const ended = ENDED_CREDENTIALS_KEPT_MAX + 50
    await sql.unsafe(`
    insert into ${table} (agency_id, ${id}, ${own}, name, prefix, secret_sha256, created_at, expires_at, revoked_at)
    select agency_id, gen_random_uuid(), ${value}, 'Ended ' || i, 'x', md5(agency_id || 'a' || i) || md5('b' || i), now() - interval '1 year',
      case when i % 2 = 0 then now() - make_interval(hours => i) end, case when i % 2 = 1 then now() - make_interval(hours => i) end
    from generate_series(1, ${ended}) i, agency where slug = '${agency.slug}'`)
    const store = new PostgresCatalogueStore(sql)
    const all = table === 'api_key' ? await store.loadKeys() : await store.loadAccessTokens()
    const read = all.filter(({ agencyId }) => agencyId === agency.id)
    expect(read).toHaveLength(1 + ENDED_CREDENTIALS_KEPT_MAX)
    expect(read.map((credential) => credential.id)).toContain(liveId)
    const names = read.map(({ name }) => name)
    expect([names.includes('Ended 1'), names.includes(`Ended ${ended}`)]).toEqual([true, false])
  },
)
