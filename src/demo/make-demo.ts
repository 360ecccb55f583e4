import type { AgencyCommands, NewAgency } from '../accounts/agency-commands.ts'
import type { FeeCommands } from '../accounts/fee-commands.ts'
import type { KeyCommands } from '../accounts/key-commands.ts'
import type { PartnerAccess } from '../accounts/partner-access.ts'
import type { Sandboxes } from '../accounts/sandboxes.ts'
import type { AgencyOutcome } from '../accounts/store-retries.ts'
import type { UsageDraft } from '../accounts/usage-meter.ts'
import type { BookingCommands } from '../core/bookings/booking-commands.ts'
import type { BookingRequest } from '../core/bookings/booking-turns.ts'
import type { Agency } from '../core/catalogue/agency.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import { parseNight } from '../core/domain/night.ts'
import type { WebhookCommands } from '../events/webhooks/webhook-commands.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { dayOf } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { demoBookings, isBeforeEndpoint } from './demo-bookings.ts'
import { demoFeeTypes, demoUnits } from './demo-data.ts'
import { DEMO_CALLER, DemoDiary } from './demo-diary.ts'
import { ensureDemoEndpoint } from './demo-endpoint.ts'
import { DEMO_KEY, ensurePartnerKeys, SANDBOX_KEY } from './demo-keys.ts'

/** What the demo is made through: the commands that serve partners and portal, on an open ledger. */
export interface DemoCommands {
  readonly catalogue: Catalogue
  readonly commands: BookingCommands
  readonly access: Pick<PartnerAccess, 'admit'>
  readonly agencies: AgencyCommands
  readonly fees: FeeCommands
  /** Creates the key whose secret is in a file. */
  readonly keys: KeyCommands
  readonly sandboxes: Pick<Sandboxes, 'of' | 'make'>
  /** Creates the key of the sandbox whose secret is in a file. */
  readonly sandboxKeys: KeyCommands
  /** Creates keys with a new secret. */
  readonly partnerKeys: KeyCommands
  /** Null: the demo has no webhook endpoint. */
  readonly webhooks: Pick<WebhookCommands, 'register' | 'list'> | null
  /** Stores what was used of past months. */
  readonly keepUsage: (usage: readonly UsageDraft[]) => Promise<void>
  readonly clock: Clock
  readonly newId: IdSource
}

interface DemoMade {
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

/** Requests of past months, the latest first. */
const PAST_USAGE = [31_260, 27_840, 29_410, 22_705, 14_930]

/**
 * Makes the demo agency: twelve units, fees, keys, and about 350 bookings around today, through commands, so that everything a
 * real agency leaves behind (journal, events, audit) is there too. Resumes an interrupted run.
 * @param now wall clock, ms
 */
export async function makeDemo(
  demo: DemoCommands,
  { now, onStep }: { now: number; onStep: (step: string) => void },
): Promise<DemoMade> {
  const { catalogue, commands, agencies, fees, keys, newId } = demo
  const agency = catalogue.agencyBySlug(DEMO_AGENCY.slug) ?? made(await agencies.create(DEMO_AGENCY, DEMO_CALLER))

  const inventory = await catalogue.inventory(agency.id)
  for (const feeType of demoFeeTypes()) {
    if (inventory.feeTypes.some(({ label }) => label === feeType.label)) continue
    made(await fees.create(agency, feeType, DEMO_CALLER))
  }
  const website = await ensurePartnerKeys(agency, { catalogue, keys: demo.partnerKeys, now, caller: DEMO_CALLER })
  await demo.keepUsage(pastUsage(agency, now))

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
  const today = parseNight(dayOf(now, agency.timezone))
  assert(today !== null, 'Cannot make the demo: today is outside the supported dates')
  const requests = demoBookings(empty.flat(), today)
  const isEarly = (request: BookingRequest) => isBeforeEndpoint(request, today)
  const diary = new DemoDiary({ ...demo, agency, website, today })
  await diary.book(requests.filter(isEarly))
  if (demo.webhooks !== null) await ensureDemoEndpoint(agency, demo.webhooks, demo)
  await diary.book(requests.filter((request) => !isEarly(request)))
  await diary.cancelSome()

  onStep('Making the demo agency: sandbox')
  const sandbox = demo.sandboxes.of(agency) ?? made(await demo.sandboxes.make(agency, DEMO_CALLER))
  if (catalogue.keys.of(sandbox.id).length === 0) await demo.sandboxKeys.create(sandbox, SANDBOX_KEY, DEMO_CALLER)

  // The key comes last: an interrupted run has made none, which shows that the demo is incomplete.
  await keys.create(agency, DEMO_KEY, DEMO_CALLER)
  return { agency, units: units.length, bookings: requests.length }
}

function pastUsage(agency: Agency, now: number): readonly UsageDraft[] {
  const date = new Date(now)
  return PAST_USAGE.map((used, i) => {
    const month = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - 1 - i)).toISOString().slice(0, 7)
    return { agencyId: agency.id, month, used }
  })
}

function made<T>(settled: AgencyOutcome<T>): T {
  if (settled.kind !== 'done') throw new Error('Cannot make the demo: a command was refused')
  return settled.value
}
