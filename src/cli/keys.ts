import type { Command } from 'commander'
import { asList, asText, asTextOrNull, bodyOf, type Field, withFields } from './fields.ts'
import { type Json, queryOf } from './portal-client.ts'
import { asking, paged } from './session.ts'
import { type Column, listing } from './table.ts'
import type { Terminal } from './terminal.ts'

const FIELDS: readonly Field[] = [
  { name: 'name', value: '<text>', description: 'a name, to recognise it', read: asTextOrNull },
  {
    name: 'scopes',
    value: '<list>',
    description: 'with commas; the four plain read scopes when left out',
    read: asList,
  },
  { name: 'expiresAt', value: '<moment>', description: 'a date or an ISO 8601 timestamp', read: asText },
]

const COLUMNS: readonly Column<Json>[] = [
  { title: 'ID', value: ({ id }) => id },
  { title: 'NAME', value: ({ name }) => name },
  { title: 'PREFIX', value: ({ prefix }) => prefix },
  { title: 'SCOPES', value: ({ scopes }) => scopes },
  { title: 'LAST USED', value: ({ lastUsedAt }) => lastUsedAt },
  { title: 'EXPIRES', value: ({ expiresAt }) => expiresAt },
  { title: 'REVOKED', value: ({ revokedAt }) => revokedAt },
]

export function keys(program: Command, terminal: Terminal): void {
  const noun = program.command('keys').description('create, list and revoke API keys')
  asking(
    noun,
    { name: 'list', summary: 'list the API keys', options: paged },
    terminal,
    async (session, { options }) => {
      const { page, pageSize } = options
      session.list(
        await session.client.get(await session.agencyPath(`/keys${queryOf({ page, pageSize })}`)),
        'keys',
        COLUMNS,
      )
    },
  )
  asking(
    noun,
    {
      name: 'create',
      summary: 'create an API key; its secret is shown only once',
      options: (command) => withFields(command, FIELDS),
      examples: ['keys create --agency harbour --name Website --scopes read:units,read:rates,write:bookings'],
    },
    terminal,
    async (session, { options }) => {
      const body = await bodyOf(options, FIELDS, terminal)
      const answer = await session.client.send('POST', await session.agencyPath('/keys'), body)
      if (session.isJson) return session.printJson(answer)
      terminal.out(listing(answer['key'] as Json))
      terminal.out(`\nsecret  ${answer['secret']}\n`)
      terminal.err('Store the secret now: it is not shown again.\n')
    },
  )
  asking(
    noun,
    { name: 'revoke <id>', summary: 'revoke an API key permanently; takes effect with the next request' },
    terminal,
    async (session, { arguments: [id = ''] }) => {
      const path = await session.agencyPath(`/keys/${encodeURIComponent(id)}`)
      session.show(await session.client.send('DELETE', path), 'key')
    },
  )
}
