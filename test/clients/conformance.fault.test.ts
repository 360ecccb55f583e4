/** Every case of clients/conformance, with each client: the same over the wire, the same for the caller. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { CASES, type Case, KEY, type Played } from './support/conformance-cases.ts'
import { DriverProcess, PYTHON_MISSING } from './support/driver-process.ts'
import { playTypescript } from './support/play-typescript.ts'
import { type Received, ScriptedServer } from './support/scripted-server.ts'

let server: ScriptedServer
let python: DriverProcess
let node: DriverProcess
beforeAll(async () => {
  server = await ScriptedServer.start()
  node = await DriverProcess.node()
  if (!PYTHON_MISSING) python = DriverProcess.python()
})
afterAll(async () => {
  server.stop()
  await python?.stop()
  await node?.stop()
})

describe.each(CASES)('$name', (each) => {
  test('TypeScript', async () => {
    server.begin(each.wire.map(({ answer }) => answer))
    expectAs(each, await playTypescript(server.url, each, KEY), server.received)
  })
  test('TypeScript in Node', async () => {
    server.begin(each.wire.map(({ answer }) => answer))
    expectAs(each, await node.play(server.url, 'node', each), server.received)
  })
  test.skipIf(PYTHON_MISSING).each(['sync', 'async'] as const)('Python, %s', async (mode) => {
    server.begin(each.wire.map(({ answer }) => answer))
    const played = await python.play(server.url, mode, each)
    expectAs(each, played, server.received)
    expect(played.shown).not.toContain(KEY)
  })
})

function expectAs(each: Case, played: Played, received: readonly Received[]): void {
  const names = new Map<string, string>()
  expect(received.map(({ method, path }) => `${method} ${sorted(path)}`)).toEqual(
    each.wire.map(({ expect: { method = 'GET', path } }) => `${method} /partner/v1${sorted(path)}`),
  )
  for (const [i, { expect: expected }] of each.wire.entries()) {
    const headers = received[i]?.headers ?? {}
    expect(headers['authorization']).toBe(`Bearer ${KEY}`)
    for (const [name, value] of Object.entries(expected.headers ?? {}))
      if (value === null) expect(headers[name]).toBeUndefined()
      else expect(headers[name]).toBe(bound(value, headers[name] ?? '', names))
    if (expected.body !== undefined) expect(received[i]?.body).toEqual(expected.body)
  }
  expect(new Set(names.values()).size).toBe(names.size)
  for (const [i, { result, error }] of each.steps.entries()) {
    const outcome = played.outcomes[i]
    if (outcome === undefined) throw new Error(`Step ${i} was not played`)
    if (error === undefined) {
      expect(outcome).toEqual({ result })
      continue
    }
    if (!('error' in outcome)) throw new Error(`Step ${i} returned ${JSON.stringify(outcome.result)}`)
    const members = Object.entries(error.members ?? {}).map(([name, value]) => [
      name,
      typeof value === 'string' ? bound(value, '', names) : value,
    ])
    expect({ class: outcome.error.class, members: outcome.error.members }).toEqual({
      class: error.class,
      members: Object.fromEntries(members),
    })
    expect(outcome.error.text).not.toContain(KEY)
  }
  expect(played.pauses).toEqual([...(each.pauses ?? [])])
  expect(played.resets).toEqual([...(each.resets ?? [])])
  if (each.checkpoints !== undefined) expect(played.checkpoints).toEqual([...each.checkpoints])
}

/** The order of the parameters says nothing. */
function sorted(path: string): string {
  const [place = '', query = ''] = path.split('?')
  return `${place}?${query.split('&').sort().join('&')}`
}

/** `$name` stands for the value that it stood for first. */
function bound(value: string, received: string, names: Map<string, string>): string {
  if (!value.startsWith('$')) return value
  if (!names.has(value) && received !== '') names.set(value, received)
  return names.get(value) ?? value
}
