/** How much slower one agency is served while another uses its share to the full: in windows with and without, in turn. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seedLedger } from '../../bench/world/seed.ts'
import { secretOf, slugOf } from '../../bench/world/world.ts'
import { connect } from '../../src/postgres/client/connect.ts'
import { type HttpCall, send } from './http-call.ts'
import { startServiceOn, TEST_PORTAL_TOKEN } from './service-process.ts'
import type { Attack } from './share-attack.ts'

const WORLD = { agencies: 2, unitsPerAgency: 999, bookingsPerUnit: 10, bookingsOfFirst: 0 }
const CONNECTIONS = 8
/** As many as an agency can have, with the contract's plan. */
const KEYS = 200
const TOKENS = 3
const WINDOW_MS = 2_000
const ROUNDS = 7

export interface Slowdown {
  readonly calmMs: number
  readonly besetMs: number
  readonly ratio: number
  /** The ratios of all rounds, in order: budgets are per minute, so the first rounds show a burst and the last what remains after it. */
  readonly ratios: readonly number[]
  readonly statuses: string
}

export interface ShareWindows {
  readonly base: string
  readonly attacks: Readonly<Record<string, Attack['requests']>>
  /**
   * The p99 of another agency's reads beside it, against its own: the median of the rounds.
   * @param target the address that is attacked; the address of another service shows how much is due to the machine
   */
  slowdown(requests: Attack['requests'], target?: string): Promise<Slowdown>
  close(): Promise<void>
}

/** @param databaseUrl of a database that is migrated and empty */
export async function openShareWindows(databaseUrl: string): Promise<ShareWindows> {
  const sql = connect(databaseUrl, { purpose: 'admin' })
  await seedLedger(sql, WORLD, () => {})
  await sql.end()
  const folder = mkdtempSync(join(tmpdir(), 'shares-'))
  const service = await startServiceOn(databaseUrl)
  const base = service.baseUrl
  const ask = async (path: string, call: HttpCall = {}) => {
    const answer = await send(base + path, { token: TEST_PORTAL_TOKEN, ...call })
    if (answer.status >= 300) throw new Error(`Cannot prepare an attack: ${path} is answered with ${answer.text}`)
    return answer.body
  }
  const { agencies } = await ask('/portal/v1/agencies')
  // The other one reads with the key of agency 0.
  const me = await send(`${base}/partner/v1/me`, { token: secretOf(1) })
  const slug: string = me.body.tenant.slug
  const agency = `/portal/v1/agencies/${slug}`
  if (!agencies.some((each: { slug: string }) => each.slug === slug)) throw new Error('Cannot attack: no such agency')
  await ask(agency, {
    method: 'PATCH',
    json: { plan: { apiAccess: true, requestsPerMinute: 60, requestsPerMonth: 10_000_000 } },
  })
  const keys = [secretOf(1)]
  const scopes = me.body.key.scopes
  while (keys.length < KEYS)
    keys.push((await ask(`${agency}/keys`, { json: { name: `key ${keys.length}`, scopes } })).secret)
  const tokens: Record<string, string[]> = {}
  for (const role of ['viewer', 'desk', 'manager', 'owner'])
    for (let i = 0; i < TOKENS; i++) {
      const made = await ask(`${agency}/access-tokens`, { json: { name: `${role} ${i}`, role } })
      tokens[role] = [...(tokens[role] ?? []), made.secret]
    }
  const feeds: string[] = []
  for (let unit = 0; unit < 50; unit++)
    feeds.push((await ask(`${agency}/units/${slugOf(unit)}/calendar-feed`)).calendarFeed.path)
  const of = (secrets: readonly string[] = [], ...requests: { method?: string; path: string; json?: unknown }[]) =>
    secrets.flatMap((token, i) => {
      const { method = 'GET', ...request } = requests[i % requests.length] ?? { path: '/' }
      return [{ method, token, ...request }]
    })
  const thrice = (secrets: readonly string[] = []) => [...secrets, ...secrets, ...secrets, ...secrets]
  const rpc = (name: string, args: object) => ({
    method: 'POST',
    path: '/mcp',
    json: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
  })
  const window = 'from=2033-01-01&to=2033-04-01'
  return {
    base,
    attacks: {
      'partner key': of(
        keys.slice(0, KEYS / 2),
        { path: '/partner/v1/changes?after=start&limit=500' },
        { path: '/partner/v1/units' },
        { path: '/partner/v1/bookings?pageSize=200' },
        { path: `/partner/v1/calendar?${window}&prices=true&pageSize=200` },
        { path: `/partner/v1/search?${window}&nights=2&each=stay&page=100` },
      ),
      MCP: of(
        // Others: they share their budgets with those of REST.
        keys.slice(KEYS / 2),
        rpc('search_stays', { from: '2033-01-01', to: '2033-04-01', nights: 2, each: 'stay', page: 100 }),
        rpc('list_units', {}),
        rpc('list_bookings', { pageSize: 200 }),
      ),
      viewer: of(
        thrice(tokens['viewer']),
        { path: `${agency}/changes?after=start&limit=500` },
        { path: `${agency}/tape?from=2033-01-01&to=2035-12-31` },
        { path: `${agency}/bookings?pageSize=200` },
        { path: `${agency}/units?pageSize=200` },
      ),
      desk: of(thrice(tokens['desk']), {
        method: 'POST',
        path: `${agency}/bookings`,
        json: {
          unit: slugOf(1),
          arrival: '2098-01-01',
          departure: '2098-01-02',
          guest: { firstName: 'A', lastName: 'B' },
        },
      }),
      manager: of(thrice(tokens['manager']), {
        method: 'PATCH',
        path: `${agency}/units/${slugOf(2)}`,
        json: { basePrice: 12_000 },
      }),
      owner: of(
        thrice(tokens['owner']),
        { method: 'POST', path: `${agency}/keys`, json: { name: 'one more', scopes } },
        { path: `${agency}/audit?pageSize=200` },
      ),
      'keys, small requests': of(
        keys,
        { path: '/partner/v1/bookings?pageSize=5' },
        { path: `/partner/v1/availability?unit=${slugOf(1)}&${window}` },
        { path: '/partner/v1/guests?pageSize=5' },
        {
          method: 'POST',
          path: '/partner/v1/quote',
          json: { unit: slugOf(1), arrival: '2033-01-01', departure: '2033-01-08' },
        },
      ),
      'tokens, small requests': of(
        thrice(tokens['owner']),
        { path: `${agency}/audit?pageSize=5` },
        { path: `${agency}/bookings?pageSize=5` },
        { path: `${agency}/guests?pageSize=5` },
        { path: `${agency}/units/${slugOf(1)}/calendar?${window}` },
      ),
      'calendar address': feeds.map((path) => ({ method: 'GET', path })),
    },
    slowdown: async (requests, target = base) => {
      const file = join(folder, 'attack.json')
      await Bun.write(file, JSON.stringify({ base: target, connections: CONNECTIONS, requests } satisfies Attack))
      await latencies(base, WINDOW_MS / 2)
      const rounds: { calm: number; beset: number }[] = []
      let statuses = ''
      for (let round = 0; round < ROUNDS; round++) {
        const calm = p99(await latencies(base, WINDOW_MS))
        const attack = Bun.spawn([process.execPath, 'run', join(import.meta.dir, 'share-attack.ts'), file], {
          stdin: 'pipe',
          stdout: 'pipe',
          stderr: 'inherit',
        })
        rounds.push({ calm, beset: p99(await latencies(base, WINDOW_MS)) })
        await attack.stdin.end()
        statuses += (await new Response(attack.stdout).text()).trim()
        await attack.exited
      }
      const sorted = rounds.toSorted((a, b) => a.beset / a.calm - b.beset / b.calm)
      const { calm, beset } = sorted[(ROUNDS - 1) / 2] ?? { calm: 0, beset: Number.NaN }
      const ratios = rounds.map((each) => each.beset / each.calm)
      return { calmMs: calm, besetMs: beset, ratio: beset / calm, ratios, statuses }
    },
    close: async () => {
      service.kill('SIGKILL')
      await service.exited
      rmSync(folder, { recursive: true })
    },
  }
}

/** Of sequential reads of agency 0, milliseconds, sorted. */
async function latencies(base: string, forMs: number): Promise<number[]> {
  const headers = { authorization: `Bearer ${secretOf(0)}` }
  const measured: number[] = []
  for (let now = performance.now(), until = now + forMs, i = 0; now < until; i++) {
    const since = now
    const path = `/partner/v1/availability?unit=${slugOf(i % 12)}&from=2033-01-01&to=2033-02-01`
    const answer = await fetch(base + path, { headers })
    if (answer.status !== 200) throw new Error(`Another agency is answered with ${answer.status}`)
    await answer.arrayBuffer()
    now = performance.now()
    measured.push(now - since)
  }
  return measured.toSorted((a, b) => a - b)
}

function p99(sorted: readonly number[]): number {
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN
}
