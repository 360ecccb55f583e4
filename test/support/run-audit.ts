import { join } from 'node:path'
import { AUDIT_DOCUMENT, arguedFindings, readAuditDocument } from './audit-document.ts'
import { type Finding, type Verdict, verdictOf } from './audit-verdict.ts'
import { lockedPackages } from './licences.ts'

/*
 * `bun run audit`: asks the registry what is known against the packages of the running service. Exit code 0 when that is
 * nothing, or nothing that docs/dependencies-audit.md does not argue; 1 when there is something; 3 when nobody answered.
 */

const EXIT_CODES = { clean: 0, argued: 0, unargued: 1, 'no-report': 3 } as const satisfies Record<
  Verdict['kind'],
  number
>

const verdict = verdictOf(printedByNpm(), {
  argued: arguedFindings(readAuditDocument()),
  versionAt: (path) => lockedPackages()[path]?.version,
})
console.log(sentencesOf(verdict))
process.exitCode = EXIT_CODES[verdict.kind]

function printedByNpm(): string {
  const { stdout } = Bun.spawnSync(['npm', 'audit', '--omit=dev', '--json'], {
    cwd: join(import.meta.dir, '../..'),
    stderr: 'ignore',
  })
  return stdout.toString()
}

function sentencesOf(verdict: Verdict): string {
  switch (verdict.kind) {
    case 'clean':
      return 'Nothing is known against any package of the running service.'
    case 'argued':
      return `Everything known is argued in ${AUDIT_DOCUMENT}:\n${listed(verdict.findings)}`
    case 'unargued':
      return `Update these packages, or argue why they may stay in ${AUDIT_DOCUMENT}:\n${listed(verdict.findings)}`
    case 'no-report':
      return `Cannot audit: ${verdict.why}. Nothing is known; ${AUDIT_DOCUMENT} is what was looked up by hand.`
  }
}

function listed(findings: readonly Finding[]): string {
  return findings
    .map((one) => `  ${one.package} ${one.version}: ${one.advisory}, ${one.severity}: ${one.title}`)
    .join('\n')
}
