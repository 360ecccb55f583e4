/** `guests erase` and `guests export`: what a person may ask of an agency that has data about them. */
import { join } from 'node:path'
import type { Command } from 'commander'
import { CliError, EXIT, UsageError } from './exit-codes.ts'
import { csvText, writeFiles } from './folder.ts'
import { type Json, queryOf } from './portal-client.ts'
import { type Session, serviceCommand } from './session.ts'
import type { Terminal } from './terminal.ts'

interface GuestOptions {
  readonly guest?: string
  readonly email?: string
}

const namingGuest = (command: Command): Command =>
  command.option('--guest <id>', 'id of the guest').option('--email <address>', "the guest's e-mail, instead of the id")

export function addGuestData(noun: Command, terminal: Terminal): void {
  serviceCommand<GuestOptions & { readonly dryRun?: boolean }>(
    noun,
    {
      name: 'erase',
      summary: 'erase a guest',
      description:
        'Erase name, e-mail, phone and nationality of a guest, and notes, references and cancellation reasons of all their bookings. The bookings ' +
        'stay as figures. This cannot be undone. Erasing again changes nothing.',
      examples: ['guests erase --email ana@example.com --dry-run', 'guests erase --guest gst_…'],
      options: (command) => namingGuest(command).option('--dry-run', 'only say what would be erased'),
    },
    terminal,
    async (session, { options }) => {
      const path = await session.agencyPath(`/guests/${encodeURIComponent(await guestIdOf(session, options))}/erase`)
      const answer = await session.client.send('POST', path + queryOf({ dryRun: options.dryRun }))
      if (session.isJson) session.printJson(answer)
      else terminal.out(erasureText(answer['erasure'] as Json))
    },
  )
  serviceCommand<GuestOptions & { readonly out: string }>(
    noun,
    {
      name: 'export',
      summary: 'write everything that is held about a guest into a folder',
      description:
        'Write guest.json, with everything that is held about the guest, and stays.csv, with their stays, into a folder that you can hand over.',
      examples: ['guests export --guest gst_… --out ./ana-reis'],
      options: (command) => namingGuest(command).requiredOption('--out <folder>', 'folder for the two files'),
    },
    terminal,
    async (session, { options }) => {
      const { guest, bookings } = await exportGuest(session, await guestIdOf(session, options), options.out)
      const written = { folder: options.out, guest, bookings }
      if (session.isJson) session.printJson(written)
      else terminal.out(`Wrote guest.json and stays.csv (${counted(bookings, 'booking')}) into ${options.out}\n`)
    },
  )
}

/** @throws UsageError unless one of both is given; CliError when no guest has the e-mail */
async function guestIdOf(session: Session, { guest, email }: GuestOptions): Promise<string> {
  if ((guest === undefined) === (email === undefined)) throw new UsageError('Name the guest: use --guest or --email.')
  if (email === undefined) return guest ?? ''
  const path = await session.agencyPath(`/guests${queryOf({ search: email })}`)
  for await (const found of session.client.each(path, 'guests'))
    if (String(found['email']).toLowerCase() === email.toLowerCase()) return String(found['id'])
  throw new CliError(`No guest has the e-mail ${email}.`, EXIT.refused)
}

async function exportGuest(session: Session, guestId: string, out: string) {
  const { client } = session
  const path = await session.agencyPath()
  const { agency } = (await client.get(path)) as { agency: Json }
  const { guest } = (await client.get(`${path}/guests/${encodeURIComponent(guestId)}`)) as { guest: Json }
  const found = await client.all(`${path}/bookings${queryOf({ guest: guestId })}`, 'bookings')
  // The guest is in each of them.
  const bookings = found.map(({ guest: _, ...booking }) => booking)
  const { stays: _, ...person } = guest
  const held = {
    exportedAt: new Date().toISOString(),
    agency: { slug: agency['slug'], name: agency['name'] },
    guest: person,
    bookings,
  }
  writeFiles(out, {
    'guest.json': `${JSON.stringify(held, null, 2)}\n`,
    'stays.csv': csvText(bookings),
  })
  return { guest: join(out, 'guest.json'), bookings: bookings.length }
}

function erasureText({ guestId, erasedAt, bookings, upcoming, withNotes, withReference, withReason }: Json): string {
  const what = [
    counted(withNotes, 'note'),
    counted(withReference, 'reference'),
    counted(withReason, 'cancellation reason'),
  ].join(', ')
  const stays = `${counted(bookings, 'booking')}, ${upcoming} of them upcoming`
  return erasedAt === null
    ? `Would erase guest ${guestId}. Would stay as figures: ${stays}. Would be erased with them: ${what}.\n`
    : `Erased guest ${guestId} at ${erasedAt}. Kept as figures: ${stays}. Erased with them: ${what}.\n`
}

function counted(n: unknown, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`
}
