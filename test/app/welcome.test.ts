import { describe, expect, test } from 'bun:test'
import { welcome } from '../../src/app/welcome.ts'

const DEMO = {
  keyFile: '/data/demo-api-key',
  sandboxKeyFile: '/data/sandbox-api-key',
  tokenFiles: [
    { role: 'viewer', path: '/data/demo-viewer-token' },
    { role: 'owner', path: '/data/my demo/owner-token' },
  ],
  made: true,
} as const
const INPUT = {
  port: 3000,
  adminUrl: null,
  demo: DEMO,
  signInLink: null,
  portalTokenFile: '/data/portal-token',
  now: new Date('2027-01-01T00:00:00Z'),
} as const

const firstLines = (input: Partial<Parameters<typeof welcome>[0]>) =>
  welcome({ ...INPUT, ...input })
    .split('\n')
    .slice(1, 4)

describe('the first that is said after the start is', () => {
  test("a link that signs in as the demo's owner", () => {
    const signInLink = 'http://localhost:3000/portal/#/join/hl_x'
    expect(firstLines({ signInLink })).toEqual([
      "Open this link to sign in as the demo's owner. It works once, within a day; each start prints another:",
      `  ${signInLink}`,
      '',
    ])
  })
  test("the page and the demo owner's token where there is no link", () => {
    expect(firstLines({})).toEqual([
      'Open http://127.0.0.1:3000/portal/ and sign in with the token that this prints:',
      "  cat '/data/my demo/owner-token'",
      '',
    ])
  })
  test("the operator's token when there is no demo", () => {
    expect(firstLines({ demo: null })[1]).toBe('  cat /data/portal-token')
  })
  test('the page alone when the operator is served elsewhere', () => {
    expect(firstLines({ demo: null, adminUrl: 'http://127.0.0.1:4000' })[0]).toBe('Open http://127.0.0.1:3000/portal/')
  })
})

describe('what to try', () => {
  const texts = (demo: Parameters<typeof welcome>[0]['demo']) => welcome({ ...INPUT, demo }).split('\n')
  test('is a quote and a booking in the sandbox, with its key', () => {
    const [units = '', quote = '', booking = ''] = texts(DEMO).slice(-4)
    for (const line of [units, quote, booking]) expect(line).toContain('cat /data/sandbox-api-key')
    expect([quote, booking].map((line) => line.split('/').at(-1))).toEqual(['quote', 'bookings'])
  })
  test('is with the demo key where the sandbox is gone', () => {
    expect(texts({ ...DEMO, sandboxKeyFile: null }).at(-2)).toContain('cat /data/demo-api-key')
  })
})
