import { describe, expect, test } from 'bun:test'
import { MisplacedConnections } from '../../../src/cluster/forward/misplaced-connections.ts'

const IN_A_ROW = 32

/** How many requests a connection carries until it is to be closed; null: 1,000 do not close it. */
function untilClosed(shardOf: (request: number) => number, connections = new MisplacedConnections()): number | null {
  for (let request = 1; request <= 1_000; request++)
    if (connections.forwarded('127.0.0.1 50000', shardOf(request))) return request
  return null
}

describe('a connection', () => {
  test('whose last 32 requests were all of one agency of another worker is to be closed, and the next one from its port is counted from the start', () => {
    const connections = new MisplacedConnections()
    expect(untilClosed(() => 7, connections)).toBe(IN_A_ROW)
    expect(untilClosed(() => 7, connections)).toBe(IN_A_ROW)
    expect(untilClosed((request) => (request <= 10 ? request : 7))).toBe(10 + IN_A_ROW)
  })

  test('with requests of several agencies stays', () => {
    expect(untilClosed((request) => request % 2)).toBeNull()
    expect(untilClosed((request) => (request % IN_A_ROW === 0 ? 8 : 7))).toBeNull()
  })

  test('is counted by itself; what another process has passed on has none', () => {
    const connections = new MisplacedConnections()
    for (let request = 1; request < IN_A_ROW; request++)
      for (const connection of ['a', 'b', null]) expect(connections.forwarded(connection, 7)).toBe(false)
    expect(connections.forwarded('b', 7)).toBe(true)
    expect(connections.forwarded('a', 7)).toBe(true)
    expect(connections.forwarded(null, 7)).toBe(false)
  })

  test('is forgotten once 10,000 are remembered', () => {
    const connections = new MisplacedConnections()
    for (let request = 1; request < IN_A_ROW; request++) connections.forwarded('first', 7)
    for (let other = 1; other <= 10_000; other++) connections.forwarded(`${other}`, 7)
    expect(connections.forwarded('first', 7)).toBe(false)
  })
})
