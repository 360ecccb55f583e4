import { expect, test } from 'bun:test'
import { EndpointHolders } from '../../src/webhooks/endpoint-holders.ts'

test('until the stored endpoints are read, every agency may have one', () => {
  const holders = new EndpointHolders()
  expect(holders.mayHave('agc_a')).toBe(true)
  holders.load(['agc_b'])
  expect(holders.mayHave('agc_a')).toBe(false)
  expect(holders.mayHave('agc_b')).toBe(true)
})

test('one that registers while they are read is not forgotten', () => {
  const holders = new EndpointHolders()
  holders.add('agc_a')
  holders.load([])
  expect(holders.mayHave('agc_a')).toBe(true)
})
