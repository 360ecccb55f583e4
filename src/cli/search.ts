import type { Command } from 'commander'
import { asBoolean } from './fields.ts'
import { PartnerClient } from './partner-client.ts'
import { type Json, queryOf } from './portal-client.ts'
import { paged, tellPages } from './session.ts'
import { type Column, table } from './table.ts'
import type { Terminal } from './terminal.ts'

const COLUMNS: readonly Column<Json>[] = [
  { title: 'UNIT', value: ({ unit }) => unit },
  { title: 'NAME', value: ({ name }) => name },
  { title: 'CITY', value: ({ city }) => city },
  { title: 'BEDROOMS', value: ({ bedrooms }) => bedrooms, align: 'right' },
  { title: 'GUESTS', value: ({ maxGuests }) => maxGuests, align: 'right' },
  { title: 'ARRIVAL', value: ({ arrival }) => arrival },
  { title: 'DEPARTURE', value: ({ departure }) => departure },
  { title: 'TOTAL', value: ({ total }) => total, align: 'right' },
]

/** Options that are parameters of the query under the same name. */
const PARAMETERS = [
  ...['arrival', 'departure', 'from', 'to', 'nights', 'adults', 'children', 'city', 'area', 'bedrooms'],
  ...['maxTotal', 'each', 'sort', 'page', 'pageSize'],
] as const

type Options = { readonly [N in (typeof PARAMETERS)[number] | 'extraBed' | 'key' | 'url']?: string } & {
  readonly json?: boolean
}

/** `search`: the stays that can be booked, as a partner finds them. */
export function search(program: Command, terminal: Terminal): void {
  const command = program
    .command('search')
    .summary('search stays that can be booked, with their totals')
    .description('Search stays that can be booked, with exact totals, as the partner with this API key finds them.')
    .option('--arrival <date>', 'the first night; with --departure')
    .option('--departure <date>', 'the departure day')
    .option('--from <date>', 'start of a window; with --to and --nights')
    .option('--to <date>', 'end of the window, exclusive; at most 92 days after --from')
    .option('--nights <n>', 'length of the stays in the window, 1 to 60')
    .option('--adults <n>', 'adults (default: 2)')
    .option('--children <n>', 'children (default: 0)')
    .option('--extra-bed <yes|no>', 'extra bed for a child')
    .option('--city <text>', 'city of the unit; upper and lower case do not matter')
    .option('--area <text>', 'area of the unit; upper and lower case do not matter')
    .option('--bedrooms <n>', 'minimum number of bedrooms')
    .option('--max-total <minor>', 'highest total, in minor units')
    .option('--each <unit|stay>', 'the cheapest stay of each unit (the default), or every stay')
    .option('--sort <order>', 'total (the default), -total, arrival or name')
  paged(command)
    .option('--key <key>', 'API key with the scope read:rates (default: NIGHTLEDGER_KEY)')
    .option('--json', 'print the response as JSON')
    .option('--url <url>', 'address of the service (default: NIGHTLEDGER_URL, or the local service)')
    .addHelpText(
      'after',
      '\nExamples:\n  $ nightledger search --from 2027-07-01 --to 2027-08-01 --nights 7 --city Lisbon',
    )
    .action(async (options: Options) => {
      const { extraBed, json = false } = options
      const query = Object.fromEntries(PARAMETERS.map((name) => [name, options[name]]))
      const withBed = extraBed === undefined ? undefined : asBoolean(extraBed)
      const client = new PartnerClient(options, terminal.env)
      const answer = await client.get(`/search${queryOf({ ...query, extraBed: withBed })}`)
      if (json) {
        terminal.out(`${JSON.stringify(answer, null, 2)}\n`)
        return
      }
      terminal.out(table(answer['offers'] as Json[], COLUMNS))
      tellPages(answer, terminal)
    })
}
