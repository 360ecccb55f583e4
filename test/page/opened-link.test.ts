import { afterAll, beforeAll, expect, test } from 'bun:test'

const browser: { hash: string; changed: () => void } = { hash: '', changed: () => {} }
const { location, history, addEventListener } = globalThis as Record<string, unknown>
// Not the module's own type: it would bring a browser's types to all tests.
let openedLink: { readonly value: readonly string[] | null }

beforeAll(async () => {
  Object.assign(globalThis, {
    location: browser,
    history: {
      replaceState: (_state: unknown, _title: string, hash: string) => {
        browser.hash = hash
      },
    },
    addEventListener: (_type: string, listener: () => void) => {
      browser.changed = listener
    },
  })
  const path: string = '../../src/page/sign-in/opened-link.ts'
  openedLink = (await import(path)).openedLink
})

afterAll(() => {
  Object.assign(globalThis, { location, history, addEventListener })
})

function opened(hash: string): readonly string[] | null {
  browser.hash = hash
  browser.changed()
  expect(browser.hash).toBe('#/')
  return openedLink.value
}

test('the page asks only about what may be links, and about 20 at most, whatever somebody has put into its address', () => {
  const links = Array.from({ length: 25 }, (_, n) => `h${n % 2 ? 'l' : 'b'}_${String(n).padStart(72, 'x')}`)
  expect(opened(`#/join/${links[0]}`)).toEqual(links.slice(0, 1))
  expect(opened(`#/choose/${links.join('.')}`)).toEqual(links.slice(0, 20))
  expect(opened(`#/choose/x.${links[0]}.${links[1]}y..%2F`)).toEqual(links.slice(0, 1))
  for (const hash of ['#/join/x', '#/choose/..', `#/join/hx_${'x'.repeat(72)}`]) expect(opened(hash)).toEqual([])
})
