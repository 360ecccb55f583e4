/** What the agencies of a cluster's load ask for. */
import type { LoadAgency } from '../../test/support/cluster/agencies.ts'
import { SALES_PER_UNIT, saleOf } from '../world/world.ts'
import type { Planned } from './http-client.ts'

export interface AgencyRequests {
  /** How many. */
  readonly agencies: number
  /** The next request of the agency with this index. */
  next(agency: number): Planned
}

/** Availability of a month, of one unit after the other. */
export function readsOf(agencies: readonly LoadAgency[], units: number): AgencyRequests {
  const requests = agencies.map(({ secret }) => Array.from({ length: units }, (_, unit) => read(secret, unit)))
  const next = inTurn(agencies)
  return {
    agencies: agencies.length,
    next: (agency) => requests[agency]?.[next(agency) % units] as Planned,
  }
}

/**
 * Stays of two nights in one unit after the other, each later than all before it: one source serves a whole run and never asks for a night
 * twice. A unit has nights for thousands of them. With a key, they are in the second half of these nights.
 */
export function bookingsOf(
  agencies: readonly LoadAgency[],
  units: number,
  { isKeyed = false }: { isKeyed?: boolean } = {},
): AgencyRequests {
  const next = inTurn(agencies)
  const half = Math.floor(SALES_PER_UNIT / 2)
  return {
    agencies: agencies.length,
    next: (agency) => {
      const n = next(agency)
      const sale = Math.floor(n / units)
      if (sale >= half) throw new Error('Cannot sell: every night is sold')
      const sourceRef = `${isKeyed ? 'K' : 'B'}-${agency}-${n}`
      const body = { unit: `unit-${n % units}`, ...saleOf(isKeyed ? sale + half : sale), adults: 2, sourceRef }
      return booking((agencies[agency] as LoadAgency).secret, body, isKeyed ? `Idempotency-Key: ${sourceRef}\r\n` : '')
    },
  }
}

/** By agency, how often it was asked before. */
function inTurn(agencies: readonly LoadAgency[]): (agency: number) => number {
  const counts = agencies.map(() => 0)
  return (agency) => {
    const count = counts[agency] as number
    counts[agency] = count + 1
    return count
  }
}

function read(secret: string, unit: number): Planned {
  const path = `/partner/v1/availability?unit=unit-${unit}&from=2027-03-01&to=2027-04-01`
  return { bytes: Buffer.from(`GET ${path} HTTP/1.1\r\n${commonOf(secret)}\r\n`), status: 200 }
}

function booking(secret: string, body: object, more: string): Planned {
  const text = JSON.stringify(body)
  const head = `POST /partner/v1/bookings HTTP/1.1\r\n${commonOf(secret)}${more}Content-Type: application/json\r\n`
  return { bytes: Buffer.from(`${head}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`), status: 201 }
}

function commonOf(secret: string): string {
  return `Host: bench\r\nAuthorization: Bearer ${secret}\r\n`
}
