import type { Command } from 'commander'
import { connectionOf } from './connection.ts'
import { UsageError } from './exit-codes.ts'
import { type Json, PortalClient } from './portal-client.ts'
import { type Column, listing, table } from './table.ts'
import type { Terminal } from './terminal.ts'

/** The options of every command that calls the service. */
interface SessionOptions {
  readonly agency?: string
  readonly json?: boolean
  readonly url?: string
  readonly token?: string
}

/** One run of a command against the service. */
export class Session {
  readonly terminal: Terminal
  readonly isJson: boolean
  readonly #agency: string | undefined
  readonly #options: SessionOptions
  #client: PortalClient | null = null

  constructor(options: SessionOptions, terminal: Terminal) {
    this.terminal = terminal
    this.#options = options
    this.isJson = options.json === true
    this.#agency = options.agency ?? (terminal.env['NIGHTLEDGER_AGENCY'] || undefined)
  }

  /** Resolved on first use: a command that uses the database needs no portal token. */
  get client(): PortalClient {
    this.#client ??= new PortalClient(connectionOf(this.#options, this.terminal.env))
    return this.#client
  }

  /** The agency that was named; without a name, that of the access token, or the only one there is. */
  async agencySlug(): Promise<string> {
    if (this.#agency !== undefined) return this.#agency
    if (this.client.hasAccessToken) {
      const { actor } = await this.client.get('/me')
      return String((actor as Json)['agency'])
    }
    const agencies = await this.client.all('/agencies', 'agencies')
    const [only] = agencies
    if (agencies.length === 1 && only !== undefined) return String(only['slug'])
    if (agencies.length === 0) throw new UsageError('There are no agencies yet. Create one: agencies create --help')
    const slugs = agencies.slice(0, 10).map(({ slug }) => slug)
    throw new UsageError(`Which agency? Use --agency or set NIGHTLEDGER_AGENCY. Agencies: ${slugs.join(', ')}`)
  }

  /** The path of the agency, or of something in it. */
  async agencyPath(path = ''): Promise<string> {
    return `/agencies/${encodeURIComponent(await this.agencySlug())}${path}`
  }

  /** A single object: all of the answer as JSON, or the member in lines. */
  show(answer: Readonly<Record<string, unknown>>, member: string): void {
    if (this.isJson) this.printJson(answer)
    else this.terminal.out(listing(answer[member] as Record<string, unknown>))
  }

  /** A list: all of the answer as JSON, or a table, and what is beyond it. */
  list<Row>(answer: Readonly<Record<string, unknown>>, member: string, columns: readonly Column<Row>[]): void {
    if (this.isJson) {
      this.printJson(answer)
      return
    }
    const rows = answer[member] as Row[]
    this.terminal.out(table(rows, columns))
    tellPages(answer, this.terminal)
  }

  printJson(value: unknown): void {
    // JSON escapes the control characters below a blank itself, and leaves those that are terminals' in Latin-1.
    const text = JSON.stringify(value, null, 2).replaceAll(/[\u007f-\u009f]/g, escapeOf)
    this.terminal.out(`${text}\n`)
  }
}

function escapeOf(character: string): string {
  return `\\u00${character.charCodeAt(0).toString(16)}`
}

/** Adds a command that calls the service; `run` receives its arguments and options. */
export function asking(
  parent: Command,
  definition: {
    /** `show <id>` */
    readonly name: string
    readonly summary: string
    readonly examples?: readonly string[]
    /** It concerns the service, not one agency. */
    readonly isOfAll?: boolean
    readonly isDefault?: boolean
    readonly options?: (command: Command) => void
  },
  terminal: Terminal,
  // biome-ignore lint/suspicious/noExplicitAny: commander's options have the shape that `options` gave them
  run: (session: Session, input: { arguments: string[]; options: any }) => Promise<void>,
): Command {
  const { name, summary, examples = [], isOfAll = false, isDefault = false } = definition
  const command = parent.command(name, { isDefault }).summary(summary).description(summary)
  definition.options?.(command)
  if (!isOfAll)
    command.option(
      '-a, --agency <slug>',
      'slug of the agency (default: NIGHTLEDGER_AGENCY, or that of the access token, or the only agency)',
    )
  command
    .option('--json', 'print the response as JSON')
    .option('--url <url>', 'address of the service (default: NIGHTLEDGER_URL, or the local service)')
    .option(
      '--token <token>',
      "the operator's token or an access token (default: PORTAL_TOKEN, or the local service's token)",
    )
  if (examples.length > 0)
    command.addHelpText('after', `\nExamples:\n${examples.map((example) => `  $ nightledger ${example}`).join('\n')}`)
  return command.action(async () => {
    const options = command.opts()
    await run(new Session(options, terminal), { arguments: command.args, options })
  })
}

/** What is beyond the page that was shown. */
export function tellPages(
  { page, pageCount, totalItems }: Readonly<Record<string, unknown>>,
  terminal: Terminal,
): void {
  if (Number(pageCount) > 1) terminal.err(`Page ${page} of ${pageCount}, ${totalItems} in total (--page)\n`)
}

/** `--page` and `--page-size`. */
export function paged(command: Command): Command {
  return command
    .option('--page <n>', 'page number, starting at 1')
    .option('--page-size <n>', 'items per page, 1 to 200')
}
