import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { PortalOperation } from '../../../src/api/portal/portal-operation.ts'
import { PORTAL_OPERATIONS } from '../../../src/api/portal/portal-surface.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import { type RequiredRole, ROLES, type Role, suffices } from '../../../src/core/catalogue/agency.ts'
import { isWrite } from '../../../src/http/operation.ts'
import type { HttpAnswer, HttpCall } from '../../support/http-call.ts'
import { FROM_THE_PAGE, signIn } from '../../support/page-sessions.ts'
import { joined } from '../../support/people.ts'
import { sampleId } from '../../support/samples.ts'
import { TEST_PORTAL_TOKEN } from '../../support/service-process.ts'
import { startTestService, type TestService } from '../../support/test-service.ts'

/*
 * Every operation of the portal, for every role, on the paths of the own agency, of another one and of one that does not exist, and
 * with credentials that are no longer valid; each with a token, with a session of the page that was opened with it, and with the session of
 * a person. The cases are made from the definitions of the routes.
 */

let service: TestService
let own: Agency
let other: Agency
/** The operator can suspend it. */
let third: Agency
const ENDED = ['expired', 'revoked', 'of a suspended agency'] as const
const WAYS = ['a token', 'a session', 'a person'] as const
type Way = (typeof WAYS)[number]
type Whose = Role | 'operator' | (typeof ENDED)[number]
const secrets = {} as Record<Whose, string>
const cookies = {} as Record<Whose, string>
/** Of people; the operator is none, and a person expires by being removed. */
const people = {} as Record<Whose, string>

beforeAll(async () => {
  service = await startTestService()
  own = await service.agency()
  other = await service.agency()
  third = await service.agency()
  for (const role of ROLES) secrets[role] = (await service.accessToken(own, role)).secret
  secrets.operator = TEST_PORTAL_TOKEN
  const [expired, revoked] = [await service.accessToken(own, 'owner'), await service.accessToken(own, 'owner')]
  const closed = await service.agency()
  Object.assign(secrets, { expired: expired.secret, revoked: revoked.secret })
  secrets['of a suspended agency'] = (await service.accessToken(closed, 'owner')).secret
  for (const whose of [...ROLES, 'operator', ...ENDED] as const)
    cookies[whose] = (await signIn(service.url, secrets[whose])).cookie
  for (const role of ROLES) people[role] = (await joined(service, own, role)).cookie
  people.operator = cookies.operator
  // So that the removed one is not the last.
  const [left, removed] = [await joined(service, own, 'owner'), await joined(service, own, 'owner')]
  for (const [state, { person, cookie }] of [
    ['expired', left],
    ['revoked', removed],
  ] as const) {
    people[state] = cookie
    await service.delete(`/agencies/${own.slug}/people/${person.id}`)
  }
  people['of a suspended agency'] = (await joined(service, closed, 'owner')).cookie
  const { catalogue } = service.ledger
  catalogue.putAccessToken({ ...expired.token, expiresAt: Date.UTC(2026, 0, 2) })
  catalogue.putAccessToken({ ...revoked.token, revokedAt: Date.UTC(2026, 0, 2) })
  await service.patch(`/agencies/${closed.slug}`, { status: 'suspended' })
})
afterAll(() => service.close())

/** Nothing of what the path names exists, so that whoever is let in changes little. */
const NOTHING = {
  unitSlug: 'no-such-unit',
  bookingId: sampleId('bkg', 'none'),
  guestId: sampleId('gst', 'none'),
  keyId: sampleId('key', 'none'),
  tokenId: sampleId('tok', 'none'),
  personId: sampleId('per', 'none'),
  passkeyId: sampleId('pky', 'none'),
  sessionId: sampleId('ses', 'none'),
  feeTypeId: sampleId('fee', 'none'),
  endpointId: sampleId('whe', 'none'),
  deliveryId: sampleId('dlv', 'none'),
}

function askAs(whose: Whose, way: Way, operation: PortalOperation, slug: string): Promise<HttpAnswer> {
  if (way === 'a token') return ask(operation, slug, { token: secrets[whose] })
  return ask(operation, slug, {
    token: null,
    headers: { ...FROM_THE_PAGE, cookie: (way === 'a person' ? people : cookies)[whose] },
  })
}

function ask(operation: PortalOperation, slug: string, credentials: Pick<HttpCall, 'token' | 'headers'>) {
  const { method, path, body, bodyExample } = operation
  const values: Record<string, string> = { ...NOTHING, agencySlug: slug }
  const request = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? name)
  const query = operation.query?.required?.map((name) => `${name}=2027-03-0${name === 'from' ? 1 : 9}`).join('&') ?? ''
  return service.ask(`/${request}${query === '' ? '' : `?${query}`}`, body === undefined ? undefined : bodyExample, {
    method,
    ...credentials,
  })
}

/** Without the one that ends the sessions which the others are tried with. */
const OPERATIONS: readonly PortalOperation[] = PORTAL_OPERATIONS.filter(({ id }) => id !== 'endOtherSessions')
const isForPeople = ({ problems = [] }: PortalOperation) => problems.includes('PEOPLE_ONLY')
const EACH = OPERATIONS.map((operation) => [operation.id, operation] as const)
const OF_AN_AGENCY = EACH.filter(([, { path }]) => path.includes('{agencySlug}'))

const EVERY_WAY = <T extends string>(whose: readonly T[]) =>
  whose.flatMap((one) => WAYS.map((way) => [one, way] as const))

describe.each(EACH)('%s', (_, operation) => {
  test.each(EVERY_WAY(ROLES))(`asks for the role ${operation.role}: as %s, with %s`, async (role, way) => {
    const answer = await askAs(role, way, operation, own.slug)
    if (isForPeople(operation) && way !== 'a person') {
      expect([answer.status, answer.body.code]).toEqual([403, 'PEOPLE_ONLY'])
    } else if (suffices(role, operation.role)) {
      expect([401, 403, 500]).not.toContain(answer.status)
      expect(answer.body.title).not.toBe('No such agency')
    } else {
      expect(answer.status).toBe(403)
      expect(answer.body).toMatchObject({ code: 'ROLE_MISSING', role: operation.role })
    }
  })

  test.each(WAYS)('is open to the operator, with %s', async (way) => {
    const { status, body } = await askAs('operator', way, operation, third.slug)
    if (isForPeople(operation)) expect([status, body.code]).toEqual([403, 'PEOPLE_ONLY'])
    else expect([401, 403]).not.toContain(status)
  })

  test.each(EVERY_WAY(ENDED))('answers 401 to a token that is %s, and to %s of it', async (state, way) => {
    const answer = await askAs(state, way, operation, own.slug)
    const unknown = await ask(operation, own.slug, { token: 'x'.repeat(51) })
    expect(answer.status).toBe(401)
    expect(withoutRequestId(answer)).toEqual(withoutRequestId(unknown))
  })
})

describe.each(OF_AN_AGENCY)('%s in another agency', (_, operation) => {
  test.each(EVERY_WAY(ROLES))('is as in an agency that does not exist: as %s, with %s', async (role, way) => {
    const [theirs, nobodys] = [
      await askAs(role, way, operation, other.slug),
      await askAs(role, way, operation, 'no-such-agency'),
    ]
    expect(theirs.status).toBe(404)
    expect(theirs.body.title).toBe('No such agency')
    expect(withoutRequestId(theirs)).toEqual(withoutRequestId(nobodys))
  })
})

test('a write refused for its role is in the audit trail, with the token as its actor; nothing is in the trail of another agency', async () => {
  const agency = await service.agency()
  const { token, secret } = await service.accessToken(agency, 'viewer')
  const writes = OPERATIONS.filter((operation) => isWrite(operation) && !suffices('viewer', operation.role))
  for (const operation of writes) await ask(operation, agency.slug, { token: secret })
  for (const operation of writes) await ask(operation, other.slug, { token: secret })
  const lines = await linesOf(agency)
  expect(lines.every(({ actor }) => actor.id === token.id && actor.name === 'The viewer')).toBe(true)
  const routesOf = (outcome: string) => lines.filter((line) => line.outcome === outcome).map(({ route }) => route)
  const named = ({ method, path }: PortalOperation) => `${method} ${path}`
  expect(routesOf('ROLE_MISSING').sort()).toEqual(
    writes.flatMap((each) => (each.path.includes('{agencySlug}') ? [named(each)] : [named(each), named(each)])).sort(),
  )
  expect(routesOf('NOT_FOUND').sort()).toEqual(
    writes
      .filter(({ path }) => path.includes('{agencySlug}'))
      .map(named)
      .sort(),
  )
  expect(await linesOf(other)).toEqual([])
})

test('the roles are those of the design', () => {
  const idsOf = (role: RequiredRole) => OPERATIONS.filter((operation) => operation.role === role).map(({ id }) => id)
  expect(idsOf('operator')).toEqual(['createAgency', 'listAgencies', 'changeAgency', 'runRetention', 'verify'])
  expect(idsOf('owner')).toEqual([
    ...['getSandbox', 'createSandbox', 'resetSandbox', 'deleteSandbox', 'moveSandboxClock'],
    'setRetention',
    ...['listPeople', 'createPerson', 'updatePerson', 'removePerson', 'invitePerson'],
    ...['createAccessToken', 'revokeAccessToken', 'createKey', 'revokeKey', 'eraseBookingTexts', 'eraseGuest'],
    ...['createWebhookEndpoint', 'changeWebhookEndpoint', 'deleteWebhookEndpoint', 'rotateWebhookSecret'],
  ])
  expect(idsOf('manager')).toEqual([
    ...['createUnit', 'changeUnit', 'setRates', 'setRestrictions', 'createFeeType', 'changeFeeType'],
    ...['getCalendarFeed', 'changeCalendarFeed', 'pingWebhookEndpoint', 'resendWebhookDelivery'],
    'resendWebhookDeliveries',
  ])
  expect(idsOf('desk')).toEqual([
    ...['createBooking', 'changeBooking', 'cancelBooking', 'createGroup', 'cancelGroup'],
    ...['setBookingNotes', 'changeGuest'],
  ])
  const ofViewers = OPERATIONS.filter((operation) => operation.role === 'viewer' && isWrite(operation))
  expect(ofViewers.map(({ id }) => id)).toEqual(['createPasskey', 'updatePasskey', 'deletePasskey'])
})

interface Line {
  readonly actor: { readonly id: string; readonly name: string }
  readonly route: string
  readonly outcome: string
}

/** What access tokens did, according to the audit trail of the agency. */
async function linesOf(agency: Agency): Promise<readonly Line[]> {
  return (await service.get(`/agencies/${agency.slug}/audit?pageSize=200&actor=access_token`)).body.audit
}

function withoutRequestId({ status, body }: HttpAnswer) {
  const { requestId: _, ...rest } = body
  return { status, ...rest }
}
