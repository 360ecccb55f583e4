import type { Command } from 'commander'
import { UsageError } from './exit-codes.ts'
import { type Format, rateRows, writeFolder } from './folder.ts'
import type { Json } from './portal-client.ts'
import { restrictionRows } from './restrictions.ts'
import { serviceCommand } from './session.ts'
import type { Terminal } from './terminal.ts'
import { Progress } from './terminal.ts'

/** Members of a booking that an import takes, and those that say what it was. */
const BOOKING = [
  ...['id', 'unit', 'arrival', 'departure', 'type', 'status', 'source', 'sourceRef', 'adults', 'children', 'extraBed'],
  ...['holdExpiresAt', 'expectedUntil', 'guest', 'notes', 'totalAmount', 'cancelReason', 'createdAt'],
] as const

export function exportFolder(program: Command, terminal: Terminal): void {
  serviceCommand<{ format: string }>(
    program,
    {
      name: 'export <folder>',
      summary: 'export the agency to a folder that import can read',
      options: (command) => command.option('--format <json|csv>', 'file format', 'json'),
      examples: ['export ./harbour --agency harbour --format csv'],
    },
    terminal,
    async (session, { arguments: [folder = ''], options }) => {
      if (!['json', 'csv'].includes(options.format)) throw new UsageError('--format must be json or csv.')
      const { client } = session
      const path = await session.agencyPath()
      const { id: _id, status: _status, createdAt: _at, ...agency } = (await client.get(path))['agency'] as Json
      // Before the units: one that is made meanwhile may have bookings at once.
      const bookings = await client.all(`${path}/bookings`, 'bookings')
      const units = await client.all(`${path}/units`, 'units')
      const rates: Json[] = []
      const restrictions: Json[] = []
      const progress = new Progress(terminal, 'units', units.length)
      for (const { slug } of units) {
        const unit = `${path}/units/${encodeURIComponent(String(slug))}`
        rates.push(...rateRows(String(slug), (await client.get(`${unit}/rates`))['rates'] as Json))
        restrictions.push(...restrictionRows(String(slug), await client.get(`${unit}/restrictions`)))
        progress.step()
      }
      const feeTypes = await client.all(`${path}/fee-types`, 'feeTypes')
      // After the bookings: one who is missing here was, nearly always, erased meanwhile. An import would refuse their bookings.
      const guests = await client.all(`${path}/guests`, 'guests')
      const guestIds = new Set(guests.map(({ id }) => id))
      writeFolder(
        folder,
        {
          agency,
          units: units.map(({ id: _unitId, ...unit }) => unit),
          rates,
          restrictions,
          'fee-types': feeTypes.map(({ id: _feeId, ...feeType }) => feeType),
          guests,
          bookings: bookings.map((booking) => bookingRow(booking, guestIds)),
        },
        options.format as Format,
      )
      const totals = {
        units: units.length,
        feeTypes: feeTypes.length,
        guests: guests.length,
        bookings: bookings.length,
      }
      if (session.isJson) session.printJson({ folder, ...totals })
      else
        terminal.out(
          `Wrote ${Object.entries(totals)
            .map(([name, n]) => `${n} ${name}`)
            .join(', ')} into ${folder}\n`,
        )
    },
  )
}

function bookingRow(booking: Json, guestIds: ReadonlySet<unknown>): Json {
  const guestId = (booking['guest'] as Json | null)?.['id']
  const all: Json = { ...booking, unit: booking['unitSlug'], guest: guestIds.has(guestId) ? guestId : null }
  return Object.fromEntries(BOOKING.map((name) => [name, all[name] ?? null]))
}
