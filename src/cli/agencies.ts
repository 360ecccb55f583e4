import type { Command } from 'commander'
import { asBoolean, asNumber, asText, bodyOf, type Field, withFields } from './fields.ts'
import { type Json, queryOf } from './portal-client.ts'
import { asking, paged } from './session.ts'
import type { Column } from './table.ts'
import type { Terminal } from './terminal.ts'

const PLAN: readonly Field[] = [
  { name: 'apiAccess', value: '<yes|no>', description: 'whether partners can use the API', read: asBoolean },
  { name: 'requestsPerMinute', value: '<n>', description: 'rate limit per API key', read: asNumber },
  { name: 'requestsPerMonth', value: '<n>', description: 'monthly quota, all keys together', read: asNumber },
]
const COMMON: readonly Field[] = [
  { name: 'name', value: '<text>', description: 'visible to partners', read: asText },
  { name: 'defaultHoldHours', value: '<hours>', description: 'default lifetime of holds, in hours', read: asNumber },
]
const NEW: readonly Field[] = [
  { name: 'slug', value: '<slug>', description: 'stable identifier in URLs', read: asText },
  { name: 'currency', value: '<code>', description: 'ISO 4217 code; cannot be changed', read: asText },
  { name: 'timezone', value: '<name>', description: 'IANA time zone; cannot be changed', read: asText },
  ...COMMON,
]
const CHANGE: readonly Field[] = [
  ...COMMON,
  { name: 'status', value: '<active|suspended>', description: 'keys of a suspended agency get 401', read: asText },
]

const COLUMNS: readonly Column<Json>[] = [
  { title: 'SLUG', value: ({ slug }) => slug },
  { title: 'NAME', value: ({ name }) => name },
  { title: 'STATUS', value: ({ status }) => status },
  { title: 'CURRENCY', value: ({ currency }) => currency },
  { title: 'TIME ZONE', value: ({ timezone }) => timezone },
]

export function agencies(program: Command, terminal: Terminal): void {
  const noun = program.command('agencies').description('create, show and change agencies')
  asking(
    noun,
    { name: 'list', summary: 'list the agencies', isOfAll: true, options: paged },
    terminal,
    async (session, { options }) => {
      const { page, pageSize } = options
      session.list(await session.client.get(`/agencies${queryOf({ page, pageSize })}`), 'agencies', COLUMNS)
    },
  )
  asking(
    noun,
    {
      name: 'create',
      summary: 'create an agency',
      isOfAll: true,
      options: (command) => withFields(command, [...NEW, ...PLAN]),
      examples: ['agencies create --slug harbour --name "Harbour Stays" --currency EUR --timezone Europe/Lisbon'],
    },
    terminal,
    async (session, { options }) => {
      session.show(await session.client.send('POST', '/agencies', await agencyBody(options, NEW, terminal)), 'agency')
    },
  )
  asking(noun, { name: 'show', summary: 'show an agency' }, terminal, async (session) => {
    session.show(await session.client.get(await session.agencyPath()), 'agency')
  })
  asking(
    noun,
    {
      name: 'update',
      summary: 'change an agency; takes effect with the next request',
      options: (command) => withFields(command, [...CHANGE, ...PLAN]),
      examples: ['agencies update --agency harbour --status suspended'],
    },
    terminal,
    async (session, { options }) => {
      const body = await agencyBody(options, CHANGE, terminal)
      session.show(await session.client.send('PATCH', await session.agencyPath(), body), 'agency')
    },
  )
}

async function agencyBody(options: Json, fields: readonly Field[], terminal: Terminal): Promise<Json> {
  const body = await bodyOf(options, fields, terminal)
  const plan = await bodyOf({ ...options, data: undefined }, PLAN, terminal)
  return Object.keys(plan).length === 0 ? body : { ...body, plan: { ...(body['plan'] as Json | undefined), ...plan } }
}
