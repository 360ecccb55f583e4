/** See docs/partner-additions.md#1-conditional-reads: a test per sentence, and generated changes. */
import { beforeEach, describe, expect, test } from 'bun:test'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { addNights, formatNight, type Night } from '../../src/core/domain/night.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { SEASONS_MAX } from '../../src/core/domain/unit.ts'
import { ALLOWED_HEADERS } from '../../src/http/cors.ts'
import { SeededRandom } from '../../src/lib/seeded-random.ts'
import { generatedRules } from '../support/generated-rules.ts'
import type { HttpAnswer } from '../support/http-call.ts'
import { CALLER, night, requestFor, sampleRules } from '../support/samples.ts'
import { sharedTestService, startTestService } from '../support/test-service.ts'

let agency: Agency
let key: string
let seaView: Unit

const service = await sharedTestService()
beforeEach(async () => {
  agency = await service.agency()
  key = (await service.key(agency)).secret
  seaView = await service.unit(agency, { slug: 'sea-view', name: 'Sea View' })
  await service.unit(agency, { slug: 'garden', name: 'Garden' })
  await service.feeType(agency)
})

const RANGE = 'from=2027-03-01&to=2027-04-01'
const PATHS = [
  '/units',
  '/units/sea-view',
  '/fee-types',
  `/availability?unit=sea-view&${RANGE}`,
  `/calendar?${RANGE}`,
  `/calendar?${RANGE}&prices=true`,
]
const RATE_HEADERS = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
]

const ask = (path: string, ifNoneMatch?: string, secret = key): Promise<HttpAnswer> =>
  service.call(path, {
    key: secret,
    ...(ifNoneMatch === undefined ? {} : { headers: { 'If-None-Match': ifNoneMatch } }),
  })
const tagOf = async (path: string, secret = key): Promise<string> =>
  (await ask(path, undefined, secret)).headers.get('etag') ?? ''
const change = (unit: Unit, to: Partial<Unit>) =>
  service.ledger.commands.setUnit(agency, unit.id, (current) => ({ ...(current ?? unit), ...to }), CALLER)

describe.each(PATHS)('GET %s', (path) => {
  test('answers with a strong ETag and Cache-Control: private, no-cache', async () => {
    const { status, headers } = await ask(path)
    expect(status).toBe(200)
    expect(headers.get('etag')).toMatch(/^"[0-9a-z]+"$/)
    expect(headers.get('cache-control')).toBe('private, no-cache')
  })
  test('304 without a body, with the tag and the rate headers, when If-None-Match holds the tag', async () => {
    const tag = await tagOf(path)
    for (const held of [tag, `W/${tag}`, `"x", ${tag}`, `"x",W/${tag}`, '*']) {
      const { status, headers, text } = await ask(path, held)
      expect({ held, status, text }).toEqual({ held, status: 304, text: '' })
      expect(headers.get('etag')).toBe(tag)
      expect(headers.get('cache-control')).toBe('private, no-cache')
      expect(headers.get('content-type')).toBeNull()
      for (const name of [...RATE_HEADERS, 'X-Request-Id']) expect(headers.get(name)).not.toBeNull()
    }
  })
  test('200 with the body for another tag, and for a header that is no list of tags', async () => {
    const tag = await tagOf(path)
    for (const held of ['"x"', tag.replaceAll('"', ''), tag.toUpperCase(), `"x ${tag}`, '"*"']) {
      const answer = await ask(path, held)
      expect({ held, status: answer.status, tag: answer.headers.get('etag') }).toEqual({ held, status: 200, tag })
      expect(answer.body).toBeObject()
    }
  })
  test('counts as a request, whether it is 200 or 304', async () => {
    const used = async () => (await ask('/me')).body.quota.used
    const before = await used()
    const tag = await tagOf(path)
    await ask(path, tag)
    expect(await used()).toBe(before + 3)
  })
  test('comes after every other check: 401, 403 and 400 whatever the tag', async () => {
    const tag = await tagOf(path)
    expect((await ask(path, tag, 'hr_live_nobody')).status).toBe(401)
    const { secret } = await service.key(agency, { scopes: ['read:guests'] })
    expect(await ask(path, tag, secret)).toMatchObject({ status: 403, body: { code: 'SCOPE_MISSING' } })
  })
})

test('404 whatever the tag: for an unknown unit and for one that was archived', async () => {
  const paths = ['/units/sea-view', `/availability?unit=sea-view&${RANGE}`, `/calendar?units=sea-view&${RANGE}`]
  const tags = await Promise.all(paths.map((path) => tagOf(path)))
  await change(seaView, { status: 'archived' })
  for (const [i, path] of paths.entries()) {
    expect((await ask(path, tags[i])).status).toBe(404)
    expect((await ask(path, '*')).status).toBe(404)
  }
})

test('refusals have no tag and may not be kept', async () => {
  const { headers } = await ask('/units/none', '*')
  expect([headers.get('etag'), headers.get('cache-control')]).toEqual([null, 'no-store'])
})

test('the routes that are not conditional are as before: no tag, no-store', async () => {
  for (const path of ['/me', '/bookings', '/guests']) {
    const { status, headers } = await ask(path, '*')
    expect([path, status, headers.get('etag'), headers.get('cache-control')]).toEqual([path, 200, null, 'no-store'])
  }
})

test('CORS allows If-None-Match and If-Match, and exposes ETag', async () => {
  const preflight = await service.call('/calendar', {
    method: 'OPTIONS',
    headers: {
      Origin: 'https://partner.example',
      'Access-Control-Request-Method': 'GET',
      'Access-Control-Request-Headers': 'authorization, if-none-match, if-match',
    },
  })
  const allowed = preflight.headers.get('access-control-allow-headers') ?? ''
  for (const name of ['If-None-Match', 'If-Match']) expect(allowed).toContain(name)
  expect(ALLOWED_HEADERS).toContain('If-None-Match')
  const tag = await tagOf('/units')
  for (const { headers } of [await ask('/units'), await ask('/units', tag), preflight])
    expect(headers.get('access-control-expose-headers')).toContain('ETag')
})

describe('a tag is never valid for', () => {
  test('another agency, even one with the same units', async () => {
    const other = await service.agency()
    const { secret } = await service.key(other)
    await service.unit(other, { slug: 'sea-view', name: 'Sea View' })
    await service.unit(other, { slug: 'garden', name: 'Garden' })
    await service.feeType(other)
    for (const path of PATHS) expect((await ask(path, await tagOf(path), secret)).status).toBe(200)
  })
  test('another route, unit, range or query', async () => {
    const different = [
      ...PATHS,
      '/units/garden',
      `/availability?unit=garden&${RANGE}`,
      '/availability?unit=sea-view&from=2027-03-01&to=2027-04-02',
      '/availability?unit=sea-view&from=2027-03-02&to=2027-04-01',
      '/calendar?from=2027-03-01&to=2027-04-02',
      '/calendar?from=2027-03-02&to=2027-04-01',
      `/calendar?${RANGE}&units=sea-view`,
      `/calendar?${RANGE}&units=garden`,
      `/calendar?${RANGE}&units=garden,sea-view`,
      `/calendar?${RANGE}&units=sea-view,garden`,
      `/calendar?${RANGE}&page=2`,
      `/calendar?${RANGE}&pageSize=1`,
      `/calendar?${RANGE}&page=2&pageSize=1`,
      `/calendar?${RANGE}&page=1&pageSize=12`,
    ]
    const tags = await Promise.all(different.map((path) => tagOf(path)))
    expect(new Set(tags).size).toBe(different.length)
    for (const path of different) {
      const others = tags.filter((_, i) => different[i] !== path)
      expect([path, (await ask(path, others.join(', '))).status]).toEqual([path, 200])
    }
  })
})

test('a tag is never valid for another history: none outlasts a restart', async () => {
  // Of its own: the second process fences out the first.
  const first = await startTestService()
  const agency = await first.agency()
  const { secret } = await first.key(agency)
  await first.unit(agency, { slug: 'sea-view' })
  const tags = new Map<string, string>()
  for (const path of PATHS) tags.set(path, (await first.call(path, { key: secret })).headers.get('etag') ?? '')
  const second = await startTestService({ on: first.database })
  for (const [path, tag] of tags) {
    const answer = await second.call(path, { key: secret, headers: { 'If-None-Match': tag } })
    expect([path, answer.status]).toEqual([path, 200])
  }
  await second.close()
  await first.close()
})

/** What may change: each is done to the agency, at random. */
async function changeSomething(random: SeededRandom, units: readonly Unit[], cancellable: string[]): Promise<string> {
  const unit = random.pick(units)
  const kind = random.pick([
    'book',
    'book',
    'cancel',
    'move',
    'rates',
    'name',
    'status',
    'turnover',
    'fee',
    'new',
  ] as const)
  const arrival = addNights(night('2027-03-01'), random.int(-5, 40))
  switch (kind) {
    case 'book': {
      const type = random.pick(['guest', 'maintenance'] as const)
      const stay = [formatNight(arrival), formatNight(addNights(arrival, random.int(1, 4)))] as const
      const request = requestFor(unit, ...stay, { type, enforcement: 'agency' })
      const outcome = await service.ledger.commands.book(agency, request, CALLER)
      if (outcome.kind === 'done') cancellable.push(outcome.booking.id)
      break
    }
    case 'cancel': {
      const bookingId = random.pick([...cancellable, 'none'])
      await service.ledger.commands.cancel(agency, { bookingId, reason: null }, CALLER)
      break
    }
    case 'move': {
      const bookingId = random.pick([...cancellable, 'none'])
      const moved = random.chance(0.5)
        ? { unitId: unit.id }
        : { arrival: arrival as Night, departure: addNights(arrival, 2) as Night }
      await service.ledger.commands.change(agency, { bookingId, change: moved }, CALLER)
      break
    }
    case 'rates':
      await change(unit, { rules: generatedRules(random, night('2027-03-01')) })
      break
    case 'turnover':
      await change(unit, { rules: sampleRules({ turnoverNights: random.int(0, 2) }) })
      break
    case 'name':
      await change(unit, { name: `Name ${random.int(0, 3)}`, maxGuests: random.int(1, 3) })
      break
    case 'status':
      await change(unit, { status: random.pick(['active', 'draft']) })
      break
    case 'fee':
      await service.feeType(agency, { label: `Fee ${random.int(0, 99)}`, application: 'on_request' })
      break
    case 'new':
      await service.unit(agency)
      break
  }
  return kind
}

test('a tag changes whenever the body would: through 400 generated changes no kept answer is ever out of date', async () => {
  const random = new SeededRandom(20270301)
  const units = [seaView, await service.unit(agency), await service.unit(agency)]
  const paths = [
    ...PATHS.filter((path) => !path.includes('availability')),
    ...units.map(({ slug }) => `/availability?unit=${slug}&${RANGE}`),
    `/calendar?${RANGE}&units=${units.map(({ slug }) => slug).join()}&prices=true`,
    `/calendar?${RANGE}&pageSize=2&page=2`,
  ]
  const kept = new Map<string, { tag: string; text: string }>()
  const seen = { 200: 0, 304: 0 }
  const cancellable: string[] = []
  const kinds = new Set<string>()
  for (let n = 0; n < 400; n++) {
    kinds.add(await changeSomething(random, units, cancellable))
    const path = random.pick(paths)
    const before = kept.get(path)
    const answer = await ask(path, before?.tag)
    const now = (await ask(path)).text
    if (answer.status === 304) {
      seen[304] += 1
      expect({ n, path, text: before?.text }).toEqual({ n, path, text: now })
    } else {
      seen[200] += 1
      expect({ n, path, text: answer.text }).toEqual({ n, path, text: now })
      kept.set(path, { tag: answer.headers.get('etag') ?? '', text: answer.text })
    }
  }
  expect(kinds.size).toBe(9)
  // It was no use if there was only one of them.
  expect(Math.min(seen[200], seen[304])).toBeGreaterThan(20)
})

test('the tag is taken before the first slice: an answer that a change came into is not kept as the one after it', async () => {
  const seasons = Array.from({ length: SEASONS_MAX }, (_, i) => {
    const from = addNights(night('2027-01-01'), i)
    return { name: 'Night', from, to: addNights(from, 1), nightlyPrice: i, minStay: null }
  })
  const rates = { seasons, weekdayAdjustments: [], lengthOfStayDiscounts: [] }
  // Four of them are a slice.
  for (let i = 0; i < 40; i++) await service.unit(agency, { name: `Zzz ${i}`, rules: sampleRules({ rates }) })
  const path = '/calendar?from=2027-01-01&to=2028-01-01&prices=true'
  let cameInto = 0
  for (let n = 0; n < 40; n++) {
    const reading = ask(path)
    await Bun.sleep(n % 4)
    const booked = addNights(night('2027-01-01'), 2 * n)
    const changing = service.book(agency, seaView, formatNight(booked), formatNight(addNights(booked, 1)))
    const during = await reading
    await changing
    const after = await ask(path)
    if (during.text === after.text) continue
    cameInto += 1
    const again = await ask(path, during.headers.get('etag') ?? '')
    expect([n, again.status]).toEqual([n, 200])
  }
  expect(cameInto).toBeGreaterThan(5)
})
