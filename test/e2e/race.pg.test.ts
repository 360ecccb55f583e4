import { expect, test } from 'bun:test'
import { uuidOf } from '../../src/lib/ids.ts'
import { SeededRandom } from '../../src/lib/seeded-random.ts'
import { auditTrail } from '../support/audit-trail.ts'
import { rounds } from '../support/long-run.ts'
import { sampleRules } from '../support/samples.ts'
import { sharedTestService } from '../support/test-service.ts'

const CLIENTS = 200
const ROUNDS = rounds({ push: 20, long: 100 })
const STAYS = rounds({ push: 200, long: 1_000 })
const seed = Number(process.env['RACE_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

const service = await sharedTestService()
const agency = await service.agency()
const agencyId = agency.id
const key = (await service.key(agency)).secret
await service.unit(agency, { slug: 'sea-view' })
await service.feeType(agency, { amount: 1_999 })
await service.feeType(agency, { kind: 'percent', amount: null, basisPoints: 333 })

const day = (n: number) => new Date(Date.UTC(2027, 0, 1 + n)).toISOString().slice(0, 10)

test(`${CLIENTS} clients race for the same nights, ${ROUNDS} rounds: exactly one 201 a round, the rest 409, one row`, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const arrival = round * 5
    const answers = await Promise.all(
      Array.from({ length: CLIENTS }, (_, client) => {
        // Not the same stay, but all of them want night 2 of the round.
        const from = arrival + (client % 3)
        const json = {
          unit: 'sea-view',
          arrival: day(from),
          departure: day(arrival + 3 + (client % 2)),
          sourceRef: `${client}`,
        }
        return service.call('/bookings', { key, json })
      }),
    )
    const sold = answers.filter(({ status }) => status === 201)
    const refused = answers.filter(({ status, body }) => status === 409 && body.code === 'BOOKING_CONFLICT')
    expect({ round, sold: sold.length, refused: refused.length }).toEqual({ round, sold: 1, refused: CLIENTS - 1 })
  }
  const rows = await service.database.sql`select arrival::text from booking where agency_id = ${uuidOf(agencyId)}`
  expect(rows).toHaveLength(ROUNDS)
  const lines = (await auditTrail(service.database.sql, agencyId)).filter(
    ({ actor_kind, route }) => actor_kind === 'key' && route !== 'POST /test',
  )
  const countOf = (outcome: string) => lines.filter((line) => line.outcome === outcome).length
  expect({ ok: countOf('OK'), refused: countOf('BOOKING_CONFLICT') }).toEqual({
    ok: ROUNDS,
    refused: ROUNDS * (CLIENTS - 1),
  })
  expect(lines).toHaveLength(ROUNDS * CLIENTS)
}, 120_000)

test(`the total of a quote is the total of its booking, for ${STAYS} generated stays (RACE_SEED=${seed})`, async () => {
  const random = new SeededRandom(seed)
  const agency = service.ledger.catalogue.agencyById(agencyId)
  if (agency === null) throw new Error('The agency is gone')
  for (let unit = 0; unit < 10; unit++) {
    const rates = {
      seasons: Array.from({ length: random.int(0, 5) }, (_, i) => ({
        name: `Season ${i}`,
        from: 20_820 + i * 200,
        to: 20_820 + i * 200 + random.int(20, 200),
        nightlyPrice: random.int(0, 99_999),
        minStay: random.chance(0.3) ? random.int(1, 3) : null,
      })),
      weekdayAdjustments: random.chance(0.5)
        ? [{ weekday: random.int(1, 7), basisPoints: random.int(-5_000, 9_999) }]
        : [],
      lengthOfStayDiscounts: random.chance(0.5)
        ? [{ minNights: random.int(2, 7), basisPoints: random.int(1, 3_333) }]
        : [],
    } as unknown as ReturnType<typeof sampleRules>['rates']
    const rules = sampleRules({ rates, basePrice: random.int(1, 99_999), extraBedFee: random.int(0, 4_999) })
    await service.unit(agency, { slug: `unit-${unit}`, rules })
  }
  let compared = 0
  const disagreements: unknown[] = []
  for (let i = 0; compared < STAYS; i++) {
    const from = 40 + Math.floor(i / 10) * 9
    const children = random.int(0, 2)
    const json = {
      unit: `unit-${i % 10}`,
      arrival: day(from),
      departure: day(from + random.int(1, 9)),
      adults: random.int(1, 4),
      children,
      extraBed: random.chance(0.5),
    }
    const quoted = await service.call('/quote', { key, json })
    const booked = await service.call('/bookings', { key, json })
    if (quoted.status === 422 && booked.status === 422) continue
    compared += 1
    if (!quoted.body.available || quoted.body.quote.total !== booked.body.booking?.totalAmount)
      disagreements.push({ json, quoted: quoted.body, booked: booked.body })
  }
  expect(disagreements.slice(0, 3)).toEqual([])
}, 120_000)
