import type { Command } from 'commander'
import { ratesJson } from '../api/json/rates-json.ts'
import { pctOfBasisPoints } from '../core/domain/money.ts'
import { formatNight, parseNight } from '../core/domain/night.ts'
import type { Unit } from '../core/domain/unit.ts'
import { demoBookings } from '../demo/demo-bookings.ts'
import { DEMO_FEE_TYPES, demoUnits } from '../demo/demo-units.ts'
import { assert } from '../lib/assert.ts'
import { dayOf } from '../lib/day-start.ts'
import type { Json } from './portal-client.ts'
import { Progress } from './progress.ts'
import { asking } from './session.ts'
import { listing } from './table.ts'
import type { Terminal } from './terminal.ts'

const TIMEZONE = 'Europe/Lisbon'

/** `demo`: the demo agency in a running service, through the portal like any other agency. */
export function demo(program: Command, terminal: Terminal): void {
  asking(
    program,
    {
      name: 'demo',
      summary: 'create a demo agency with units, fees, bookings, an API key, and an access token for each role',
      isOfAll: true,
      options: (command) => command.option('--slug <slug>', 'slug of the demo agency', 'demo'),
      examples: ['demo --slug playground'],
    },
    terminal,
    async (session, { options }) => {
      const { client } = session
      const path = `/agencies/${encodeURIComponent(options.slug)}`
      const agency = { slug: options.slug, name: 'Tejo Stays', currency: 'EUR', timezone: TIMEZONE }
      await client.send('POST', '/agencies', agency)
      for (const { basisPoints, ...feeType } of DEMO_FEE_TYPES)
        await client.send('POST', `${path}/fee-types`, {
          ...feeType,
          pct: basisPoints === null ? null : pctOfBasisPoints(basisPoints),
        })
      const today = parseNight(dayOf(Date.now(), TIMEZONE))
      assert(today !== null, 'Cannot make a demo: today is not a night of ours')
      const units: Unit[] = demoUnits(Number(formatNight(today).slice(0, 4))).map((unit) => ({
        ...unit,
        id: unit.slug,
      }))
      for (const { id: _id, rules, ...master } of units) {
        const { rates, ...prices } = rules
        await client.send('POST', `${path}/units`, { ...master, ...prices })
        await client.send('PUT', `${path}/units/${master.slug}/rates`, ratesJson(rates))
      }
      const bookings = demoBookings(units, today)
      const progress = new Progress(terminal, 'bookings', bookings.length)
      for (const { unit, stay, enforcement: _enforcement, ...booking } of bookings) {
        const [arrival, departure] = [formatNight(stay.arrival), formatNight(stay.departure)]
        const until = booking.expectedUntil ?? null
        const expectedUntil = until === null ? null : formatNight(until)
        await client.send('POST', `${path}/bookings`, {
          ...booking,
          unit: unit.slug,
          arrival,
          departure,
          expectedUntil,
        })
        progress.step()
      }
      const key = await client.send('POST', `${path}/keys`, { name: 'Demo key', scopes: SCOPES })
      const accessTokens: Record<string, unknown> = {}
      for (const role of ROLES) {
        const { secret } = await client.send('POST', `${path}/access-tokens`, { name: `Demo ${role}`, role })
        accessTokens[role] = secret
      }
      const { secret } = key
      const made: Json = { agency: options.slug, units: units.length, bookings: bookings.length, secret, accessTokens }
      if (session.isJson) session.printJson(made)
      else
        terminal.out(
          `Created the agency ${options.slug}: ${units.length} units, ${bookings.length} bookings.\n${listing({ secret, ...accessTokens })}`,
        )
    },
  )
}

const ROLES = ['viewer', 'desk', 'manager', 'owner']

/** All of them: it is a demo. */
const SCOPES = ['read:units', 'read:availability', 'read:rates', 'read:bookings', 'read:guests', 'write:bookings']
