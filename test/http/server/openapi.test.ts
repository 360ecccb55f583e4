import { describe, expect, test } from 'bun:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { partnerDocument } from '../../../src/api/partner/partner-surface.ts'
import { PROBLEMS } from '../../../src/http/problem-table.ts'
import type { Document } from '../../support/conformity.ts'

/* biome-ignore-start lint/suspicious/noExplicitAny: the document is walked as it comes */
describe('the OpenAPI document', async () => {
  const text = await partnerDocument()
  const document: Document = JSON.parse(text)
  const operations: [name: string, operation: any][] = Object.entries<any>(document.paths).flatMap(([path, methods]) =>
    Object.entries<any>(methods).map(([method, operation]): [string, any] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  )
  const schemaOf = (name: string) => document.components.schemas[name]
  const bodyOf = (name: string) =>
    operations.find(([each]) => each === name)?.[1].requestBody.content['application/json'].schema.properties
  const queryOf = (name: string) =>
    Object.fromEntries(
      operations
        .find(([each]) => each === name)?.[1]
        .parameters.filter((parameter: any) => parameter.in === 'query')
        .map((parameter: any) => [parameter.name, { required: parameter.required, ...parameter.schema }]) ?? [],
    )

  test('is 3.1, with servers', () => {
    expect(document.openapi).toMatch(/^3\.1\./)
    expect(document.servers).toHaveLength(1)
  })
  test("meets Redocly's recommended rules without an error or a warning", async () => {
    const config = await createConfig({ extends: ['recommended'] })
    const found = await lintFromString({
      source: JSON.stringify(document, null, 2),
      absoluteRef: 'openapi.json',
      config,
    })
    expect(found.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`)).toEqual([])
  })
  test('has exactly the routes of the contract and of the additions', () => {
    expect(operations.map(([name]) => name.replace('/partner/v1', '')).sort()).toEqual([
      'GET /availability',
      'GET /bookings',
      'GET /bookings/{id}',
      'GET /bookings/{id}/history',
      'GET /bookings/{id}/proof',
      'GET /calendar',
      'GET /changes',
      'GET /checkpoint',
      'GET /checkpoint/proof',
      'GET /fee-types',
      'GET /guests',
      'GET /guests/{id}',
      'GET /me',
      'GET /openapi.json',
      'GET /search',
      'GET /test/clock',
      'GET /units',
      'GET /units/{slug}',
      'POST /bookings',
      'POST /bookings/group',
      'POST /bookings/group/{groupId}/cancel',
      'POST /bookings/{id}/cancel',
      'POST /quote',
      'POST /test/clock',
      'POST /test/events',
    ])
  })
  test.each(operations)('%s has id, summary, security, and its error answers with examples', (name, operation) => {
    expect(operation.operationId).toMatch(/^[a-z]\w+$/i)
    expect(operation.summary.length).toBeGreaterThan(3)
    const isOpen = name.endsWith('openapi.json')
    expect(operation.security).toHaveLength(isOpen ? 0 : 1)
    if (isOpen) return
    for (const status of ['401', '403', '429', '500']) expect(operation.responses).toHaveProperty(status)
    for (const [status, response] of Object.entries<any>(operation.responses).filter(
      ([status]) => Number(status) >= 400,
    )) {
      for (const [code, example] of Object.entries<any>(response.content['application/json'].examples)) {
        expect(example.value.code).toBe(code)
        if (status !== '413') expect(String(PROBLEMS[code as keyof typeof PROBLEMS].status)).toBe(status)
      }
    }
  })
  test('every conditional read takes If-None-Match, answers with ETag, and can answer 304 without a body', () => {
    const conditional = operations.filter(([, { responses }]) => responses['304'] !== undefined)
    expect(conditional.map(([name]) => name.replace('/partner/v1', '')).sort()).toEqual([
      ...['GET /availability', 'GET /calendar', 'GET /fee-types', 'GET /units', 'GET /units/{slug}'],
    ])
    for (const [, { parameters, responses }] of conditional) {
      expect(JSON.stringify(parameters)).toContain('/IfNoneMatch')
      expect(Object.keys(responses['200'].headers)).toContain('ETag')
      expect(Object.keys(responses['304'].headers)).toContain('ETag')
      expect(responses['304'].content).toBeUndefined()
    }
  })
  test('a quote has an ETag, and creating a booking takes If-Match and can answer 412', () => {
    const of = (name: string) => operations.find(([each]) => each === name)?.[1]
    expect(Object.keys(of('POST /partner/v1/quote').responses['200'].headers)).toContain('ETag')
    const create = of('POST /partner/v1/bookings')
    expect(JSON.stringify(create.parameters)).toContain('/IfMatch')
    expect(create.responses['412'].content['application/json'].schema.$ref).toContain('QuoteChangedProblem')
    expect(JSON.stringify(of('POST /partner/v1/bookings/{id}/cancel').parameters)).not.toContain('/IfMatch')
  })
  test('every operation with a body can answer 413 VALIDATION, and names the limit in bytes', () => {
    const withBody = operations.filter(([, { requestBody }]) => requestBody !== undefined)
    expect(withBody.length).toBeGreaterThanOrEqual(3)
    for (const [, { responses }] of withBody) {
      expect(responses['413'].description).toContain('65536 bytes')
      const { VALIDATION } = responses['413'].content['application/json'].examples
      expect(VALIDATION.value).toMatchObject({ code: 'VALIDATION', title: 'body must be at most 65536 bytes' })
    }
  })
  test('every answer to a key may have X-Mode, and the events of a sandbox a mode', () => {
    for (const [name, { responses }] of operations.filter(([name]) => !name.endsWith('openapi.json')))
      for (const [status, { headers }] of Object.entries<any>(responses))
        expect([name, status, 'X-Mode' in headers]).toEqual([name, status, status !== '401'])
    for (const name of ['Change', 'UnitChange', 'BookingCreatedEvent', 'RatesUpdatedEvent']) {
      const { properties, required } = schemaOf(name)
      expect([name, properties.mode.const, required.includes('mode')]).toEqual([name, 'test', false])
    }
  })
  test('the changes take Last-Event-ID, and no other operation does', () => {
    const taking = operations.filter(([, { parameters }]) => JSON.stringify(parameters).includes('/LastEventId'))
    expect(taking.map(([name]) => name)).toEqual(['GET /partner/v1/changes'])
    expect(document.components.parameters.LastEventId).toMatchObject({ name: 'Last-Event-ID', in: 'header' })
  })
  test('the writes take an Idempotency-Key and may say that they are replayed; a test event, which changes no data, does neither', () => {
    const withKey = operations.filter(([, { parameters }]) => JSON.stringify(parameters).includes('/IdempotencyKey'))
    const replayed = operations.filter(([, { responses }]) =>
      JSON.stringify(responses).includes('/Idempotency-Replayed'),
    )
    const writes = ['', '/group', '/group/{groupId}/cancel', '/{id}/cancel'].map(
      (path) => `POST /partner/v1/bookings${path}`,
    )
    for (const found of [withKey, replayed])
      expect(found.map(([name]) => name).sort()).toEqual([...writes, 'POST /partner/v1/test/clock'])
  })
  test('operation ids are unique', () => {
    const ids = operations.map(([, { operationId }]) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
  })

  /** See docs/contract.md#limits, and the constraints of the field tables. */
  const LIMITS: [what: string, schema: () => unknown, limits: object][] = [
    [
      'pageSize',
      () => queryOf('GET /partner/v1/bookings').pageSize,
      { type: 'integer', minimum: 1, maximum: 200, default: 100 },
    ],
    ['limit', () => queryOf('GET /partner/v1/bookings').limit, { type: 'integer', minimum: 1, maximum: 200 }],
    ['page', () => queryOf('GET /partner/v1/guests').page, { type: 'integer', minimum: 1, default: 1 }],
    ['from of the list', () => queryOf('GET /partner/v1/bookings').from, { format: 'date', required: false }],
    ['from of the range', () => queryOf('GET /partner/v1/availability').from, { format: 'date', required: true }],
    ['unit', () => bodyOf('POST /partner/v1/bookings').unit, { type: 'string', minLength: 1 }],
    ['arrival', () => bodyOf('POST /partner/v1/quote').arrival, { type: 'string', format: 'date' }],
    [
      'status',
      () => bodyOf('POST /partner/v1/bookings').status,
      { enum: ['draft', 'option', 'confirmed'], default: 'confirmed' },
    ],
    [
      'adults',
      () => bodyOf('POST /partner/v1/bookings').adults,
      { type: 'integer', minimum: 1, maximum: 20, default: 2 },
    ],
    [
      'children',
      () => bodyOf('POST /partner/v1/bookings').children,
      { type: 'integer', minimum: 0, maximum: 10, default: 0 },
    ],
    ['extraBed', () => bodyOf('POST /partner/v1/bookings').extraBed, { type: 'boolean', default: false }],
    ['sourceRef', () => bodyOf('POST /partner/v1/bookings').sourceRef.anyOf, [{ maxLength: 120 }, { type: 'null' }]],
    ['notes', () => bodyOf('POST /partner/v1/bookings').notes.anyOf, [{ maxLength: 2_000 }, { type: 'null' }]],
    [
      'holdHours',
      () => bodyOf('POST /partner/v1/bookings').holdHours.anyOf,
      [{ minimum: 1, maximum: 2_160 }, { type: 'null' }],
    ],
    [
      'guest',
      () => bodyOf('POST /partner/v1/bookings').guest.anyOf[0],
      {
        required: ['firstName', 'lastName'],
        properties: {
          firstName: { maxLength: 80 },
          lastName: { maxLength: 80 },
          email: { anyOf: [{ format: 'email' }, { type: 'null' }] },
          phone: { anyOf: [{ maxLength: 60 }, { type: 'null' }] },
          nationality: { anyOf: [{ maxLength: 60 }, { type: 'null' }] },
        },
      },
    ],
    [
      'cancel reason',
      () => bodyOf('POST /partner/v1/bookings/{id}/cancel').reason.anyOf,
      [{ maxLength: 255 }, { type: 'null' }],
    ],
    [
      'blockedNights',
      () =>
        operations.find(([name]) => name.includes('availability'))?.[1].responses['200'].content['application/json']
          .schema.properties.blockedNights,
      { maxItems: 366 },
    ],
    [
      'prices',
      () => schemaOf('UnitCalendar').properties,
      { prices: { maxItems: 366 }, minStay: { maxItems: 366, items: { minimum: 1 } } },
    ],
    ['prices=', () => queryOf('GET /partner/v1/calendar').prices, { enum: ['true', 'false'], default: 'false' }],
    ['units=', () => queryOf('GET /partner/v1/calendar').units, { type: 'string', minLength: 1, required: false }],
    [
      'a search',
      () => queryOf('GET /partner/v1/search'),
      {
        arrival: { format: 'date', required: false },
        from: { format: 'date', required: false },
        nights: { type: 'integer', minimum: 1, maximum: 60, required: false },
        adults: { type: 'integer', minimum: 1, maximum: 20, default: 2 },
        children: { type: 'integer', minimum: 0, maximum: 10, default: 0 },
        extraBed: { enum: ['true', 'false'], default: 'false' },
        each: { enum: ['unit', 'stay'], default: 'unit' },
        sort: { enum: ['total', '-total', 'arrival', 'name'], default: 'total' },
        pageSize: { minimum: 1, maximum: 200, default: 100 },
      },
    ],
    [
      'a unit',
      () => schemaOf('Unit'),
      {
        properties: { registrationNumber: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
        required: expect.arrayContaining(['registrationNumber']),
      },
    ],
    ['stays', () => schemaOf('GuestWithStays').properties.stays, { maxItems: 100 }],
  ]
  test.each(LIMITS)('has the limits of %s as constraints', (_, schema, limits) => {
    expect(schema()).toMatchObject(limits as Record<string, unknown>)
  })

  test('has the events under webhooks, with the envelope of the contract', () => {
    expect(Object.keys(document.webhooks).sort()).toEqual(
      ['booking.cancelled', 'booking.created', 'booking.updated', 'rates.updated', 'unit.updated'].sort(),
    )
    expect(Object.keys(schemaOf('UnitEventData').properties)).toEqual(['unitId', 'unitSlug', 'version', 'from', 'to'])
    expect(schemaOf('BookingCreatedEvent').required).toEqual(
      expect.arrayContaining(['id', 'event', 'occurredAt', 'data']),
    )
    expect(Object.keys(schemaOf('BookingEventData').properties)).toEqual(
      expect.arrayContaining(
        'id unitSlug unitName type status source sourceRef arrival departure nights adults children totalAmount currency'.split(
          ' ',
        ),
      ),
    )
  })
  test('every reference leads somewhere, and nothing of another surface is in it', () => {
    for (const [, reference] of text.matchAll(/"\$ref":"#\/([^"]+)"/g))
      expect({
        reference,
        found: reference?.split('/').reduce((at: any, part) => at?.[part], document) !== undefined,
      }).toEqual({ reference, found: true })
    expect(text).not.toContain('/portal/')
    expect(text).not.toContain('$id')
  })
})
/* biome-ignore-end lint/suspicious/noExplicitAny: see above */
