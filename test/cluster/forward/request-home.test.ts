import { beforeAll, describe, expect, test } from 'bun:test'
import { LinkSecrets } from '../../../src/accounts/person-links.ts'
import { KeptBody } from '../../../src/cluster/forward/kept-body.ts'
import { RequestHomes } from '../../../src/cluster/forward/request-home.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import { BODY_BYTES_MAX } from '../../../src/http/read-request.ts'
import { sha256Hex, uuidOf } from '../../../src/lib/ids.ts'
import { addSecret, DIRECTORY, keyOf, OPERATOR_TOKEN } from '../../support/entry-nodes.ts'
import { sampleId } from '../../support/samples.ts'

beforeAll(() => {
  addSecret('token', 'hp_live_token', 11)
  addSecret('session', 'of-a-token', 11)
  addSecret('session', 'of-the-operator', 'operator')
})

const homes = new RequestHomes({ directory: DIRECTORY, operatorTokens: [OPERATOR_TOKEN], random: () => 0.5 })
const homeOf = async (method: string, path: string, headers: Record<string, string> = {}, body?: string) => {
  const request = new Request(`http://localhost${path}`, { method, headers, ...(body === undefined ? {} : { body }) })
  return homes.of(request, new KeptBody(request))
}
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const cookie = (secret: string) => ({ cookie: `a=b; nightledger_session=${secret}` })

const OF_11 = { shard: 11, isOperatorSession: false }
const OF_7 = { shard: 7, isOperatorSession: false }
const ANY = { shard: null, isOperatorSession: false }
const ANY_WITH_SESSION = { shard: null, isOperatorSession: true }
const AGENCY_ID = sampleId('agc', 'x')
const LINK = new LinkSecrets({ secretKey: new Uint8Array(32), random: (bytes) => new Uint8Array(bytes) }).make(
  { agencyId: AGENCY_ID, personId: sampleId('per', 'x'), kind: 'invitation' },
  { now: 0, lifetimeMs: 1 },
)
const HANDLE = Buffer.from(uuidOf(AGENCY_ID) + uuidOf(sampleId('per', 'x')), 'hex').toString('base64url')
const OF_LINK = { shard: shardOf(AGENCY_ID), isOperatorSession: false }
const AGENCY = '/portal/v1/agencies/agency-7'

describe('a request belongs to', () => {
  test.each([
    ['the agency of its key', 'GET', '/partner/v1/units', bearer(keyOf(7)), OF_7],
    ['the agency of its key, whatever the route', 'POST', '/partner/v1/nothing', bearer(keyOf(7)), OF_7],
    ['the agency of its key, at the tools too', 'POST', '/mcp', bearer(keyOf(7)), OF_7],
    ['the agency of its access token', 'GET', '/portal/v1/me', bearer('hp_live_token'), OF_11],
    ['the agency of its access token, whichever it names', 'GET', `${AGENCY}/units`, bearer('hp_live_token'), OF_11],
    ['the agency of its session', 'GET', '/portal/v1/me', cookie('of-a-token'), OF_11],
    ['the agency of its session, to end it', 'DELETE', '/portal/session', cookie('of-a-token'), OF_11],
    ['the agency that the operator names', 'PATCH', AGENCY, bearer(OPERATOR_TOKEN), OF_7],
    [
      'the agency that the operator names, encoded',
      'GET',
      '/portal/v1/agencies/agency%2D7',
      bearer(OPERATOR_TOKEN),
      OF_7,
    ],
    ['the agency of a calendar', 'GET', `${AGENCY}/units/sea/calendar.ics?token=x`, {}, OF_7],
    [
      'the agency of a calendar, though a channel sends credentials',
      'GET',
      `${AGENCY}/units/sea/calendar.ics?token=x`,
      { authorization: 'Basic eDp5' },
      OF_7,
    ],
    [
      'the agency of its key, where only the document can be read',
      'POST',
      '/partner/v1/openapi.json',
      bearer(keyOf(7)),
      OF_7,
    ],
    [
      'the shard that was drawn, to create an agency',
      'POST',
      '/portal/v1/agencies',
      bearer(OPERATOR_TOKEN),
      { ...ANY, shard: 128 },
    ],
    [
      'the agency that the operator names by a session, which is read',
      ...(['GET', AGENCY, cookie('of-the-operator'), { shard: 7, isOperatorSession: true }] as const),
    ],
  ] as const)('%s', async (_, method, path, headers, home) => {
    expect(await homeOf(method, path, headers)).toEqual(home)
  })
})

describe('any node answers', () => {
  test.each([
    ['a preflight', 'OPTIONS', '/partner/v1/units', bearer(keyOf(7)), ANY],
    ['the documents', 'GET', '/partner/v1/openapi.json', bearer(keyOf(7)), ANY],
    ['the page', 'GET', '/portal/app.js', cookie('of-a-token'), ANY],
    ['the start of a sign-in with the provider', 'GET', '/portal/oidc/start', cookie('of-a-token'), ANY],
    ['its end', 'GET', '/portal/oidc/callback?code=x&state=y', cookie('of-a-token'), ANY],
    ['a request without a key', 'GET', '/partner/v1/units', {}, ANY],
    ['an unknown key', 'GET', '/partner/v1/units', bearer('hr_live_x'), ANY],
    ['an unknown token', 'GET', AGENCY, bearer('hp_live_x'), ANY],
    ['two sessions at once', 'GET', AGENCY, { cookie: 'nightledger_session=a; nightledger_session=b' }, ANY],
    ['the list of agencies', 'GET', '/portal/v1/agencies', bearer(OPERATOR_TOKEN), ANY],
    ['an agency that does not exist', 'GET', '/portal/v1/agencies/none', bearer(OPERATOR_TOKEN), ANY],
    ['a slug that cannot be read', 'GET', '/portal/v1/agencies/%ff', bearer(OPERATOR_TOKEN), ANY],
    ['the operator by a session, which is read', 'GET', '/portal/v1/me', cookie('of-the-operator'), ANY_WITH_SESSION],
    ['the end of the operator’s session', 'DELETE', '/portal/session', cookie('of-the-operator'), ANY_WITH_SESSION],
  ] as const)('%s', async (_, method, path, headers, home) => {
    expect(await homeOf(method, path, headers)).toEqual(home)
  })
})

test.each([
  ['of an access token: its agency', '{"token":" hp_live_token\\n"}', OF_11],
  ['of the operator: any node', `{"token":"${OPERATOR_TOKEN}"}`, ANY],
  ['with a wrong token: any node', '{"token":"hp_live_x"}', ANY],
  ['without one: any node', '{"token":7}', ANY],
  ['with a link: its agency', JSON.stringify({ link: LINK.secret }), OF_LINK],
  ['with an invitation: its agency', JSON.stringify({ link: LINK.secret, name: 'x', passkey: {} }), OF_LINK],
  ['with a passkey: its agency', JSON.stringify({ passkey: { response: { userHandle: HANDLE } } }), OF_LINK],
  ['with what is no link: any node', JSON.stringify({ link: LINK.secret.slice(1) }), ANY],
  ['with a passkey of nobody: any node', JSON.stringify({ passkey: { response: { userHandle: 'x' } } }), ANY],
  ['with nothing of a passkey: any node', JSON.stringify({ passkey: null }), ANY],
  ['that is not JSON: any node', '{', ANY],
])('a sign-in %s', async (_, body, home) => {
  expect(await homeOf('POST', '/portal/session', { 'content-type': 'application/json' }, body)).toEqual(home)
})

test('what a link opens is shown by the node of its agency', async () => {
  const body = JSON.stringify({ link: LINK.secret })
  expect(await homeOf('POST', '/portal/links', { 'content-type': 'application/json' }, body)).toEqual(OF_LINK)
  expect(await homeOf('POST', '/portal/sign-in/options')).toEqual(ANY)
})

test('creating an agency with an Idempotency-Key goes to the same shard each time, quoted or not', async () => {
  const shard = Number.parseInt(sha256Hex('abc').slice(0, 2), 16)
  for (const key of ['abc', '"abc"'])
    expect(await homeOf('POST', '/portal/v1/agencies', { ...bearer(OPERATOR_TOKEN), 'idempotency-key': key })).toEqual({
      shard,
      isOperatorSession: false,
    })
})

test('where the operator’s token is not accepted it is a wrong one', async () => {
  const others = new RequestHomes({ directory: DIRECTORY, operatorTokens: [] })
  const request = new Request(`http://localhost${AGENCY}`, { headers: bearer(OPERATOR_TOKEN) })
  expect(await others.of(request, new KeptBody(request))).toEqual(ANY)
})

test('of a body whose length nobody has said, no more is read than a request may have', async () => {
  let read = 0
  const pieces = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      read += 1
      controller.enqueue(new Uint8Array(BODY_BYTES_MAX / 4))
      if (read === 100) controller.close()
    },
  })
  const request = new Request('http://localhost/', { method: 'POST', body: pieces })
  expect(request.headers.has('content-length')).toBe(false)
  expect((await new KeptBody(request).bytes()).byteLength).toBeGreaterThan(BODY_BYTES_MAX)
  expect(read).toBeLessThan(10)
})
