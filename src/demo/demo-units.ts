import { type Night, parseNight } from '../core/domain/night.ts'
import type { FeeType, Rates, Season, Unit } from '../core/domain/unit.ts'

/** The units of the demo agency, twelve flats and houses around Lisbon. Prices in euro cents. */
type DemoUnit = Omit<Unit, 'id'>

/** The fees of the demo agency. */
export const DEMO_FEE_TYPES: readonly Omit<FeeType, 'id'>[] = [
  {
    label: 'City tax',
    kind: 'fixed',
    amount: 800,
    basisPoints: null,
    includesWeeklyCleaning: false,
    application: 'every_stay',
    active: true,
  },
  {
    label: 'Service fee',
    kind: 'percent',
    amount: null,
    basisPoints: 350,
    includesWeeklyCleaning: false,
    application: 'every_stay',
    active: true,
  },
  {
    label: 'Weekly cleaning package',
    kind: 'fixed',
    amount: 6_500,
    basisPoints: null,
    includesWeeklyCleaning: true,
    application: 'on_request',
    active: true,
  },
  {
    label: 'Late check-in',
    kind: 'fixed',
    amount: 3_000,
    basisPoints: null,
    includesWeeklyCleaning: false,
    application: 'on_request',
    active: false,
  },
]

interface Sketch {
  readonly slug: string
  readonly name: string
  readonly area: string
  readonly building?: string
  readonly status?: Unit['status']
  /** bedrooms, beds, bathrooms, guests, m² */
  readonly size: readonly [number, number, number, number, number]
  /** nightly base price, cleaning fee, extra bed per night */
  readonly prices: readonly [number, number, number]
  readonly minStay: number
  readonly turnoverNights: number
  readonly instantBook?: boolean
  readonly rates: 'flat' | 'seasonal' | 'resort' | 'business'
}

const SKETCHES: readonly Sketch[] = [
  {
    slug: 'alfama-loft',
    name: 'Alfama Loft',
    area: 'Alfama',
    size: [1, 1, 1, 2, 48],
    prices: [9_500, 4_500, 1_500],
    minStay: 2,
    turnoverNights: 0,
    rates: 'seasonal',
  },
  {
    slug: 'baixa-studio',
    name: 'Baixa Studio',
    area: 'Baixa',
    building: 'Rua Augusta 118',
    size: [0, 1, 1, 2, 31],
    prices: [7_200, 3_500, 0],
    minStay: 1,
    turnoverNights: 0,
    rates: 'business',
  },
  {
    slug: 'belem-garden',
    name: 'Belém Garden House',
    area: 'Belém',
    size: [3, 5, 2, 6, 140],
    prices: [18_900, 9_000, 2_000],
    minStay: 3,
    turnoverNights: 1,
    rates: 'seasonal',
  },
  {
    slug: 'cascais-villa',
    name: 'Cascais Villa',
    area: 'Cascais',
    size: [5, 8, 4.5, 10, 310],
    prices: [52_000, 25_000, 3_500],
    minStay: 5,
    turnoverNights: 2,
    instantBook: false,
    rates: 'resort',
  },
  {
    slug: 'chiado-suite',
    name: 'Chiado Suite',
    area: 'Chiado',
    building: 'Largo do Carmo 7',
    size: [1, 1, 1, 2, 55],
    prices: [13_400, 5_500, 1_800],
    minStay: 2,
    turnoverNights: 0,
    rates: 'business',
  },
  {
    slug: 'ericeira-surf',
    name: 'Ericeira Surf House',
    area: 'Ericeira',
    size: [4, 9, 2, 9, 160],
    prices: [21_000, 10_000, 1_500],
    minStay: 3,
    turnoverNights: 1,
    rates: 'resort',
  },
  {
    slug: 'estrela-family',
    name: 'Estrela Family Flat',
    area: 'Estrela',
    size: [3, 4, 2, 6, 118],
    prices: [15_600, 7_500, 1_500],
    minStay: 3,
    turnoverNights: 1,
    rates: 'seasonal',
  },
  {
    slug: 'graca-view',
    name: 'Graça View',
    area: 'Graça',
    size: [2, 3, 1, 4, 74],
    prices: [11_800, 5_000, 1_500],
    minStay: 2,
    turnoverNights: 0,
    rates: 'seasonal',
  },
  {
    slug: 'oriente-flat',
    name: 'Oriente Business Flat',
    area: 'Parque das Nações',
    building: 'Torre Zen',
    size: [2, 2, 2, 4, 92],
    prices: [12_300, 6_000, 1_500],
    minStay: 1,
    turnoverNights: 0,
    rates: 'business',
  },
  {
    slug: 'principe-attic',
    name: 'Príncipe Real Attic',
    area: 'Príncipe Real',
    status: 'draft',
    size: [1, 2, 1, 3, 60],
    prices: [10_900, 4_500, 1_200],
    minStay: 2,
    turnoverNights: 0,
    rates: 'flat',
  },
  {
    slug: 'sesimbra-beach',
    name: 'Sesimbra Beach Flat',
    area: 'Sesimbra',
    size: [2, 4, 1, 5, 81],
    prices: [14_200, 6_000, 1_500],
    minStay: 4,
    turnoverNights: 1,
    instantBook: false,
    rates: 'resort',
  },
  {
    slug: 'sintra-cottage',
    name: 'Sintra Cottage',
    area: 'Sintra',
    size: [2, 2, 1, 4, 88],
    prices: [13_900, 6_500, 2_000],
    minStay: 2,
    turnoverNights: 1,
    rates: 'flat',
  },
]

/** @param year the seasons of this year and the next two are priced */
export function demoUnits(year: number): DemoUnit[] {
  return SKETCHES.map((sketch) => {
    const [bedrooms, beds, bathrooms, maxGuests, sizeSqm] = sketch.size
    const [basePrice, cleaningFee, extraBedFee] = sketch.prices
    return {
      slug: sketch.slug,
      name: sketch.name,
      status: sketch.status ?? 'active',
      city: 'Lisbon',
      area: sketch.area,
      building: sketch.building ?? null,
      bedrooms,
      beds,
      bathrooms,
      maxGuests,
      sizeSqm,
      checkinTime: '15:00',
      checkoutTime: '11:00',
      instantBook: sketch.instantBook ?? true,
      rules: {
        basePrice,
        cleaningFee,
        extraBedFee,
        minStay: sketch.minStay,
        turnoverNights: sketch.turnoverNights,
        rates: ratesOf(sketch, basePrice, year),
      },
    }
  })
}

function ratesOf({ rates }: Sketch, base: number, year: number): Rates {
  const years = [year, year + 1, year + 2]
  const weekend = [5, 6].map((weekday) => ({ weekday: weekday as 5 | 6, basisPoints: 1_500 }))
  const weekly = { minNights: 7, basisPoints: 1_000 }
  switch (rates) {
    case 'flat':
      return { seasons: [], weekdayAdjustments: [], lengthOfStayDiscounts: [weekly] }
    case 'seasonal':
      return {
        seasons: years.flatMap((y) => [
          season('Summer', `${y}-06-15`, `${y}-09-16`, up(base, 135), null),
          season('New Year', `${y}-12-27`, `${y + 1}-01-03`, up(base, 160), 3),
        ]),
        weekdayAdjustments: weekend,
        lengthOfStayDiscounts: [weekly, { minNights: 28, basisPoints: 2_500 }],
      }
    case 'resort':
      return {
        seasons: years.flatMap((y) => [
          season('Spring', `${y}-04-01`, `${y}-06-15`, up(base, 115), null),
          season('High summer', `${y}-06-15`, `${y}-09-01`, up(base, 180), 7),
          season('Late summer', `${y}-09-01`, `${y}-10-01`, up(base, 130), 4),
        ]),
        weekdayAdjustments: weekend,
        lengthOfStayDiscounts: [{ minNights: 14, basisPoints: 1_250 }],
      }
    case 'business':
      return {
        seasons: years.map((y) => season('Congress week', `${y}-11-08`, `${y}-11-15`, up(base, 170), 2)),
        weekdayAdjustments: [1, 2, 3, 4].map((weekday) => ({ weekday: weekday as 1 | 2 | 3 | 4, basisPoints: 800 })),
        lengthOfStayDiscounts: [weekly, { minNights: 30, basisPoints: 3_000 }],
      }
  }
}

function season(name: string, from: string, to: string, nightlyPrice: number, minStay: number | null): Season {
  return { name, from: date(from), to: date(to), nightlyPrice, minStay }
}

function date(iso: string): Night {
  const parsed = parseNight(iso)
  if (parsed === null) throw new Error(`Cannot make the demo: ${iso} is not a date`)
  return parsed
}

/** Whole euros, as an agency would write its price list. */
function up(base: number, percent: number): number {
  return Math.round((base * percent) / 10_000) * 100
}
