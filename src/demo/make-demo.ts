import type { BookingCommands } from '../core/bookings/booking-commands.ts'
import type { Caller } from '../core/bookings/caller.ts'
import type { Agency, ApiKey } from '../core/catalogue/agency.ts'
import { SCOPES } from '../core/catalogue/agency.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import { asNight } from '../core/domain/night.ts'
import type { FeeType } from '../core/domain/rules.ts'
import { DAY_MS } from '../lib/duration.ts'
import type { IdSource } from '../lib/ids.ts'
import { demoBookings } from './demo-bookings.ts'
import { DEMO_FEE_TYPES, demoUnits } from './demo-units.ts'

/** Where an agency, its keys and fees are written. */
export interface DemoStore {
  insertAgency(agency: Agency): Promise<void>
  insertKey(key: ApiKey): Promise<void>
  insertFeeType(agencyId: string, feeType: FeeType): Promise<void>
}

export interface DemoMade {
  readonly agency: Agency
  readonly units: number
  readonly bookings: number
}

const DEMO_SLUG = 'demo'
const CALLER: Caller = { actor: { kind: 'system', id: null }, route: 'demo', requestId: null }

/**
 * Makes the demo agency: twelve units, fees, and about 200 bookings around today, through the same commands that serve
 * partners, so that everything a real agency leaves behind (journal, events, audit) is there too. One that was cut short
 * is gone on with.
 * @param key a key with every scope; its secret was made by the caller, who alone knows it
 */
export async function makeDemo(options: {
  catalogue: Catalogue
  store: DemoStore
  commands: BookingCommands
  newId: IdSource
  now: number
  key: Pick<ApiKey, 'prefix' | 'secretSha256'>
  onStep: (step: string) => void
}): Promise<DemoMade> {
  const { catalogue, store, commands, newId, now } = options
  const agency = catalogue.agencyBySlug(DEMO_SLUG) ?? (await makeAgency(options))

  const inventory = await catalogue.inventory(agency.id)
  for (const feeType of DEMO_FEE_TYPES) {
    if (inventory.feeTypes.some(({ label }) => label === feeType.label)) continue
    const made = { id: newId('fee'), ...feeType }
    await store.insertFeeType(agency.id, made)
    catalogue.putFeeType(agency.id, made)
  }

  options.onStep('Making the demo agency: units')
  const units = await Promise.all(
    demoUnits(new Date(now).getUTCFullYear()).map(async (sketch) => {
      const unit = inventory.unitBySlug(sketch.slug) ?? { id: newId('unt'), ...sketch }
      await commands.setUnit(agency, unit.id, () => unit, CALLER)
      return unit
    }),
  )

  options.onStep('Making the demo agency: bookings')
  const empty = await Promise.all(
    units.map(async (unit) => ((await commands.calendar(agency, unit)).occupied.isEmpty() ? [unit] : [])),
  )
  const requests = demoBookings(empty.flat(), asNight(Math.floor(now / DAY_MS)))
  const outcomes = await Promise.all(requests.map((request) => commands.book(agency, request, CALLER)))
  const refused = outcomes.find((outcome) => outcome.kind === 'rejected')
  if (refused !== undefined) throw new Error('Cannot make the demo: two of its bookings overlap')

  // The key comes last: a demo that was cut short has none, and is seen to be incomplete.
  const key: ApiKey = {
    ...{ id: newId('key'), agencyId: agency.id, name: 'Demo key', ...options.key, scopes: SCOPES },
    ...{ createdAt: now, expiresAt: null, revokedAt: null },
  }
  await store.insertKey(key)
  catalogue.putKey(key)
  return { agency, units: units.length, bookings: requests.length }
}

type DemoOptions = Parameters<typeof makeDemo>[0]

async function makeAgency({ catalogue, store, newId, now }: DemoOptions): Promise<Agency> {
  const agency: Agency = {
    id: newId('agc'),
    slug: DEMO_SLUG,
    name: 'Tejo Stays',
    currency: 'EUR',
    timezone: 'Europe/Lisbon',
    status: 'active',
    plan: { apiAccess: true, requestsPerMinute: 60, requestsPerMonth: 50_000 },
    defaultHoldHours: 48,
    createdAt: now,
  }
  await store.insertAgency(agency)
  catalogue.putAgency(agency)
  return agency
}
