/** Requests of many agencies through one address: a closed loop, in this process. */
import type { LoadAgency } from '../../test/support/cluster/agencies.ts'
import { eventually } from '../../test/support/eventually.ts'
import { SALES_PER_UNIT, saleOf } from '../world/world.ts'
import { HttpConnection, type Planned } from './http-client.ts'

/**
 * - `alike`: every connection asks for one agency after the other, so all agencies get equally many answers, and a node that owns more of
 *   them than the others limits the whole.
 * - `each`: every connection asks for an agency of its own alone, as partners do: an agency whose node has time gets more answers. With
 *   fewer connections than agencies, the last agencies are not asked for.
 */
export type Shape = 'alike' | 'each'

export class AgencyLoad {
  /** Answers since the start, by agency. */
  readonly answered: number[]
  readonly #requests: AgencyRequests
  readonly #connections: HttpConnection[] = []
  #inFlight = 0
  #isOver = false
  #fault: string | null = null

  private constructor(requests: AgencyRequests) {
    this.answered = Array.from({ length: requests.agencies }, () => 0)
    this.#requests = requests
  }

  /** @param connections at most as many as there are agencies */
  static async start(
    url: string,
    requests: AgencyRequests,
    { shape, connections }: { shape: Shape; connections: number },
  ): Promise<AgencyLoad> {
    const load = new AgencyLoad(requests)
    await load.#open(new URL(url), shape, connections)
    return load
  }

  get total(): number {
    return this.answered.reduce((sum, count) => sum + count, 0)
  }

  /** @throws Error when an answer was not the wanted one */
  async untilEachHas(answers: number): Promise<void> {
    await eventually(`every agency has had ${answers} answers`, async () => {
      await Bun.sleep(50)
      return this.#fault !== null || this.answered.every((count) => count >= answers)
    })
    this.#check()
  }

  /** Returns when every request has its answer. @throws Error when one was not the wanted one */
  async stop(): Promise<void> {
    this.#isOver = true
    await eventually('what was asked is answered', () => this.#inFlight === 0 || this.#fault !== null)
    for (const connection of this.#connections) connection.close()
    this.#check()
  }

  async #open({ hostname, port }: URL, shape: Shape, connections: number): Promise<void> {
    let turn = 0
    const opened = Array.from({ length: connections }, (_, own) => {
      let agency = own
      const run = {
        next: () => {
          if (this.#isOver) return null
          if (shape === 'alike') agency = turn++ % this.answered.length
          this.#inFlight += 1
          return this.#requests.next(agency)
        },
        answered: () => {
          this.#inFlight -= 1
          this.answered[agency] = (this.answered[agency] as number) + 1
        },
        failed: (why: string) => {
          this.#fault ??= why
        },
      }
      return HttpConnection.open(Number(port), run, hostname)
    })
    this.#connections.push(...(await Promise.all(opened)))
    for (const connection of this.#connections) connection.send()
  }

  #check(): void {
    if (this.#fault !== null) throw new Error(`Cannot measure: ${this.#fault}`)
  }
}

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
 * twice. A unit has nights for thousands of them.
 */
export function bookingsOf(agencies: readonly LoadAgency[], units: number): AgencyRequests {
  const next = inTurn(agencies)
  return {
    agencies: agencies.length,
    next: (agency) => {
      const n = next(agency)
      const sale = Math.floor(n / units)
      if (sale >= SALES_PER_UNIT) throw new Error('Cannot sell: every night is sold')
      const body = { unit: `unit-${n % units}`, ...saleOf(sale), adults: 2, sourceRef: `B-${agency}-${n}` }
      return booking((agencies[agency] as LoadAgency).secret, body)
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

function booking(secret: string, body: object): Planned {
  const text = JSON.stringify(body)
  const head = `POST /partner/v1/bookings HTTP/1.1\r\n${commonOf(secret)}Content-Type: application/json\r\n`
  return { bytes: Buffer.from(`${head}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`), status: 201 }
}

function commonOf(secret: string): string {
  return `Host: bench\r\nAuthorization: Bearer ${secret}\r\n`
}
