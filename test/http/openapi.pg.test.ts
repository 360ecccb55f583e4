import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { type PartnerService, startPartnerService } from '../support/partner-service.ts'

let service: PartnerService
// biome-ignore lint/suspicious/noExplicitAny: a document of any shape
let document: any
beforeAll(async () => {
  service = await startPartnerService()
  document = (await service.call('/openapi.json')).body
})
afterAll(() => service.close())

describe('the OpenAPI document', () => {
  test('is readable without a key, and is 3.1', async () => {
    const answer = await service.call('/openapi.json')
    expect(answer.status).toBe(200)
    expect(answer.body.openapi).toMatch(/^3\.1\./)
    expect(answer.headers.get('x-request-id')).toBeTruthy()
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
})
