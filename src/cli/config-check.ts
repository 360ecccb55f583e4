import type { Command } from 'commander'
import { effectiveSettings, type Setting } from '../app/settings.ts'
import { CliError } from './exit-codes.ts'
import { type Columns, table } from './table.ts'
import type { Terminal } from './terminal.ts'

const COLUMNS: Columns<Setting> = { NAME: 'name', VALUE: 'value', SOURCE: 'source' }

/** `config check`: the settings that the service would use in this environment. */
export function config(program: Command, terminal: Terminal): void {
  program
    .command('config')
    .description('check the configuration of the service')
    .command('check')
    .summary('show the settings that `serve` would use; exit code 1 if it would refuse to start with them')
    .description(
      'Reads the environment as `serve` does and prints the resulting settings. Exit code 1 if a variable is invalid, missing or apparently ' +
        'misspelt. Passwords in URLs are hidden. Other secrets are shown as the first 8 digits of their SHA-256, so that you can compare ' +
        'machines. Makes no connections: use `nightledger doctor` for that.',
    )
    .option('--json', 'print the settings and faults as JSON')
    .action(({ json }: { json?: boolean }) => {
      const { settings, faults } = effectiveSettings(terminal.env)
      terminal.out(json === true ? `${JSON.stringify({ settings, faults }, null, 2)}\n` : table(settings, COLUMNS))
      if (faults.length > 0) throw new CliError(faultsText(faults))
    })
}

function faultsText(faults: readonly string[]): string {
  const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`
  return `The service would not start with this environment: ${count}.\n${faults.map((fault) => `- ${fault}`).join('\n')}`
}
