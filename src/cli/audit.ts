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
  const noun = program.command('audit').description('show who did what')
  asking(
    noun,
    {
      name: 'list',
      summary: 'list audit entries, newest first',
      isDefault: true,
      options: (command) =>
        paged(command)
          .option('--from <moment>', 'from this date or timestamp')
          .option('--to <moment>', 'before this date or timestamp')
          .option('--actor <kind>', 'key, access_token, portal or system')
          .option('--key <id>', 'only this API key')
          .option('--access-token <id>', 'only this access token')
          .option('--outcome <code>', 'OK, or the code of a refusal')
          .option('--booking <id>', 'only this booking')
          .option('--request <id>', 'only this request'),
      examples: ['audit list --outcome BOOKING_CONFLICT --from 2027-05-01'],
    },
    terminal,
    async (session, { options }) => {
      // `--token` is what the command itself signs in with.
      const filter = { ...Object.fromEntries(FILTERS.map((name) => [name, options[name]])), token: options.accessToken }
      session.list(await session.client.get(await session.agencyPath(`/audit${queryOf(filter)}`)), 'audit', AUDIT)
    },
  )
}

export function usage(program: Command, terminal: Terminal): void {
  const noun = program.command('usage').description('show how many requests were made')
  asking(
    noun,
    { name: 'list', summary: 'list usage by month, newest first', isDefault: true, options: paged },
    terminal,
    async (session, { options }) => {
      const { page, pageSize } = options
      const path = await session.agencyPath(`/usage${queryOf({ page, pageSize })}`)
      session.list(await session.client.get(path), 'usage', USAGE)
    },
  )
}
