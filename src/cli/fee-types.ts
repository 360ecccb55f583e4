import type { Command } from 'commander'
import { asBoolean, asNumberOrNull, asText, bodyOf, type Field, withFields } from './fields.ts'
import { type Json, queryOf } from './portal-client.ts'
import { asking, paged } from './session.ts'
import type { Column } from './table.ts'
import type { Terminal } from './terminal.ts'

const FIELDS: readonly Field[] = [
  { name: 'label', value: '<text>', description: 'shown to the guest verbatim', read: asText },
  {
    name: 'kind',
    value: '<fixed|percent>',
    description: 'an amount per stay, or a percentage of the accommodation',
    read: asText,
  },
  { name: 'amount', value: '<minor>', description: 'amount of a fixed fee, in minor units', read: asNumberOrNull },
  { name: 'pct', value: '<percent>', description: 'percentage of a percent fee', read: asNumberOrNull },
  {
    name: 'application',
    value: '<every_stay|on_request>',
    description: 'whether it is part of every quote',
    read: asText,
  },
  { name: 'includesWeeklyCleaning', value: '<yes|no>', description: 'visible to partners', read: asBoolean },
  { name: 'active', value: '<yes|no>', description: 'whether partners see it', read: asBoolean },
]

const COLUMNS: readonly Column<Json>[] = [
  { title: 'ID', value: ({ id }) => id },
  { title: 'LABEL', value: ({ label }) => label },
  { title: 'KIND', value: ({ kind }) => kind },
  { title: 'AMOUNT', value: ({ amount }) => amount, align: 'right' },
  { title: 'PERCENT', value: ({ pct }) => pct, align: 'right' },
  { title: 'APPLICATION', value: ({ application }) => application },
  { title: 'ACTIVE', value: ({ active }) => (active === true ? 'yes' : 'no') },
]

export function feeTypes(program: Command, terminal: Terminal): void {
  const noun = program.command('fee-types').description('create, list and change fees')
  asking(
    noun,
    { name: 'list', summary: 'list the fee types', options: paged },
    terminal,
    async (session, { options }) => {
      const { page, pageSize } = options
      const path = await session.agencyPath(`/fee-types${queryOf({ page, pageSize })}`)
      session.list(await session.client.get(path), 'feeTypes', COLUMNS)
    },
  )
  asking(
    noun,
    {
      name: 'create',
      summary: 'create a fee type',
      options: (command) => withFields(command, FIELDS),
      examples: ['fee-types create --label "City tax" --kind fixed --amount 800'],
    },
    terminal,
    async (session, { options }) => {
      const body = await bodyOf(options, FIELDS, terminal)
      session.show(await session.client.send('POST', await session.agencyPath('/fee-types'), body), 'feeType')
    },
  )
  asking(
    noun,
    {
      name: 'update <id>',
      summary: 'change or deactivate a fee type',
      options: (command) => withFields(command, FIELDS),
      examples: ['fee-types update fee_019a… --active no'],
    },
    terminal,
    async (session, { arguments: [id = ''], options }) => {
      const body = await bodyOf(options, FIELDS, terminal)
      const path = await session.agencyPath(`/fee-types/${encodeURIComponent(id)}`)
      session.show(await session.client.send('PATCH', path, body), 'feeType')
    },
  )
}
