/** A request is admitted by its headers. A change to its key before its body has arrived still takes effect. */
import { describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import type { Agency, ApiKey } from '../../../src/core/catalogue/agency.ts'
import { auditTrail } from '../../support/audit-trail.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestKey } from '../../support/ledger.ts'
import { toolCall } from '../../support/memory-mcp.ts'
import { parseAnswers, type RawAnswer } from '../../support/raw-http.ts'
import { sharedTestService } from '../../support/test-service.ts'

const service = await sharedTestService()
const agency = await service.agency()
await service.unit(agency, { slug: 'sea-view' })

const used = () => service.ledger.usage.position(agency.id, agency.plan.requestsPerMonth).used

/** Sends the headers and one byte of the body, waits until the service has let the request in, and does the rest after `meanwhile`. */
async function late(path: string, secret: string, json: unknown, meanwhile: () => void): Promise<RawAnswer> {
  const body = JSON.stringify(json)
  const before = used()
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
  let received = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, Buffer.from(chunk as Uint8Array)])
  })
  const head = [
    ...[`POST ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${secret}`, 'Content-Type: application/json'],
    ...['Accept: application/json, text/event-stream', `Content-Length: ${body.length}`],
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 1)}`)
  await eventually('the request is admitted', () => used() === before + 1)
  meanwhile()
  socket.write(body.slice(1))
  await eventually('it is answered', () => parseAnswers(received).length > 0)
  socket.destroy()
  expect(used()).toBe(before + 1)
  return parseAnswers(received)[0] as RawAnswer
}

const booking = (day: number) => ({ unit: 'sea-view', arrival: `2027-03-${day}`, departure: `2027-03-${day + 1}` })
const bookings = async () => Number((await service.database.sql`select count(*)::int as n from booking`)[0]?.['n'])
const outcomes = async ({ id }: ApiKey) => {
  const lines = await auditTrail(service.database.sql, agency.id)
  return lines.filter(({ actor_id }) => actor_id === id).map(({ outcome }) => outcome)
}

const catalogue = {
  putKey: (key: ApiKey) => service.ledger.catalogue.putKey(key),
  putAgency: (changed: Agency) => service.ledger.catalogue.putAgency(changed),
}

describe('a body that comes after', () => {
  const cases: [string, (key: ApiKey) => void, number, string, readonly string[]][] = [
    [
      'its key was revoked',
      (key) => catalogue.putKey({ ...key, revokedAt: Date.now() }),
      401,
      'UNAUTHORIZED',
      ['UNAUTHORIZED'],
    ],
    [
      'its key has expired',
      (key) => catalogue.putKey({ ...key, expiresAt: Date.now() - 1 }),
      401,
      'UNAUTHORIZED',
      ['UNAUTHORIZED'],
    ],
    [
      'its agency was suspended',
      () => catalogue.putAgency({ ...agency, status: 'suspended' }),
      401,
      'UNAUTHORIZED',
      ['UNAUTHORIZED'],
    ],
    [
      'the plan lost API access',
      () => catalogue.putAgency({ ...agency, plan: { ...agency.plan, apiAccess: false } }),
      ...([403, 'FEATURE_DISABLED', ['FEATURE_DISABLED']] as const),
    ],
    [
      'its key lost the scope',
      (key) => catalogue.putKey({ ...key, scopes: ['read:units'] }),
      ...([403, 'SCOPE_MISSING', ['SCOPE_MISSING']] as const),
    ],
  ]
  for (const [what, change, status, code, audited] of cases) {
    test(`${what} books nothing: ${status} ${code}, as if it came now, and costs nothing more`, async () => {
      const { key, secret } = await service.key(agency)
      const before = await bookings()
      const answer = await late('/partner/v1/bookings', secret, booking(10), () => change(key))
      catalogue.putAgency(agency)
      expect([answer.status, JSON.parse(answer.body).code]).toEqual([status, code])
      expect(answer.headers.has('x-ratelimit-limit')).toBe(status === 403)
      expect(await bookings()).toBe(before)
      await service.ledger.refusals.flush()
      expect(await outcomes(key)).toEqual([...audited])
    })
  }

  test('its key was revoked is 401 even when the body is malformed', async () => {
    const { key, secret } = await service.key(agency)
    const answer = await late('/partner/v1/bookings', secret, { unit: 7 }, () =>
      catalogue.putKey({ ...key, revokedAt: Date.now() }),
    )
    expect(answer.status).toBe(401)
  })

  test('nothing has changed books', async () => {
    const { key, secret } = await service.key(agency)
    expect((await late('/partner/v1/bookings', secret, booking(20), () => {})).status).toBe(201)
    expect(await outcomes(key)).toEqual(['OK'])
  })

  const call = toolCall('list_units')
  const toolCases: [string, (made: TestKey) => void, number][] = [
    [
      'its key was revoked is refused at /mcp too',
      ({ key }) => catalogue.putKey({ ...key, revokedAt: Date.now() }),
      401,
    ],
    [
      'the plan lost API access is refused at /mcp too',
      () => catalogue.putAgency({ ...agency, plan: { ...agency.plan, apiAccess: false } }),
      403,
    ],
    ['nothing has changed is answered at /mcp', () => {}, 200],
  ]
  for (const [what, change, status] of toolCases) {
    test(what, async () => {
      const made = await service.key(agency)
      const answer = await late('/mcp', made.secret, call, () => change(made))
      catalogue.putAgency(agency)
      expect(answer.status).toBe(status)
    })
  }

  test('its key lost the scope finds the tool out of reach at /mcp', async () => {
    const { key, secret } = await service.key(agency)
    const answer = await late('/mcp', secret, call, () => catalogue.putKey({ ...key, scopes: ['read:rates'] }))
    expect(JSON.parse(answer.body).error.code).toBe(-32602)
  })
})
