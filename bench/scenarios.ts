/** The scenarios: which servers are compared under which load. */
import type { Kind } from './load/requests.ts'

/** `floor-body` reads the request's body, `floor` nothing of it. */
export type Server = 'floor' | 'floor-body' | 'peer' | 'nightledger'

/** One side of a comparison. */
export interface Arm {
  readonly name: string
  readonly server: Server
  readonly kind: Kind
  /** Units that the load is spread over; all when left out. */
  readonly units?: number
  /** Load at the same time from a generator of its own, not counted. */
  readonly beside?: { readonly kind: Kind; readonly connections: number }
}

export interface Scenario {
  readonly name: string
  readonly title: string
  readonly connections: readonly number[]
  readonly arms: readonly Arm[]
  /** Every agency of the service gets a webhook endpoint before it begins, and keeps it: such a scenario comes last. */
  readonly hasEndpoints?: boolean
  /** Runs with `--quick` too, at these connections only. */
  readonly quick?: readonly number[]
}

export const SCENARIOS: readonly Scenario[] = [
  all('availability-31', 'Availability, 31 nights', [1, 32, 256], [32]),
  all('availability-366', 'Availability, 366 nights', [32]),
  quote(),
  all('units', 'Unit list, 20 units', [32]),
  againstPeer('create', 'Create a booking', [1, 32, 64, 256], [1, 64, 256]),
  againstPeer('create-cancel', 'Create and cancel', [64]),
  againstPeer('contended', 'Create, all on 10 units', [64]),
  againstPeer('booking', 'Booking by id', [32]),
  againstPeer('bookings-page-1', 'Bookings, page 1 of 10,000', [32]),
  againstPeer('bookings-page-50', 'Bookings, page 50 of 10,000', [32]),
  againstPeer('guest-search', 'Guest search in 10,000', [32]),
  againstPeer('mix', 'Mix: 90 reads, 9 quotes, 1 booking', [32, 256], [32]),
  {
    name: 'mcp',
    title: 'MCP tools/call beside REST',
    connections: [32],
    arms: [
      { name: 'REST', server: 'nightledger', kind: 'availability-31' },
      { name: 'MCP', server: 'nightledger', kind: 'mcp' },
    ],
  },
  {
    name: 'beside-writers',
    title: 'Availability beside 64 writing clients',
    connections: [32],
    quick: [32],
    arms: [
      { name: 'alone', server: 'nightledger', kind: 'availability-31' },
      { name: 'beside', server: 'nightledger', kind: 'availability-31', beside: { kind: 'create', connections: 64 } },
    ],
  },
  {
    name: 'resident-units',
    title: 'Availability over 20 units and over all',
    connections: [32],
    arms: [
      { name: '20 units', server: 'nightledger', kind: 'availability-31', units: 20 },
      { name: 'all units', server: 'nightledger', kind: 'availability-31' },
    ],
  },
  {
    ...againstPeer('create', 'Create, an endpoint per agency', [64]),
    name: 'create-with-endpoints',
    hasEndpoints: true,
  },
]

/** The only read with a body, so it has a floor of its own. */
function quote(): Scenario {
  const scenario = all('quote', 'Quote', [1, 32, 256], [32])
  const [floor, ...others] = scenario.arms
  const floorBody = { name: 'floor-body', server: 'floor-body', kind: 'quote' } as const
  return { ...scenario, arms: [...(floor === undefined ? [] : [floor]), floorBody, ...others] }
}

function all(kind: Kind, title: string, connections: readonly number[], quick?: readonly number[]): Scenario {
  const { arms } = againstPeer(kind, title, connections)
  const floor = { name: 'floor', server: 'floor', kind } as const
  return { name: kind, title, connections, arms: [floor, ...arms], ...(quick === undefined ? {} : { quick }) }
}

function againstPeer(kind: Kind, title: string, connections: readonly number[], quick?: readonly number[]): Scenario {
  const arms = [
    { name: 'peer', server: 'peer', kind },
    { name: 'nightledger', server: 'nightledger', kind },
  ] as const
  return { name: kind, title, connections, arms, ...(quick === undefined ? {} : { quick }) }
}
