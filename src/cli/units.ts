import type { Command } from 'commander'
import { asBoolean, asNumber, asNumberOrNull, asText, asTextOrNull, bodyOf, type Field, withFields } from './fields.ts'
import { type Json, queryOf } from './portal-client.ts'
import { asking, paged } from './session.ts'
import type { Column } from './table.ts'
import type { Terminal } from './terminal.ts'

const FIELDS: readonly Field[] = [
  { name: 'slug', value: '<slug>', description: 'stable identifier in URLs', read: asText },
  { name: 'name', value: '<text>', description: 'visible to partners', read: asText },
  {
    name: 'status',
    value: '<active|draft|archived>',
    description: 'partners do not see archived units',
    read: asText,
  },
  { name: 'basePrice', value: '<minor>', description: 'per night, in minor units', read: asNumber },
  { name: 'cleaningFee', value: '<minor>', description: 'per stay, in minor units', read: asNumber },
  { name: 'extraBedFee', value: '<minor>', description: 'per night, in minor units', read: asNumber },
  { name: 'minStay', value: '<nights>', description: 'nights', read: asNumber },
  {
    name: 'turnoverNights',
    value: '<nights>',
    description: 'nights blocked for cleaning after a departure',
    read: asNumber,
  },
  { name: 'maxGuests', value: '<n>', description: 'guests', read: asNumber },
  { name: 'bedrooms', value: '<n>', description: 'bedrooms', read: asNumber },
  { name: 'beds', value: '<n>', description: 'beds', read: asNumber },
  { name: 'bathrooms', value: '<n>', description: 'bathrooms', read: asNumber },
  { name: 'sizeSqm', value: '<n>', description: 'square metres; "" for none', read: asNumberOrNull },
  { name: 'city', value: '<text>', description: 'city; "" for none', read: asTextOrNull },
  { name: 'area', value: '<text>', description: 'part of the city; "" for none', read: asTextOrNull },
  { name: 'building', value: '<text>', description: 'building; "" for none', read: asTextOrNull },
  { name: 'checkinTime', value: '<HH:MM>', description: 'local time', read: asText },
  { name: 'checkoutTime', value: '<HH:MM>', description: 'local time', read: asText },
  { name: 'instantBook', value: '<yes|no>', description: 'visible to partners', read: asBoolean },
]

const COLUMNS: readonly Column<Json>[] = [
  { title: 'SLUG', value: ({ slug }) => slug },
  { title: 'NAME', value: ({ name }) => name },
  { title: 'STATUS', value: ({ status }) => status },
  { title: 'CITY', value: ({ city }) => city },
  { title: 'GUESTS', value: ({ maxGuests }) => maxGuests, align: 'right' },
  { title: 'PRICE', value: ({ basePrice }) => basePrice, align: 'right' },
  { title: 'MIN STAY', value: ({ minStay }) => minStay, align: 'right' },
  { title: 'TURNOVER', value: ({ turnoverNights }) => turnoverNights, align: 'right' },
]

export function units(program: Command, terminal: Terminal): void {
  const noun = program.command('units').description('create, show and change units')
  asking(
    noun,
    {
      name: 'list',
      summary: 'list the units, including archived ones',
      options: (command) => paged(command).option('--status <status>', 'active, draft or archived'),
    },
    terminal,
    async (session, { options }) => {
      const { page, pageSize, status } = options
      const path = await session.agencyPath(`/units${queryOf({ page, pageSize, status })}`)
      session.list(await session.client.get(path), 'units', COLUMNS)
    },
  )
  asking(
    noun,
    {
      name: 'create',
      summary: 'create a unit',
      options: (command) => withFields(command, FIELDS),
      examples: ['units create --slug sea-view --name "Sea View" --base-price 12000 --max-guests 4'],
    },
    terminal,
    async (session, { options }) => {
      const body = await bodyOf(options, FIELDS, terminal)
      session.show(await session.client.send('POST', await session.agencyPath('/units'), body), 'unit')
    },
  )
  asking(
    noun,
    { name: 'show <slug>', summary: 'show a unit' },
    terminal,
    async (session, { arguments: [slug = ''] }) => {
      session.show(await session.client.get(await session.agencyPath(`/units/${encodeURIComponent(slug)}`)), 'unit')
    },
  )
  asking(
    noun,
    {
      name: 'update <slug>',
      summary: 'change a unit; prices take effect with the next quote',
      options: (command) => withFields(command, FIELDS),
      examples: ['units update sea-view --base-price 13500 --turnover-nights 1'],
    },
    terminal,
    async (session, { arguments: [slug = ''], options }) => {
      const body = await bodyOf(options, FIELDS, terminal)
      const path = await session.agencyPath(`/units/${encodeURIComponent(slug)}`)
      session.show(await session.client.send('PATCH', path, body), 'unit')
    },
  )
  asking(
    noun,
    {
      name: 'calendar-url <slug>',
      summary: "show a unit's secret iCalendar address, for channels",
      options: (command) => command.option('--change', 'replace it; the old address answers 404 immediately'),
    },
    terminal,
    async (session, { arguments: [slug = ''], options }) => {
      const path = await session.agencyPath(`/units/${encodeURIComponent(slug)}/calendar-feed`)
      const answer = await session.client.send(options.change === true ? 'POST' : 'GET', path)
      if (session.isJson) session.printJson(answer)
      else terminal.out(`${(answer['calendarFeed'] as Json)['url']}\n`)
    },
  )
}
