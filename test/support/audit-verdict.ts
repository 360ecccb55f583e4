/** A finding that was judged acceptable: exactly this advisory against exactly this version. */
export interface Argued {
  readonly package: string
  readonly version: string
  readonly advisory: string
}

export interface Finding extends Argued {
  readonly severity: string
  readonly title: string
}

/** What an audit says of us. `no-report`: nothing is known. */
export type Verdict =
  | { kind: 'clean' }
  | { kind: 'argued'; findings: readonly Finding[] }
  | { kind: 'unargued'; findings: readonly Finding[] }
  | { kind: 'no-report'; why: string }

/** What `npm audit --json` prints, as far as it is read: of npm 7 and newer, or of a registry that did not answer. */
interface Report {
  readonly auditReportVersion?: number
  readonly vulnerabilities?: Record<string, { nodes: string[]; via: (string | Advisory)[] }>
  readonly statusCode?: number
  readonly error?: { code?: string }
}

/** A `via` that is a string names another package of the same report, whose own entry has the advisory. */
interface Advisory {
  readonly name: string
  readonly url: string
  readonly severity: string
  readonly title: string
}

/**
 * Judges what `npm audit --json` printed. An argument that was made for another version does not count.
 * @throws Error when a report names packages and no advisory: it is then of a shape that is not understood
 */
export function verdictOf(
  printed: string,
  { argued, versionAt }: { argued: readonly Argued[]; versionAt: (path: string) => string | undefined },
): Verdict {
  const report = parse(printed)
  if (report?.auditReportVersion === undefined || report.vulnerabilities === undefined) {
    return { kind: 'no-report', why: reasonOf(report) }
  }
  const entries = Object.values(report.vulnerabilities)
  const findings = entries.flatMap(({ nodes, via }) =>
    via
      .filter((cause) => typeof cause !== 'string')
      .flatMap(({ name, url, severity, title }) =>
        nodes.map((path) => ({
          package: name,
          version: versionAt(path) ?? 'unknown',
          advisory: url.slice(url.lastIndexOf('/') + 1),
          severity,
          title,
        })),
      ),
  )
  if (entries.length > 0 && findings.length === 0) throw new Error('Cannot read the audit: it names no advisory')
  const unargued = findings.filter((finding) => !argued.some((one) => isSame(one, finding)))
  if (unargued.length > 0) return { kind: 'unargued', findings: unargued }
  return findings.length > 0 ? { kind: 'argued', findings } : { kind: 'clean' }
}

const isSame = (one: Argued, other: Argued) =>
  one.package === other.package && one.version === other.version && one.advisory === other.advisory

function parse(printed: string): Report | null {
  try {
    return JSON.parse(printed) as Report | null
  } catch {
    return null
  }
}

function reasonOf(report: Report | null): string {
  if (report === null) return 'npm printed no JSON'
  if (report.statusCode !== undefined) return `the registry answered ${report.statusCode}`
  return report.error?.code ?? 'the registry did not answer'
}
