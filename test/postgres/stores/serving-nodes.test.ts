import { expect, test } from 'bun:test'
import type { Writer } from '../../../src/postgres/stores/postgres-writers.ts'
import { SILENT_MS, servingNodes } from '../../../src/postgres/stores/postgres-writers.ts'

const writer = (node: string | null, change: Partial<Writer> = {}): Writer => ({
  writerId: `writer of ${node}`,
  name: 'host 1',
  run: null,
  node,
  shards: 1,
  beatAt: 0,
  silentMs: 0,
  isDraining: false,
  isReleased: false,
  ...change,
})

test('the nodes that serve are in order, without those that have released their shards or are silent, and without a process that is no node or has workers', async () => {
  const list = async () => [
    writer('c', { isDraining: true }),
    writer('released', { isReleased: true }),
    writer('silent', { silentMs: SILENT_MS }),
    writer('a', { silentMs: SILENT_MS - 1 }),
    writer(null),
    writer('019f0000-0000-7000-8000-000000000000/1'),
  ]
  expect(await servingNodes({ list })).toEqual(['a', 'c'])
})
