import { expect, test } from 'bun:test'
import { DAY_MS } from '../../../src/lib/clock.ts'
import { uuidOf } from '../../../src/lib/ids.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import { sharedTestService } from '../../support/test-service.ts'

const service = await sharedTestService()

interface Seen {
  readonly id: string
  readonly unitSlug: string
  readonly arrival: string
  readonly departure: string
  readonly status: string
}

const day = (n: number) => new Date(Date.UTC(2027, 2, 1 + n)).toISOString().slice(0, 10)
const SEED = Number(process.env['MOVES_SEED'] ?? 20_270_301)

test(`U4: many moves back and forth across the same units at once neither deadlock nor sell a night twice (seed ${SEED})`, async () => {
  const random = new SeededRandom(SEED)
  const roll = (below: number) => random.below(below)
  const agency = await service.agency()
  const units = await Promise.all([service.unit(agency), service.unit(agency), service.unit(agency)])
  const path = `/agencies/${agency.slug}/bookings`
  const pick = () => units[roll(units.length)]?.slug
  const ids: string[] = []
  for (let i = 0; i < 12; i++) {
    const from = roll(20)
    const stay = { unit: pick(), arrival: day(from), departure: day(from + 1 + roll(4)) }
    const answer = await service.ask(path, stay)
    if (answer.status === 201) ids.push(answer.body.booking.id)
  }
  expect(ids.length).toBeGreaterThan(4)

  const statuses = new Map<number, number>()
  for (let round = 0; round < 12; round++) {
    const answers = await Promise.all(
      Array.from({ length: 24 }, () => {
        const id = ids[roll(ids.length)]
        const from = roll(20)
        const change = [
          { unit: pick() },
          { unit: pick(), arrival: day(from), departure: day(from + 1 + roll(4)) },
          { arrival: day(from), departure: day(from + 1 + roll(4)) },
        ][roll(3)]
        return service.patch(`${path}/${id}`, change)
      }),
    )
    for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1)
    await expectConsistent(
      path,
      units.map(({ slug }) => slug),
    )
  }
  // Moved, or refused for the nights: nothing else, and both of them happened.
  expect([...statuses.keys()].toSorted()).toEqual([200, 409])
  expect(service.bugs).toEqual([])

  const rows = await service.database.sql`
    select count(*)::integer as moves, count(distinct seq)::integer as seqs from journal
    where agency_id = ${uuidOf(agency.id)} and other_unit_id is not null`
  expect(rows[0]?.['moves']).toBeGreaterThan(20)
  expect(rows[0]?.['moves']).toBe(rows[0]?.['seqs'])
})

/** Memory, rows and the model of "a night is taken by at most one booking" say the same. */
async function expectConsistent(path: string, slugs: readonly string[]): Promise<void> {
  const { bookings } = (await service.get(`${path}?pageSize=200`)).body as { bookings: Seen[] }
  for (const slug of slugs) {
    const nights = bookings.filter(({ unitSlug }) => unitSlug === slug).flatMap(nightsOf)
    expect(new Set(nights).size).toBe(nights.length)
    const unit = path.replace('/bookings', `/units/${slug}`)
    const { calendar } = (await service.get(`${unit}/calendar?from=2027-02-01&to=2027-05-01`)).body
    expect(calendar.nights.map(({ night }: { night: string }) => night)).toEqual(nights.toSorted())
  }
}

function nightsOf({ arrival, departure }: Seen): string[] {
  const nights: string[] = []
  for (let night = arrival; night < departure; night = new Date(Date.parse(night) + DAY_MS).toISOString().slice(0, 10))
    nights.push(night)
  return nights
}
