import { describe, expect, test } from 'bun:test'
import { MisplacedConnections } from '../../../src/cluster/forward/misplaced-connections.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'

const IN_A_ROW = 16
const everyRequest = () => 0

/** How many requests a connection carries until it is to be closed; null: 1,000 do not close it. */
function untilClosed(
  shardOf: (request: number) => number,
  connections = new MisplacedConnections(everyRequest),
): number | null {
  for (let request = 1; request <= 1_000; request++)
    if (connections.forwarded(() => '127.0.0.1 50000', shardOf(request))) return request
  return null
}

describe('a connection', () => {
  test('whose last 16 requests were all of one agency of another worker is to be closed, and the next one from its port is counted from the start', () => {
    const connections = new MisplacedConnections(everyRequest)
    expect(untilClosed(() => 7, connections)).toBe(IN_A_ROW)
    expect(untilClosed(() => 7, connections)).toBe(IN_A_ROW)
    expect(untilClosed((request) => (request <= 10 ? request : 7))).toBe(10 + IN_A_ROW)
  })

  test('with requests of several agencies stays', () => {
    expect(untilClosed((request) => request % 2)).toBeNull()
    expect(untilClosed((request) => (request % IN_A_ROW === 0 ? 8 : 7))).toBeNull()
  })

  test('is counted by itself; what another process has passed on has none', () => {
    const connections = new MisplacedConnections(everyRequest)
    const forwarded = (connection: string | null) => connections.forwarded(() => connection, 7)
    for (let request = 1; request < IN_A_ROW; request++)
      for (const connection of ['a', 'b', null]) expect(forwarded(connection)).toBe(false)
    expect([forwarded('b'), forwarded('a'), forwarded(null)]).toEqual([true, true, false])
  })

  test('is forgotten once 10,000 are remembered', () => {
    const connections = new MisplacedConnections(everyRequest)
    for (let request = 1; request < IN_A_ROW; request++) connections.forwarded(() => 'first', 7)
    for (let other = 1; other <= 10_000; other++) connections.forwarded(() => `${other}`, 7)
    expect(connections.forwarded(() => 'first', 7)).toBe(false)
  })

  test('is asked for with one request of four, by chance', () => {
    let asked = 0
    const random = new SeededRandom(1)
    const connections = new MisplacedConnections(() => random.next())
    const connectionOf = () => String(asked++)
    for (let request = 1; request <= 4_000; request++) connections.forwarded(connectionOf, 7)
    expect(asked).toBeWithin(900, 1_100)
  })
})
