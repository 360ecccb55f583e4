import { addNights, formatNight } from '../../../src/core/domain/night.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import { send } from '../http-call.ts'
import { keepAliveClient, noOutcomes } from '../keep-alive-client.ts'
import { AMPLE_PLAN, night } from '../samples.ts'
import { makeAgencyByPortal } from '../service-process.ts'

const UNITS = 12
const FIRST = night('2027-01-01')
const NIGHTS = 20_000
const dice = new SeededRandom(1)

/** An agency with some units, made through the portal. @returns a key that books */
export async function agencyOf(
  origin: string,
  { portalToken: token, slug = 'harbour', units = UNITS }: { portalToken: string; slug?: string; units?: number },
): Promise<string> {
  const portal = (path: string, json?: object) => send(`${origin}/portal/v1${path}`, { token, ...(json && { json }) })
  const scopes = ['write:bookings', 'read:availability', 'read:bookings', 'read:units']
  const key = await makeAgencyByPortal({ portal }, { slug, scopes, plan: AMPLE_PLAN, unit: { slug: 'unit-0' } })
  for (let unit = 1; unit < units; unit++)
    await portal(`/agencies/${slug}/units`, { slug: `unit-${unit}`, name: `Unit ${unit}`, basePrice: 10_000 })
  return key
}

interface Requests {
  readonly host?: string
  readonly port: number
  readonly key: string
  /** At most so many, all clients together. */
  readonly count: number
}

/** Bookings, and half as many reads, of forty partners at once. Ends early when connections are refused, and with `stop`. */
export function startRequests({ host = '127.0.0.1', port, key, count }: Requests) {
  const outcomes = noOutcomes()
  let sent = 0
  let isStopping = false
  const nextRequest = () => requestText(key, sent++)
  const client = () =>
    keepAliveClient({ host, port, nextRequest, isOver: () => isStopping || sent >= count, thinkMs: 20, outcomes })
  const ended = Promise.all(Array.from({ length: 40 }, client)).then(() => outcomes)
  const stop = () => {
    isStopping = true
    return ended
  }
  return { ended, stop, answered: () => [...outcomes.statuses.values()].reduce((sum, each) => sum + each, 0) }
}

function requestText(key: string, index: number): string {
  const arrival = addNights(FIRST, dice.int(0, NIGHTS - 1))
  const stay = {
    unit: `unit-${dice.int(0, UNITS - 1)}`,
    arrival: formatNight(arrival),
    departure: formatNight(addNights(arrival, dice.int(1, 4))),
  }
  const head = (line: string) => `${line} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer ${key}\r\n`
  if (index % 3 === 0)
    return `${head(`GET /partner/v1/availability?unit=${stay.unit}&from=${stay.arrival}&to=${stay.departure}`)}\r\n`
  const body = JSON.stringify(stay)
  const fields = `Content-Type: application/json\r\nIdempotency-Key: ${crypto.randomUUID()}\r\nContent-Length: ${body.length}`
  return `${head('POST /partner/v1/bookings')}${fields}\r\n\r\n${body}`
}
