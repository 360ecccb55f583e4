import { expect, test } from 'bun:test'
import type { Log } from '../../src/app/log.ts'
import { openTracer } from '../../src/app/open-tracer.ts'

test('a collector that cannot be reached is logged without its URL, whose path may be a key', async () => {
  const logged: unknown[] = []
  const log = { warn: (...line: unknown[]) => logged.push(line) } as unknown as Log
  const url = 'http://127.0.0.1:1/hunter2/v1/traces'
  const tracer = openTracer({ url, headers: {}, serviceName: 'nightledger', ratio: 1 }, { instance: 'here 1', log })
  tracer.start('request', null).end()
  await tracer.stop(5_000)
  expect(logged).toEqual([[{ reason: expect.stringContaining('connect') }, expect.stringContaining('not accepted')]])
  expect(Bun.inspect(logged) + JSON.stringify(logged)).not.toContain('hunter2')
})
