/**
 * What a run of `bun test` came to. `files`: those that its report names, relative to the working folder, and how long each took
 * with its hooks, in ms. `failures`: each failed test by name, with what it said.
 */
export type Counts = { passed: number; failed: number; skipped: number; files: Map<string, number>; failures: string[] }

/**
 * Reads the report of `bun test --reporter=junit`. Counts test cases, not the sums in the head, which leave out files that
 * did not load.
 */
export function countsOf(report: string): Counts {
  const counts = noCounts()
  // Attribute values escape < and >, so that a tag ends at the first >.
  for (const [, head = ''] of report.matchAll(/<testsuite ([^>]*)>/g)) {
    const file = attribute(head, 'file')
    // The suite of a file; those of its `describe` blocks are part of it.
    if (file !== undefined && attribute(head, 'name') === file)
      counts.files.set(file, Math.round(Number(attribute(head, 'time') ?? 0) * 1_000))
  }
  for (const [, head = '', body = ''] of report.matchAll(/<testcase ([^>]*?)(?:\/>|>(.*?)<\/testcase>)/gs)) {
    const file = attribute(head, 'file')
    if (file !== undefined && !counts.files.has(file)) counts.files.set(file, 0)
    const failure = /<(?:failure|error)\b([^>]*?)(?:\/>|>(.*?)<\/(?:failure|error)>)/s.exec(body)
    if (failure !== null) {
      counts.failed++
      const said = failure[2] ?? attribute(failure[1] ?? '', 'message') ?? ''
      const name = [attribute(head, 'classname'), attribute(head, 'name')].filter((part) => part).join(' > ')
      counts.failures.push(`${file}: ${plain(name)}\n${plain(said).trim()}`)
    } else if (/<skipped\b/.test(body)) counts.skipped++
    else counts.passed++
  }
  return counts
}

export function noCounts(): Counts {
  return { passed: 0, failed: 0, skipped: 0, files: new Map(), failures: [] }
}

/** Adds what another run came to. */
export function addCounts(to: Counts, more: Counts): void {
  to.passed += more.passed
  to.failed += more.failed
  to.skipped += more.skipped
  for (const [file, ms] of more.files) to.files.set(file, ms)
  to.failures.push(...more.failures)
}

function attribute(head: string, name: string): string | undefined {
  return new RegExp(`\\b${name}="([^"]*)"`).exec(head)?.[1]
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function plain(xml: string): string {
  return xml.replace(/&(?:#(\d+)|(\w+));/g, (whole, code?: string, name?: string) =>
    code === undefined ? (ENTITIES[name ?? ''] ?? whole) : String.fromCodePoint(Number(code)),
  )
}

/** The closing line of a test run: `12 passed, 0 failed`, with `, 1 skipped` only if there is one. */
export function closingLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}
