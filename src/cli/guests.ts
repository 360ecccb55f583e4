import type { Command } from 'commander'
import { asText, asTextOrNull, bodyOf, type Field, withFields } from './fields.ts'
import { type Json, queryOf } from './portal-client.ts'
import { asking, paged } from './session.ts'
import { type Column, listing, table } from './table.ts'
import type { Terminal } from './terminal.ts'

const FIELDS: readonly Field[] = [
  { name: 'firstName', value: '<text>', description: 'first name', read: asText },
  { name: 'lastName', value: '<text>', description: 'last name', read: asText },
  { name: 'email', value: '<text>', description: '"" to clear', read: asTextOrNull },
  { name: 'phone', value: '<text>', description: '"" to clear', read: asTextOrNull },
  { name: 'nationality', value: '<text>', description: '"" to clear', read: asTextOrNull },
]
const COLUMNS: readonly Column<Json>[] = [
  { title: 'ID', value: ({ id }) => id },
  { title: 'NAME', value: ({ firstName, lastName }) => `${firstName} ${lastName}` },
  { title: 'E-MAIL', value: ({ email }) => email },
  { title: 'PHONE', value: ({ phone }) => phone },
  { title: 'NATIONALITY', value: ({ nationality }) => nationality },
]
const STAYS: readonly Column<Json>[] = [
  { title: 'BOOKING', value: ({ id }) => id },
  { title: 'UNIT', value: ({ unitSlug }) => unitSlug },
  { title: 'ARRIVAL', value: ({ arrival }) => arrival },
  { title: 'DEPARTURE', value: ({ departure }) => departure },
  { title: 'STATUS', value: ({ status }) => status },
]

export function guests(program: Command, terminal: Terminal): void {
  const noun = program.command('guests').description('show and change guests')
  asking(
    noun,
    {
      name: 'list',
      summary: 'list guests, newest first',
      options: (command) => paged(command).option('--search <text>', 'part of a name, e-mail or phone'),
    },
    terminal,
    async (session, { options }) => {
      const { page, pageSize, search } = options
      const path = await session.agencyPath(`/guests${queryOf({ page, pageSize, search })}`)
      session.list(await session.client.get(path), 'guests', COLUMNS)
    },
  )
  asking(
    noun,
    { name: 'show <id>', summary: 'show a guest with recent stays' },
    terminal,
    async (session, { arguments: [id = ''] }) => {
      const answer = await session.client.get(await session.agencyPath(`/guests/${encodeURIComponent(id)}`))
      if (session.isJson) return session.printJson(answer)
      const { stays, ...guest } = answer['guest'] as Json
      terminal.out(`${listing(guest)}\n${table(stays as Json[], STAYS, 'No stays.')}`)
    },
  )
  asking(
    noun,
    { name: 'update <id>', summary: 'change a guest', options: (command) => withFields(command, FIELDS) },
    terminal,
    async (session, { arguments: [id = ''], options }) => {
      const body = await bodyOf(options, FIELDS, terminal)
      const path = await session.agencyPath(`/guests/${encodeURIComponent(id)}`)
      session.show(await session.client.send('PATCH', path, body), 'guest')
    },
  )
}
