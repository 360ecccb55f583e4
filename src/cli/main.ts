/** The command line as a process of its own: `bun run cli -- <noun> <verb>`. */
import { runCli } from './run-cli.ts'
import { processTerminal } from './terminal.ts'

process.exitCode = await runCli(process.argv.slice(2), processTerminal)
