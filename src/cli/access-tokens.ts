import type { Command } from 'commander'
import { asText, bodyOf, type Field, withFields } from './fields.ts'
import { type Json, queryOf } from './portal-client.ts'
import { asking, paged } from './session.ts'
import { type Column, listing } from './table.ts'
import type { Terminal } from './terminal.ts'

const FIELDS: readonly Field[] = [
  { name: 'name', value: '<text>', description: 'the holder, as shown in the audit trail', read: asText },
  { name: 'role', value: '<role>', description: 'viewer, desk, manager or owner', read: asText },
  { name: 'expiresAt', value: '<moment>', description: 'a date or an ISO 8601 timestamp', read: asText },
]

const COLUMNS: readonly Column<Json>[] = [
  { title: 'ID', value: ({ id }) => id },
  { title: 'NAME', value: ({ name }) => name },
  { title: 'ROLE', value: ({ role }) => role },
  { title: 'PREFIX', value: ({ prefix }) => prefix },
  { title: 'EXPIRES', value: ({ expiresAt }) => expiresAt },
  { title: 'REVOKED', value: ({ revokedAt }) => revokedAt },
]

export function accessTokens(program: Command, terminal: Terminal): void {
  const noun = program
    .command('access-tokens')
    .description('create, list and revoke access tokens of the people of an agency')
  asking(
    noun,
    { name: 'list', summary: 'list the access tokens', options: paged },
    terminal,
    async (session, { options }) => {
      const { page, pageSize } = options
      const path = await session.agencyPath(`/access-tokens${queryOf({ page, pageSize })}`)
      session.list(await session.client.get(path), 'accessTokens', COLUMNS)
    },
  )
  asking(
    noun,
    {
      name: 'create',
      summary: 'create an access token; its secret is shown only once',
      options: (command) => withFields(command, FIELDS),
      examples: ['access-tokens create --agency harbour --name Maria --role desk'],
    },
    terminal,
    async (session, { options }) => {
      const body = await bodyOf(options, FIELDS, terminal)
      const answer = await session.client.send('POST', await session.agencyPath('/access-tokens'), body)
      if (session.isJson) return session.printJson(answer)
      terminal.out(listing(answer['accessToken'] as Json))
      terminal.out(`\nsecret  ${answer['secret']}\n`)
      terminal.err('Store the secret now: it is not shown again.\n')
    },
  )
  asking(
    noun,
    { name: 'revoke <id>', summary: 'revoke an access token permanently; takes effect with the next request' },
    terminal,
    async (session, { arguments: [id = ''] }) => {
      const path = await session.agencyPath(`/access-tokens/${encodeURIComponent(id)}`)
      session.show(await session.client.send('DELETE', path), 'accessToken')
    },
  )
}
