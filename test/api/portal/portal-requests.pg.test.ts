import { describe, expect, test } from 'bun:test'
import { TEST_PORTAL_TOKEN } from '../../support/service-process.ts'
import { sharedTestService } from '../../support/test-service.ts'

const service = await sharedTestService()

describe('the portal', () => {
  test.each([
    ['no token', null],
    ['another token', 'x'.repeat(40)],
    ['the beginning of the token', TEST_PORTAL_TOKEN.slice(0, -1)],
    ['the token and more', `${TEST_PORTAL_TOKEN}x`],
    ['a very long token', 'x'.repeat(5_000)],
  ])('answers 401 to %s, before it looks at anything else', async (_, token) => {
    const answer = await service.ask('/agencies/nobody', { broken: true }, { token, method: 'PATCH' })
    expect(answer.status).toBe(401)
    expect(answer.body).toMatchObject({ code: 'UNAUTHORIZED', requestId: answer.headers.get('x-request-id') })
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
  })

  test("does not take a partner's key, and a partner route does not take the token", async () => {
    const agency = await service.agency()
    const { secret } = await service.key(agency)
    expect((await service.ask('/agencies', undefined, { token: secret })).status).toBe(401)
    expect((await service.asPartner(TEST_PORTAL_TOKEN, '/me')).status).toBe(401)
  })

  test('takes the scheme in any case', async () => {
    const headers = { authorization: `bearer ${TEST_PORTAL_TOKEN}` }
    expect((await service.ask('/agencies', undefined, { token: null, headers })).status).toBe(200)
  })

  test('reads bodies as strictly as the partner surface', async () => {
    const ask = (raw: string, headers: Record<string, string> = {}) =>
      service.ask('/agencies', undefined, { method: 'POST', raw, headers })
    expect((await ask('{"slug":')).status).toBe(400)
    expect((await ask('{}', { 'content-type': 'text/plain' })).status).toBe(400)
    expect((await ask('"text"')).status).toBe(400)
    expect((await ask(`{"name":"${'x'.repeat(70_000)}"}`)).status).toBe(413)
    expect((await ask('{"name":"a\\u0000b"}')).status).toBe(400)
    expect((await service.ask('/agencies', undefined, { method: 'POST' })).body).toMatchObject({
      code: 'VALIDATION',
      errors: [{ field: 'body' }],
    })
  })

  test('an unknown route is 404 with the error body, and no page is out of range', async () => {
    expect((await service.get('/nothing')).body).toMatchObject({ code: 'NOT_FOUND' })
    expect((await service.get('/agencies?page=999')).body.agencies).toEqual([])
    expect((await service.get('/agencies?page=0')).body).toMatchObject({ errors: [{ field: 'page' }] })
    expect((await service.get('/agencies?pageSize=201')).body).toMatchObject({ errors: [{ field: 'pageSize' }] })
  })

  test('has an OpenAPI document of its own, readable without the token; the partner one knows nothing of it', async () => {
    const document = await service.ask('/openapi.json', undefined, { token: null })
    expect(document.body.openapi).toBe('3.1.0')
    const paths = Object.keys(document.body.paths)
    expect(paths).toContain('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}/cancel')
    const open = ['/portal/session', '/portal/links', '/portal/sign-in/options']
    expect(paths.filter((path) => !path.startsWith('/portal/v1/')).sort()).toEqual(open.sort())
    const ids = Object.values(document.body.paths as Record<string, Record<string, { operationId: string }>>)
      .flatMap((methods) => Object.values(methods))
      .map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
    const partner = await service.ask('//partner/v1/openapi.json', undefined, { token: null })
    expect(JSON.stringify(partner.body)).not.toContain('/portal/')
  })
})
