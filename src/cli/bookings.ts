import type { Command } from 'commander'
import { asBoolean, asNumber, asNumberOrNull, asText, asTextOrNull, bodyOf, type Field, withFields } from './fields.ts'
import { importIcal } from './import-ical.ts'
import { type Json, queryOf } from './portal-client.ts'
import { asking, paged } from './session.ts'
import type { Column } from './table.ts'
import type { Terminal } from './terminal.ts'

const STAY: readonly Field[] = [
  { name: 'unit', value: '<slug>', description: 'slug of the unit', read: asText },
  { name: 'arrival', value: '<date>', description: 'the first night', read: asText },
  { name: 'departure', value: '<date>', description: 'the departure day', read: asText },
]
const STATUS = 'draft, option, confirmed, checked_in, checked_out, cancelled'
const EXPECTED: Field = {
  name: 'expectedUntil',
  value: '<date>',
  description: 'the day until which the current guest is expected to stay; "" to clear',
  read: asTextOrNull,
}
const NEW: readonly Field[] = [
  ...STAY,
  { name: 'type', value: '<type>', description: 'guest, owner_stay, maintenance, block', read: asText },
  { name: 'status', value: '<status>', description: STATUS, read: asText },
  { name: 'source', value: '<text>', description: 'where the booking comes from', read: asText },
  { name: 'sourceRef', value: '<text>', description: "reference in the source's system", read: asTextOrNull },
  { name: 'adults', value: '<n>', description: 'adults', read: asNumber },
  { name: 'children', value: '<n>', description: 'children', read: asNumber },
  { name: 'extraBed', value: '<yes|no>', description: 'extra bed for a child', read: asBoolean },
  { name: 'notes', value: '<text>', description: 'internal notes', read: asTextOrNull },
  { name: 'holdHours', value: '<hours>', description: 'lifetime of a draft or option, in hours', read: asNumberOrNull },
  EXPECTED,
]
const GUEST: readonly Field[] = [
  { name: 'guestFirstName', value: '<text>', description: "guest's first name", read: asTextOrNull },
  { name: 'guestLastName', value: '<text>', description: "guest's last name", read: asTextOrNull },
  { name: 'guestEmail', value: '<text>', description: "guest's e-mail address", read: asTextOrNull },
  { name: 'guestPhone', value: '<text>', description: "guest's phone number", read: asTextOrNull },
  { name: 'guestNationality', value: '<text>', description: "guest's nationality", read: asTextOrNull },
]
const CHANGE: readonly Field[] = [
  { name: 'status', value: '<status>', description: STATUS, read: asText },
  ...STAY,
  {
    name: 'holdExpiresAt',
    value: '<moment>',
    description: 'a date or timestamp; a time in the past ends the hold',
    read: asText,
  },
  EXPECTED,
  {
    name: 'pricing',
    value: '<reprice|keep>',
    description: 'price new dates or another unit again (default), or keep the total',
    read: asText,
  },
]

const BOOKING_COLUMNS: readonly Column<Json>[] = [
  { title: 'ID', value: ({ id }) => id },
  { title: 'UNIT', value: ({ unitSlug }) => unitSlug },
  { title: 'ARRIVAL', value: ({ arrival }) => arrival },
  { title: 'DEPARTURE', value: ({ departure }) => departure },
  { title: 'TYPE', value: ({ type }) => type },
  { title: 'STATUS', value: ({ status }) => status },
  { title: 'SOURCE', value: ({ source }) => source },
  { title: 'GUEST', value: ({ guest }) => nameOf(guest as Json | null) },
  { title: 'TOTAL', value: ({ totalAmount }) => totalAmount, align: 'right' },
]

function nameOf(guest: Json | null): string | null {
  return guest === null ? null : `${guest['firstName']} ${guest['lastName']}`
}

const FILTERS = ['from', 'to', 'status', 'type', 'unit', 'source', 'sourceRef', 'guest'] as const

export function bookings(program: Command, terminal: Terminal): void {
  const noun = program.command('bookings').description('create, show, change and cancel bookings')
  asking(
    noun,
    {
      name: 'list',
      summary: 'list bookings, newest arrival first',
      options: (command) =>
        paged(command)
          .option('--from <date>', 'departing on or after this date')
          .option('--to <date>', 'arriving on or before this date')
          .option('--status <status>', STATUS)
          .option('--type <type>', 'guest, owner_stay, maintenance, block')
          .option('--unit <slug>', 'only this unit')
          .option('--source <text>', 'exact source')
          .option('--source-ref <text>', 'exact reference')
          .option('--guest <id>', 'only this guest'),
      examples: ['bookings list --from 2027-05-01 --to 2027-05-31 --status confirmed'],
    },
    terminal,
    async (session, { options }) => {
      const { page, pageSize } = options
      const filter = Object.fromEntries(FILTERS.map((name) => [name, options[name]]))
      const path = await session.agencyPath(`/bookings${queryOf({ ...filter, page, pageSize })}`)
      session.list(await session.client.get(path), 'bookings', BOOKING_COLUMNS)
    },
  )
  asking(
    noun,
    {
      name: 'create',
      summary: 'create a booking of any type and status',
      options: (command) => dry(withFields(command, [...NEW, ...GUEST])),
      examples: [
        'bookings create --unit sea-view --arrival 2027-05-01 --departure 2027-05-08 --type maintenance --notes Painting',
        'bookings create --unit sea-view --arrival 2027-06-01 --departure 2027-06-04 --guest-first-name Ana --guest-last-name Reis',
      ],
    },
    terminal,
    async (session, { options }) => {
      const body = await bodyOf(options, NEW, terminal)
      const guest = guestOf(await bodyOf({ ...options, data: undefined }, GUEST, terminal))
      const sent = guest === null ? body : { ...body, guest: { ...(body['guest'] as Json | undefined), ...guest } }
      const path = await session.agencyPath(`/bookings${queryOf({ dryRun: options['dryRun'] })}`)
      session.show(await session.client.send('POST', path, sent), 'booking')
    },
  )
  asking(
    noun,
    { name: 'show <id>', summary: 'show a booking with its guest and notes' },
    terminal,
    async (session, { arguments: [id = ''] }) => {
      session.show(await session.client.get(await session.agencyPath(`/bookings/${encodeURIComponent(id)}`)), 'booking')
    },
  )
  asking(
    noun,
    {
      name: 'update <id>',
      summary: 'change status, dates, unit, hold or expected stay',
      options: (command) => dry(withFields(command, CHANGE)),
      examples: [
        'bookings update bkg_019a… --status checked_in',
        'bookings update bkg_019a… --unit garden --departure 2027-06-06',
        'bookings update bkg_019a… --unit garden --pricing keep --dry-run',
      ],
    },
    terminal,
    async (session, { arguments: [id = ''], options }) => {
      const body = await bodyOf(options, CHANGE, terminal)
      const path = await session.agencyPath(
        `/bookings/${encodeURIComponent(id)}${queryOf({ dryRun: options['dryRun'] })}`,
      )
      session.show(await session.client.send('PATCH', path, body), 'booking')
    },
  )
  asking(
    noun,
    {
      name: 'cancel <id>',
      summary: 'cancel a booking and release its nights',
      options: (command) => dry(command.option('--reason <text>', 'stored with the booking')),
    },
    terminal,
    async (session, { arguments: [id = ''], options }) => {
      const query = queryOf({ dryRun: options['dryRun'] })
      const path = await session.agencyPath(`/bookings/${encodeURIComponent(id)}/cancel${query}`)
      session.show(await session.client.send('POST', path, { reason: options.reason ?? null }), 'booking')
    },
  )
  asking(
    noun,
    {
      name: 'erase-texts <id>',
      summary: 'erase notes, reference and cancellation reason of a booking, which may name the guest',
      examples: ['bookings erase-texts bkg_019a…'],
    },
    terminal,
    async (session, { arguments: [id = ''] }) => {
      const path = await session.agencyPath(`/bookings/${encodeURIComponent(id)}/erase-texts`)
      session.show(await session.client.send('POST', path, undefined), 'booking')
    },
  )
  importIcal(noun, terminal)
}

function dry(command: Command): Command {
  return command.option('--dry-run', 'only show the booking as it would be; nothing is written')
}

function guestOf(options: Json): Json | null {
  const members = Object.entries(options).map(([name, value]) => {
    const member = name.slice('guest'.length)
    return [`${member.charAt(0).toLowerCase()}${member.slice(1)}`, value]
  })
  return members.length === 0 ? null : Object.fromEntries(members)
}
