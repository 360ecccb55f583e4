import { afterAll, beforeAll, expect, test } from 'bun:test'

// The browser's own parts, with the moment of `hashchange` in the test's hands: a browser sends it some time after the address changed.
const browser: { hash: string; changed: () => void } = { hash: '#/calendar?from=2028-08-05', changed: () => {} }
const { location, history, addEventListener } = globalThis as Record<string, unknown>
// Not the module's own type: it would bring a browser's types to all tests.
let router: { setQuery(change: Record<string, string>, options: { replace: boolean }): void }

beforeAll(async () => {
  Object.assign(globalThis, {
    location: browser,
    history: { state: null, replaceState: write, pushState: write },
    addEventListener: (_type: string, listener: () => void) => {
      browser.changed = listener
    },
  })
  const path: string = '../../src/page/route/router.ts'
  router = await import(path)
})

afterAll(() => {
  Object.assign(globalThis, { location, history, addEventListener })
})

function write(_state: unknown, _title: string, hash: string): void {
  browser.hash = hash
}

test('what is scrolled replaces the address of where one is, not of where one is going', () => {
  router.setQuery({ from: '2026-11-26' }, { replace: true })
  expect(browser.hash).toBe('#/calendar?from=2026-11-26')
  // Back: the browser has the address already, the page hears of it later.
  browser.hash = '#/calendar?from=2028-08-05'
  router.setQuery({ from: '2026-11-27' }, { replace: true })
  expect(browser.hash).toBe('#/calendar?from=2028-08-05')
  browser.changed()
  router.setQuery({ unit: 'alfama-loft' }, { replace: true })
  expect(browser.hash).toBe('#/calendar?from=2028-08-05&unit=alfama-loft')
})
