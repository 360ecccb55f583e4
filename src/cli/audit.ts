import type { Command } from 'commander'
import { type Json, queryOf } from './portal-client.ts'
import { asking, paged } from './session.ts'
import type { Column } from './table.ts'
import type { Terminal } from './terminal.ts'

const AUDIT: readonly Column<Json>[] = [
  { title: 'AT', value: ({ at }) => at },
  {
    title: 'ACTOR',
    value: ({ actor }) =>
      Object.values(actor as Json)
        .filter(Boolean)
        .join(' '),
  },
  { title: 'ROUTE', value: ({ route }) => route },
  { title: 'OUTCOME', value: ({ outcome }) => outcome },
  { title: 'COUNT', value: ({ count }) => count, align: 'right' },
  { title: 'BOOKING', value: ({ bookingId }) => bookingId },
  { title: 'REQUEST', value: ({ requestId }) => requestId },
]
const USAGE: readonly Column<Json>[] = [
  { title: 'MONTH', value: ({ month }) => month },
  { title: 'USED', value: ({ used }) => used, align: 'right' },
  { title: 'QUOTA', value: ({ quota }) => quota, align: 'right' },
  { title: 'REMAINING', value: ({ remaining }) => remaining, align: 'right' },
]
const FILTERS = ['from', 'to', 'actor', 'key', 'outcome', 'booking', 'request', 'page', 'pageSize'] as const

export function audit(program: Command, terminal: Terminal): void {
  const noun = program.command('audit').description('read who did what')
  asking(
    noun,
    {
      name: 'list',
      summary: 'the audit trail, newest first',
      isDefault: true,
      options: (command) =>
        paged(command)
          .option('--from <moment>', 'a date or timestamp')
          .option('--to <moment>', 'before it')
          .option('--actor <kind>', 'key, portal or system')
          .option('--key <id>', 'of one API key')
          .option('--outcome <code>', 'OK, or the code of a refusal')
          .option('--booking <id>', 'of one booking')
          .option('--request <id>', 'of one request'),
      examples: ['audit list --outcome BOOKING_CONFLICT --from 2027-05-01'],
    },
    terminal,
    async (session, { options }) => {
      const filter = Object.fromEntries(FILTERS.map((name) => [name, options[name]]))
      session.list(await session.client.get(await session.agencyPath(`/audit${queryOf(filter)}`)), 'audit', AUDIT)
    },
  )
}

export function usage(program: Command, terminal: Terminal): void {
  const noun = program.command('usage').description('read how many requests were used')
  asking(
    noun,
    { name: 'list', summary: "the months' use, newest first", isDefault: true, options: paged },
    terminal,
    async (session, { options }) => {
      const { page, pageSize } = options
      const path = await session.agencyPath(`/usage${queryOf({ page, pageSize })}`)
      session.list(await session.client.get(path), 'usage', USAGE)
    },
  )
}
