import { describe, expect, test } from 'bun:test'
import { OFFER_SORTS } from '../../../src/core/bookings/offer-page.ts'
import {
  type Offer,
  OfferSearch,
  type OfferSearchParams,
  STEPS_PER_SLICE,
} from '../../../src/core/bookings/offer-search.ts'
import { Inventory } from '../../../src/core/catalogue/agency.ts'
import { decideBookStay, quoteStay } from '../../../src/core/domain/decide.ts'
import { addNights, type Night } from '../../../src/core/domain/night.ts'
import { RESTRICTIONS_MAX } from '../../../src/core/domain/restrictions.ts'
import type { FeeType, Unit } from '../../../src/core/domain/unit.ts'
import { UnitState } from '../../../src/core/domain/unit-state.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import { Slices } from '../../../src/lib/slices.ts'
import { generatedFees, generatedRestrictions, generatedRules } from '../../support/generated-rules.ts'
import { generatedState } from '../../support/generated-states.ts'
import { rounds } from '../../support/long-run.ts'
import { AGENCY, MOMENT, night, sampleBooking, sampleId, sampleRules, sampleUnit } from '../../support/samples.ts'

const ABOUT = night('2027-03-01')

interface World {
  readonly units: readonly Unit[]
  readonly states: ReadonlyMap<string, UnitState>
  readonly feeTypes: readonly FeeType[]
}

function generatedWorld(random: SeededRandom): World {
  const units = Array.from({ length: random.int(0, 12) }, (_, i) =>
    sampleUnit({
      id: sampleId('unt', i),
      slug: `u-${i}`,
      status: random.pick(['active', 'active', 'draft', 'archived']),
      name: random.pick(['Attic', 'Villa', 'ﬁ', '😀', `Unit ${i}`]),
      city: random.pick(['Lisbon', 'LISBON', 'Porto', null]),
      area: random.pick(['Alfama', 'alfama', null]),
      bedrooms: random.int(0, 3),
      maxGuests: random.int(1, 6),
      rules: generatedRules(random, ABOUT, {
        turnoverNights: random.int(0, 2),
        cleaningFee: random.pick([0, 5_001]),
        extraBedFee: random.pick([0, 700]),
        ...(random.chance(0.5) ? { restrictions: generatedRestrictions(random, ABOUT) } : {}),
      }),
      checkinTime: random.pick(['00:00', '15:00']),
    }),
  )
  const states = new Map(units.map((unit) => [unit.id, generatedState(random, unit, ABOUT)]))
  return { units, states, feeTypes: generatedFees(random) }
}

function generatedSearch(random: SeededRandom): OfferSearchParams {
  const from = addNights(ABOUT, random.int(-60, 60))
  const days = random.int(1, 92)
  const nights = random.chance(0.3) ? days : random.int(1, Math.min(days, random.pick([2, 7, 60])))
  return {
    window: { from, to: addNights(from, days), nights },
    adults: random.pick([1, 2, 4]),
    children: random.int(0, 2),
    extraBed: random.chance(0.5),
    city: random.pick([null, null, null, 'lisbon', 'Faro']),
    area: random.pick([null, null, null, 'ALFAMA']),
    bedrooms: random.pick([null, null, 2]),
    maxTotal: random.pick([null, null, random.int(0, 300_000)]),
    each: random.pick(['unit', 'stay']),
    sort: random.pick(OFFER_SORTS),
    page: { offset: random.pick([0, 0, 3, 50]), limit: random.pick([1, 10, 200]) },
  }
}

function directoryOf({ states }: Pick<World, 'states'>) {
  return {
    activate: async () => {},
    peek: (unitId: string) => states.get(unitId) ?? null,
    readUnlessDamaged: () => Promise.reject(new Error('Cannot readUnlessDamaged: all units are resident')),
  }
}

const CLOCK = { now: () => MOMENT.now }

/** Every stay of two in a window, the cheapest first. */
const SEARCH = {
  adults: 2,
  children: 0,
  extraBed: false,
  city: null,
  area: null,
  bedrooms: null,
  maxTotal: null,
  each: 'stay',
  sort: 'total',
  page: { offset: 0, limit: 10 },
} as const satisfies Omit<OfferSearchParams, 'window'>

/** Of units without bookings. */
function statesOf(units: readonly Unit[]): Map<string, UnitState> {
  return new Map(
    units.map((unit) => {
      const state = UnitState.empty(unit.id)
      state.apply({ kind: 'unit_set', unit }, 1)
      return [unit.id, state]
    }),
  )
}

/** Every stay of every unit, each booked and quoted on its own. */
function bruteForce({ units, states, feeTypes }: World, params: OfferSearchParams): Offer[] {
  const { window, children, extraBed } = params
  const folded = (text: string | null) => text?.toLowerCase() ?? null
  const offers: Offer[] = []
  for (const unit of units) {
    const state = states.get(unit.id)
    if (state === undefined || unit.status === 'archived' || unit.maxGuests < params.adults + children) continue
    if (params.city !== null && folded(unit.city) !== folded(params.city)) continue
    if (params.area !== null && folded(unit.area) !== folded(params.area)) continue
    if (params.bedrooms !== null && unit.bedrooms < params.bedrooms) continue
    const stays: Offer[] = []
    for (let arrival = window.from; arrival + window.nights <= window.to; arrival = addNights(arrival, 1)) {
      const stay = { arrival, departure: addNights(arrival, window.nights) }
      const booking = sampleBooking({ ...stay, unitId: unit.id, adults: params.adults, children, extraBed })
      const tariff = { currency: 'EUR', feeTypes }
      const moment = { ...MOMENT, checkinTime: unit.checkinTime }
      const decision = decideBookStay(state, { booking, tariff, enforcement: 'partner', moment })
      if (decision.kind !== 'accepted') continue
      const { totalAmount: total } = decision.event.after
      const quoted = quoteStay(state, { stay, children, extraBed, tariff, moment })
      expect(quoted).toMatchObject({ kind: 'quoted', reasons: [], quote: { total } })
      stays.push({ unit, arrival, total })
    }
    const cheapest = Math.min(...stays.map(({ total }) => total))
    offers.push(...(params.each === 'stay' ? stays : stays.filter(({ total }) => total === cheapest).slice(0, 1)))
  }
  return offers.filter(({ total }) => params.maxTotal === null || total <= params.maxTotal).sort(orderOf(params))
}

function orderOf({ sort }: OfferSearchParams): (a: Offer, b: Offer) => number {
  const byName = (a: Offer, b: Offer) => {
    const [one, other] = [a, b].map(({ unit }) => Buffer.from(unit.name, 'utf8')) as [Buffer, Buffer]
    // UTF-8 is in the order of the code points.
    return Buffer.compare(one, other)
  }
  const byArrival = (a: Offer, b: Offer) => a.arrival - b.arrival
  const byId = (a: Offer, b: Offer) => (a.unit.id < b.unit.id ? -1 : 1)
  return (a, b) => {
    const first = { total: a.total - b.total, '-total': b.total - a.total, arrival: byArrival(a, b), name: 0 }[sort]
    return first || byName(a, b) || byArrival(a, b) || byId(a, b)
  }
}

test('of generated agencies: every offer is a stay that is booked at its total, and none is missing', async () => {
  let offers = 0
  for (let seed = 1; seed <= rounds({ push: 100, long: 400 }); seed++) {
    const random = new SeededRandom(seed)
    const world = generatedWorld(random)
    const inventory = new Inventory(world.units, world.feeTypes)
    const search = new OfferSearch(directoryOf(world), CLOCK)
    // The later searches find prices that the first one has left.
    for (let n = 0; n < 3; n++) {
      const request = generatedSearch(random)
      const expected = bruteForce(world, request)
      const { offset, limit } = request.page
      const shown = (rows: readonly Offer[]) => rows.map(({ unit, arrival, total }) => [unit.slug, arrival, total])
      const { rows, total } = await search.page(AGENCY, inventory, request)
      expect({ seed, request, total, rows: shown(rows) }).toEqual({
        seed,
        request,
        total: expected.length,
        rows: shown(expected.slice(offset, offset + limit)),
      })
      offers += rows.length
    }
  }
  expect(offers).toBeGreaterThan(rounds({ push: 500, long: 2_000 }))
}, 60_000)

test('new rates, restrictions, bookings and fees are in the next search', async () => {
  const unit = sampleUnit()
  const state = UnitState.empty(unit.id)
  state.apply({ kind: 'unit_set', unit }, 1)
  const search = new OfferSearch(directoryOf({ states: new Map([[unit.id, state]]) }), CLOCK)
  const request: OfferSearchParams = {
    window: { from: ABOUT, to: addNights(ABOUT, 3), nights: 2 },
    ...SEARCH,
    sort: 'arrival',
  }
  const totals = async (inventory: Inventory) =>
    (await search.page(AGENCY, inventory, request)).rows.map(({ arrival, total }) => [arrival - ABOUT, total])
  const inventory = new Inventory([unit], [])
  expect(await totals(inventory)).toEqual([
    [0, 25_000],
    [1, 25_000],
  ])
  state.apply({ kind: 'unit_set', unit: { ...unit, rules: { ...unit.rules, basePrice: 1 } } }, 2)
  expect(await totals(inventory)).toEqual([
    [0, 5_002],
    [1, 5_002],
  ])
  const closed = { from: ABOUT, to: addNights(ABOUT, 1), weekdays: null, rule: 'closedToArrival', value: true } as const
  const restrictions = { rows: [closed], advanceNoticeHours: null, bookingWindowDays: null }
  state.apply({ kind: 'unit_set', unit: { ...unit, rules: { ...unit.rules, basePrice: 1, restrictions } } }, 3)
  expect(await totals(inventory)).toEqual([[1, 5_002]])
  state.apply({ kind: 'unit_set', unit: { ...unit, rules: { ...unit.rules, basePrice: 1 } } }, 4)
  const arrival = addNights(ABOUT, 2)
  state.apply({ kind: 'booking_created', after: sampleBooking({ arrival, departure: addNights(arrival, 1) }) }, 5)
  expect(await totals(inventory)).toEqual([[0, 5_002]])
  const fee: FeeType = {
    id: 'fee',
    label: 'Tax',
    kind: 'fixed',
    amount: 7,
    basisPoints: null,
    includesWeeklyCleaning: false,
    application: 'every_stay',
    active: true,
  }
  expect(await totals(inventory.withFeeType(fee))).toEqual([[0, 5_009]])
})

test('the advance notice of each unit is measured from its own check-in time', async () => {
  // It is midnight in Lisbon: ten hours ahead is 10:00.
  const restrictions = { rows: [], advanceNoticeHours: 10, bookingWindowDays: null }
  const units = ['15:00', '00:00', '10:00'].map((checkinTime, i) =>
    sampleUnit({ id: sampleId('unt', i), name: `Unit ${i}`, checkinTime, rules: sampleRules({ restrictions }) }),
  )
  const states = statesOf(units)
  const from = night('2027-01-01')
  const { rows } = await new OfferSearch(directoryOf({ states }), CLOCK).page(AGENCY, new Inventory(units, []), {
    window: { from, to: addNights(from, 1), nights: 1 },
    ...SEARCH,
    sort: 'name',
  })
  expect(rows.map(({ unit }) => unit.name)).toEqual(['Unit 0', 'Unit 2'])
})

describe('a large agency', () => {
  const random = new SeededRandom(7)
  const UNITS = 1_000
  const world = (() => {
    const units = Array.from({ length: UNITS }, (_, i) =>
      sampleUnit({
        id: sampleId('unt', i),
        slug: `u-${i}`,
        name: `Unit ${i}`,
        rules: generatedRules(random, ABOUT, { minStay: 1 }),
      }),
    )
    return { units, states: statesOf(units) }
  })()
  const inventory = new Inventory(world.units, [])
  const request: OfferSearchParams = {
    window: { from: ABOUT, to: addNights(ABOUT, 92), nights: 2 },
    ...SEARCH,
    page: { offset: 0, limit: 200 },
  }

  test.each([0, 40_000])(
    'is searched in slices of few units: 1,000 units × 91 stays, from the offer %p on',
    async (offset) => {
      let readInSlice = 0
      let mostInSlice = 0
      let slices = 1
      const directory = {
        ...directoryOf(world),
        peek: (unitId: string) => {
          readInSlice += 1
          mostInSlice = Math.max(mostInSlice, readInSlice)
          return world.states.get(unitId) ?? null
        },
      }
      const pause = async () => {
        readInSlice = 0
        slices += 1
      }
      const page = { offset, limit: 200 }
      const found = await new OfferSearch(directory, CLOCK).page(
        AGENCY,
        inventory,
        { ...request, page },
        new Slices(8_000, pause),
      )
      expect(found.rows).toHaveLength(200)
      expect(found.total).toBeGreaterThan(80_000)
      // A unit is at least as much work as it has stays.
      expect(mostInSlice * 91).toBeLessThan(8_000 + 91 * 30)
      expect(slices).toBeGreaterThan(offset === 0 ? 11 : 30)
    },
  )

  test('whose units have as many restrictions as they may is searched unit by unit the first time, and then like others', async () => {
    const row = { from: null, to: null, weekdays: null, rule: 'maxStay', value: 366 } as const
    const rows = Array.from({ length: RESTRICTIONS_MAX }, () => row)
    const units = world.units.slice(0, 50).map((unit): Unit => {
      const restrictions = { rows, advanceNoticeHours: null, bookingWindowDays: null }
      return { ...unit, rules: { ...unit.rules, restrictions } }
    })
    const states = statesOf(units)
    const search = new OfferSearch(directoryOf({ states }), CLOCK)
    const slicesOf = async () => {
      let slices = 0
      const pause = async () => void slices++
      await search.find(AGENCY, new Inventory(units, []), request, new Slices(STEPS_PER_SLICE, pause))
      return slices
    }
    expect(await slicesOf()).toBe(50)
    expect(await slicesOf()).toBeLessThan(25)
  })

  test('lets others in between: timers run while it is searched', async () => {
    const search = new OfferSearch(directoryOf(world), CLOCK)
    let turns = 0
    const turn = () => {
      turns += 1
      pending = setImmediate(turn)
    }
    let pending = setImmediate(turn)
    await search.page(AGENCY, inventory, request)
    clearImmediate(pending)
    expect(turns).toBeGreaterThan(5)
  })

  test('is loaded a part at a time, each unit before it is read', async () => {
    const active = new Set<string>()
    const loaded: number[] = []
    const directory = {
      activate: async (units: readonly { unitId: string }[]) => {
        loaded.push(units.length)
        // As if there were no room for more.
        active.clear()
        for (const { unitId } of units) active.add(unitId)
      },
      peek: (unitId: string) => (active.has(unitId) ? (world.states.get(unitId) ?? null) : null),
      readUnlessDamaged: () => Promise.reject(new Error('Cannot readUnlessDamaged: the unit was not activated')),
    }
    const ofUnits = { ...request, each: 'unit' } as const
    const found = await new OfferSearch(directory, CLOCK).page(AGENCY, inventory, ofUnits)
    expect(loaded).toEqual([200, 200, 200, 200, 200])
    expect(found).toEqual(await new OfferSearch(directoryOf(world), CLOCK).page(AGENCY, inventory, ofUnits))
  })

  test('a unit that has been dropped again meanwhile is read on its own', async () => {
    let read = 0
    const directory = {
      activate: async () => {},
      peek: () => null,
      readUnlessDamaged: async ({ unitId }: { unitId: string }) => {
        read += 1
        return world.states.get(unitId) as UnitState
      },
    }
    await new OfferSearch(directory, CLOCK).page(AGENCY, inventory, { ...request, each: 'unit' })
    expect(read).toBe(UNITS)
  })
})

test('a stay of given dates up to 366 nights is the only one of its window', async () => {
  const unit = sampleUnit()
  const search = new OfferSearch(directoryOf({ states: statesOf([unit]) }), CLOCK)
  const found = await search.page(AGENCY, new Inventory([unit], []), {
    window: { from: ABOUT, to: addNights(ABOUT, 366), nights: 366 },
    ...SEARCH,
  })
  expect(found).toMatchObject({ rows: [{ unit, arrival: ABOUT as Night, total: 366 * 10_000 + 5_000 }], total: 1 })
})

test('A1: one search of an agency runs at a time, so that of others is not behind all of its own', async () => {
  const unit = sampleUnit()
  const held = Promise.withResolvers<void>()
  const started: string[] = []
  const search = new OfferSearch(
    {
      ...directoryOf({ states: new Map([[unit.id, UnitState.empty(unit.id)]]) }),
      activate: async ([first]) => {
        started.push(first?.agencyId ?? '')
        if (first?.agencyId === AGENCY.id) await held.promise
      },
    },
    CLOCK,
  )
  const request: OfferSearchParams = {
    window: { from: ABOUT, to: addNights(ABOUT, 3), nights: 3 },
    ...SEARCH,
  }
  const inventory = new Inventory([unit], [])
  const own = [1, 2, 3].map(() => search.page(AGENCY, inventory, request))
  await search.page({ ...AGENCY, id: 'agc_other' }, inventory, request)
  expect(started).toEqual([AGENCY.id, 'agc_other'])
  held.resolve()
  await Promise.all(own)
  expect(started).toHaveLength(4)
})
