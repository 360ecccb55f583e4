import type { ChartUnit, Stay } from '../../../src/page/chart/stay.ts'

/** A confirmed guest stay of three nights, changed as the test needs. */
export function aStay(change: Partial<Stay> = {}): Stay {
  return {
    id: 'bkg_1',
    unit: 'sea-view',
    arrival: 100,
    departure: 103,
    type: 'guest',
    status: 'confirmed',
    guest: 'Ana Silva',
    source: 'portal',
    sourceRef: null,
    total: 52_000,
    holdExpiresAt: null,
    expectedUntil: null,
    version: 1,
    adults: 2,
    children: 0,
    groupId: null,
    ...change,
  }
}

export function aUnit(change: Partial<ChartUnit> = {}): ChartUnit {
  return {
    slug: 'sea-view',
    name: 'Sea View',
    city: 'Lisbon',
    area: 'Alfama',
    bedrooms: 2,
    maxGuests: 4,
    minStay: 2,
    turnoverNights: 0,
    isArchived: false,
    closed: [],
    ...change,
  }
}
