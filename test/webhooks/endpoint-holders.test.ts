import { expect, test } from 'bun:test'
import { EndpointHolders } from '../../src/webhooks/endpoint-holders.ts'

test('every agency may have an endpoint until the stored endpoints are loaded', () => {
  const holders = new EndpointHolders()
  expect(holders.mayHave('agc_a')).toBe(true)
  holders.load(['agc_b'])
  expect(holders.mayHave('agc_a')).toBe(false)
  expect(holders.mayHave('agc_b')).toBe(true)
})

test('an agency that registers during loading is not forgotten', () => {
  const holders = new EndpointHolders()
  holders.add('agc_a')
  holders.load([])
  expect(holders.mayHave('agc_a')).toBe(true)
})
