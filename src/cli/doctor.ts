import type { Command } from 'commander'
import type { CheckFinding } from '../app/checks/run-checks.ts'
import { ignoreProxies } from '../lib/ignore-proxies.ts'
import { CliError } from './exit-codes.ts'
import { cellOf } from './table.ts'
import type { Terminal } from './terminal.ts'

const MARKS = { ok: '✓', warning: '!', error: '✗', skipped: '–' } as const
const NO_UNICODE = { ok: 'ok', warning: 'WARNING', error: 'ERROR', skipped: 'skipped' } as const

/** `doctor`: diagnoses the installation. */
export function doctor(program: Command, terminal: Terminal): void {
  program
    .command('doctor')
    .summary('diagnose the installation and say how to fix it; exit code 1 if there are errors')
    .description(
      'Checks the configuration, the database and the other dependencies. Run it with the environment of the service, which need not be running. ' +
        'Changes nothing, and ends within half a minute. Exit code 0: no errors; there may be warnings. 1: errors.',
    )
    .option('--json', 'print the findings as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      ignoreProxies()
      const { runChecks } = await import('../app/checks/run-checks.ts')
      const findings = await runChecks(terminal.env)
      const [errors, warnings] = [count(findings, 'error'), count(findings, 'warning')]
      terminal.out(
        json === true ? `${JSON.stringify({ errors, warnings, findings }, null, 2)}\n` : report(findings, terminal),
      )
      if (errors > 0) throw new CliError(`${plural(errors, 'error')}, ${plural(warnings, 'warning')}`)
    })
}

function report(findings: readonly CheckFinding[], { env }: Terminal): string {
  const marks = /utf-?8/i.test(env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '') ? MARKS : NO_UNICODE
  const arrow = marks === MARKS ? '→' : '->'
  const made = findings.filter(({ severity }) => severity !== 'skipped')
  const width = Math.max(...made.map(({ check }) => check.length))
  const lines = made.flatMap(({ check, severity, found, fix }) => {
    const head = `${marks[severity].padEnd(marks === MARKS ? 1 : NO_UNICODE.warning.length)} ${check.padEnd(width)}  `
    return [`${head}${cellOf(found)}`, ...(fix === null ? [] : [`${' '.repeat(head.length)}${arrow} ${cellOf(fix)}`])]
  })
  return `${[...lines, ...skippedLines(findings, marks.skipped)].join('\n')}\n`
}

/** Skipped checks, grouped by reason. */
function skippedLines(findings: readonly CheckFinding[], mark: string): readonly string[] {
  const byReason = Map.groupBy(
    findings.filter(({ severity }) => severity === 'skipped'),
    ({ found }) => found,
  )
  return [...byReason].map(
    ([reason, skipped]) => `${mark} not checked: ${skipped.map(({ check }) => check).join(', ')}. ${reason}`,
  )
}

function count(findings: readonly CheckFinding[], severity: CheckFinding['severity']): number {
  return findings.filter((finding) => finding.severity === severity).length
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
