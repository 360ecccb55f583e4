/** What a run of `bun test` came to. `files`: those that its report names, relative to the working folder. */
export type Tally = { passed: number; failed: number; skipped: number; files: Set<string> }

/**
 * Reads the report of `bun test --reporter=junit`. Counts test cases, not the sums in the head, which leave out files that
 * did not load.
 */
export function tallyOf(report: string): Tally {
  const tally: Tally = { passed: 0, failed: 0, skipped: 0, files: new Set() }
  // Attribute values escape < and >, so that a tag ends at the first >.
  for (const [, head = '', body = ''] of report.matchAll(/<testcase ([^>]*?)(?:\/>|>(.*?)<\/testcase>)/gs)) {
    const file = /\bfile="([^"]*)"/.exec(head)?.[1]
    if (file !== undefined) tally.files.add(file)
    if (/<(failure|error)\b/.test(body)) tally.failed++
    else if (/<skipped\b/.test(body)) tally.skipped++
    else tally.passed++
  }
  return tally
}

/** The closing line of a test run: `12 passed, 0 failed`, with `, 1 skipped` only if there is one. */
export function closingLine({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}
