import type { AgencyCommands, NewAgency } from '../admin/agency-commands.ts'
import type { FeeCommands } from '../admin/fee-commands.ts'
import type { KeyCommands } from '../admin/key-commands.ts'
import type { AgencyOutcome } from '../admin/outcome.ts'
import type { BookingCommands } from '../core/bookings/booking-commands.ts'
import { type Agency, SCOPES } from '../core/catalogue/agency.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import { asNight } from '../core/domain/night.ts'
import type { Caller } from '../core/journal/record.ts'
import { DAY_MS } from '../lib/duration.ts'
import type { IdSource } from '../lib/ids.ts'
import { demoBookings } from './demo-bookings.ts'
import { DEMO_FEE_TYPES, demoUnits } from './demo-units.ts'

/** What the demo is made through: the commands that serve partners and portal, on an open ledger. */
export interface DemoCommands {
  readonly catalogue: Catalogue
  readonly commands: BookingCommands
  readonly agencies: AgencyCommands
  readonly fees: FeeCommands
  readonly keys: KeyCommands
  readonly newId: IdSource
}

export interface DemoMade {
  readonly agency: Agency
  readonly units: number
  readonly bookings: number
}

export const DEMO_AGENCY: NewAgency = {
  slug: 'demo',
  name: 'Tejo Stays',
  currency: 'EUR',
  timezone: 'Europe/Lisbon',
  plan: { apiAccess: true, requestsPerMinute: 60, requestsPerMonth: 50_000 },
  defaultHoldHours: 48,
}
export const DEMO_CALLER: Caller = { actor: { kind: 'system', id: null }, route: 'demo', requestId: null }

/**
 * Makes the demo agency: twelve units, fees, a key, and about 200 bookings around today, through commands, so that everything a
 * real agency leaves behind (journal, events, audit) is there too. Resumes an interrupted run.
 * @param now wall clock, ms
 */
export async function makeDemo(
  { catalogue, commands, agencies, fees, keys, newId }: DemoCommands,
  { now, onStep }: { now: number; onStep: (step: string) => void },
): Promise<DemoMade> {
  const agency = catalogue.agencyBySlug(DEMO_AGENCY.slug) ?? made(await agencies.create(DEMO_AGENCY, DEMO_CALLER))

  const inventory = await catalogue.inventory(agency.id)
  for (const feeType of DEMO_FEE_TYPES) {
    if (inventory.feeTypes.some(({ label }) => label === feeType.label)) continue
    made(await fees.create(agency, feeType, DEMO_CALLER))
  }

  onStep('Making the demo agency: units')
  const units = await Promise.all(
    demoUnits(new Date(now).getUTCFullYear()).map(async (sketch) => {
      const unit = inventory.unitBySlug(sketch.slug) ?? { id: newId('unt'), ...sketch }
      await commands.setUnit(agency, unit.id, () => unit, DEMO_CALLER)
      return unit
    }),
  )

  onStep('Making the demo agency: bookings')
  const empty = await Promise.all(
    units.map(async (unit) => ((await commands.calendar(agency, unit)).occupied.isEmpty() ? [unit] : [])),
  )
  const requests = demoBookings(empty.flat(), asNight(Math.floor(now / DAY_MS)))
  const outcomes = await Promise.all(requests.map((request) => commands.book(agency, request, DEMO_CALLER)))
  const refused = outcomes.find((outcome) => outcome.kind === 'rejected')
  if (refused !== undefined) throw new Error('Cannot make the demo: two of its bookings overlap')

  // The key comes last: an interrupted run has made none, which shows that the demo is incomplete.
  await keys.create(agency, { name: 'Demo key', scopes: SCOPES, expiresAt: null }, DEMO_CALLER)
  return { agency, units: units.length, bookings: requests.length }
}

function made<T>(settled: AgencyOutcome<T>): T {
  if (settled.kind !== 'done') throw new Error('Cannot make the demo: a command was refused')
  return settled.value
}
