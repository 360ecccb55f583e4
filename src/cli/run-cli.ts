import { Command, CommanderError } from 'commander'
import { COMMIT, VERSION } from '../lib/version.ts'
import { afterRestore } from './after-restore.ts'
import { calendar } from './calendar.ts'
import { cluster } from './cluster.ts'
import { config } from './config-check.ts'
import { serviceUrl } from './connection.ts'
import { migrateCommand } from './database.ts'
import { demo } from './demo.ts'
import { doctor } from './doctor.ts'
import { erasures } from './erasures.ts'
import { CliError, EXIT, RefusedError, UsageError } from './exit-codes.ts'
import { exportFolder } from './export-folder.ts'
import { health } from './health.ts'
import { importFolder } from './import-folder.ts'
import { journal } from './journal.ts'
import { NOUNS } from './nouns.ts'
import { rotateSecretKey } from './rotate-secret-key.ts'
import type { Terminal } from './terminal.ts'
import { verifyCommand } from './verify.ts'

const HELP = `
A service that runs on this machine with the built-in database is found automatically. Otherwise use --url and --token,
or set NIGHTLEDGER_URL and PORTAL_TOKEN. The token is the operator's, or an access token of an agency.

Exit codes: 0 success, 1 failure, 2 usage error, 3 refused by the service, 4 service unreachable. For verify: 1 differences
found, 4 no result. For doctor: 1 errors found.

Examples:
  $ nightledger agencies create --slug harbour --name "Harbour Stays" --currency EUR --timezone Europe/Lisbon
  $ nightledger units create --slug sea-view --name "Sea View" --base-price 12000
  $ nightledger keys create --name Website --scopes read:units,read:availability,read:rates,write:bookings
  $ nightledger calendar sea-view --months 3`

/** @param args without the program's own name */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<number> {
  const program = new Command('nightledger')
    .description('Manage agencies and operate nightledger.')
    .addHelpText('after', HELP)
    .version(`${VERSION} (commit ${COMMIT}, Bun ${Bun.version})`)
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
  // What is made from operations is loaded only for a command line that names it: they bring the service's handlers with them.
  for (const [name, noun] of Object.entries(NOUNS)) {
    const command = program.command(name).description(noun.summary)
    if (args.includes(name)) (await import('./verbs.ts')).addVerbs(command, noun, terminal)
  }
  const search = program
    .command('search')
    .summary('search stays that can be booked, with their totals')
    .description('Search stays that can be booked, with exact totals, as the partner with this API key finds them.')
  const changes = program
    .command('changes')
    .summary('list booking changes, or follow them')
    .description('List booking changes as the partner with this API key gets them, or follow them as they happen.')
  const listen = program
    .command('listen')
    .summary('post events to a receiver on this machine, signed as webhooks')
    .description('Post the events of an agency to a receiver on this machine, signed as webhooks, as they happen.')
  const trigger = program
    .command('trigger <event>')
    .summary('make an event happen in a sandbox')
    .description('Make an event really happen in a sandbox, through the partner API.')
  const sbom = program
    .command('sbom')
    .summary('print the software bill of materials as CycloneDX')
    .description('Print the software bill of materials, with versions, licences and hashes, as CycloneDX 1.6 JSON.')
  // It reads the lock file when it runs from source.
  if (args.includes('sbom')) (await import('./sbom.ts')).addSbom(sbom, terminal)
  const bench = program
    .command('bench')
    .summary('load-test a deployment and report its latencies')
    .description(
      'Send requests to a deployment at a steady rate, within the limits of an API key, and report the latencies.',
    )
  if (args.includes('bench')) (await import('./bench/bench.ts')).addBench(bench, terminal)
  if (args.includes('listen')) (await import('./listen.ts')).addListen(listen, terminal)
  if (args.includes('trigger')) (await import('./trigger.ts')).addTrigger(trigger, terminal)
  if (args.includes('search')) (await import('./partner.ts')).addSearch(search, terminal)
  if (args.includes('changes')) (await import('./partner.ts')).addChanges(changes, terminal)
  for (const add of [
    ...[calendar, importFolder, exportFolder, demo, migrateCommand, verifyCommand],
    ...[health, config, doctor, cluster, rotateSecretKey, afterRestore, erasures, journal],
  ])
    add(program, terminal)
  program
    .command('where')
    .description('print the address of the service')
    .option('--admin', "print the address at which the operator's token is accepted, if ADMIN_PORT is set")
    .option('--url <url>', 'address of the service (default: NIGHTLEDGER_URL, or the local service)')
    .action(({ admin = false, ...options }: { admin?: boolean; url?: string }) =>
      terminal.out(`${serviceUrl(options, terminal.env, { isPublic: !admin })}\n`),
    )
  // main.ts handles this command before it gets here; it is listed for the help.
  program
    .command('serve')
    .description('run the service (the default without a command)')
    .option(
      '--take-over',
      'fence out the process that is serving at once, instead of waiting as its standby; refused while nodes of a cluster serve',
    )
    .action(() => {
      throw new UsageError('The service cannot be started from here: use `bun run start`.')
    })
  inherit(program)
  try {
    await program.parseAsync([...args], { from: 'user' })
    return EXIT.done
  } catch (error) {
    return failed(error, terminal, args.includes('--json'))
  }
}

/** Commands created by hand do not inherit these two settings from their parents. */
function inherit(command: Command): void {
  for (const child of command.commands) {
    child.copyInheritedSettings(command)
    child.showHelpAfterError('(see --help)')
    inherit(child)
  }
}

function failed(error: unknown, terminal: Terminal, isJson: boolean): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage
  if (error instanceof RefusedError && isJson) {
    terminal.err(`${JSON.stringify({ status: error.status, ...error.body })}\n`)
    return error.exitCode
  }
  if (error instanceof CliError) {
    terminal.err(`${error.message}\n`)
    return error.exitCode
  }
  terminal.err(`${error instanceof Error ? (error.stack ?? error.message) : error}\n`)
  return EXIT.failure
}
