import type { Command } from 'commander'
import { connectionOf } from './connection.ts'
import { UsageError } from './exit-codes.ts'
import { type Json, PortalClient } from './portal-client.ts'
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
export function serviceCommand<Options extends object = object>(
  parent: Command,
  definition: {
    /** `show <id>` */
    readonly name: string
    readonly summary: string
    /** More than the summary, for the help of the command itself. */
    readonly description?: string
    readonly examples?: readonly string[]
    /** It concerns the service, not one agency. */
    readonly isOfAll?: boolean
    readonly isDefault?: boolean
    readonly options?: (command: Command) => void
  },
  terminal: Terminal,
  run: (session: Session, input: { arguments: string[]; options: Options & SessionOptions }) => Promise<void>,
): Command {
  const { name, summary, description = summary, examples = [], isOfAll = false, isDefault = false } = definition
  const command = parent.command(name, { isDefault }).summary(summary).description(description)
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
    const options = command.opts<Options & SessionOptions>()
    await run(new Session(options, terminal), { arguments: command.args, options })
  })
}
