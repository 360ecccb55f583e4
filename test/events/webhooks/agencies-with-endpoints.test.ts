import { expect, test } from 'bun:test'
import { AgenciesWithEndpoints } from '../../../src/events/webhooks/woken-agencies.ts'

test('every agency may have an endpoint until the stored endpoints are loaded', () => {
  const agencies = new AgenciesWithEndpoints()
  expect(agencies.mayInclude('agc_a')).toBe(true)
  agencies.load(['agc_b'])
  expect(agencies.mayInclude('agc_a')).toBe(false)
  expect(agencies.mayInclude('agc_b')).toBe(true)
})

test('an agency that registers during loading is not forgotten', () => {
  const agencies = new AgenciesWithEndpoints()
  agencies.add('agc_a')
  agencies.load([])
  expect(agencies.mayInclude('agc_a')).toBe(true)
})
