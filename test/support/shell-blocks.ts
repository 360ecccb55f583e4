/** A fenced block of a document: its info string and its content. */
interface Fence {
  readonly info: string
  readonly text: string
}

/** A shell block of a document, and what the document shows as its output; null when it shows none. */
interface ShellBlock {
  readonly script: string
  readonly output: string | null
}

/** How the first line of a shell block begins that no test runs; the rest of the line tells readers why. */
export const NOT_RUN = '# not run by a test: '

export function fencesOf(markdown: string): Fence[] {
  return [...markdown.matchAll(/^```([^\n]*)\n([\s\S]*?)^```$/gm)].map(([, info = '', text = '']) => ({ info, text }))
}

export function isRun({ info, text }: Fence): boolean {
  return info === 'sh' && !text.startsWith(NOT_RUN)
}

/**
 * The `sh` blocks of a document in order, each with the `json` or `text` block that follows it before the next one. Those that
 * say that they are not run are left out.
 */
export function shellBlocksOf(markdown: string): ShellBlock[] {
  const blocks: { script: string; output: string | null }[] = []
  for (const fence of fencesOf(markdown)) {
    const last = blocks.at(-1)
    if (isRun(fence)) blocks.push({ script: fence.text, output: null })
    else if (['json', 'text'].includes(fence.info) && last !== undefined && last.output === null)
      last.output = fence.text
  }
  return blocks
}

/** What a document has under a heading of the second level. */
export function sectionOf(markdown: string, heading: string): string {
  const [, section] = markdown.split(`\n## ${heading}\n`)
  if (section === undefined) throw new Error(`There is no section ${heading}`)
  return section.split('\n## ')[0] ?? ''
}

/** What differs from run to run is written the same: ids, instants. JSON comes back parsed, other text trimmed. */
export function timeless(output: string): unknown {
  const text = output
    .replaceAll(/"(unt|bkg|fee|gst|req|key|agc|evt|whe)_[0-9a-f]{32}"/g, '"$1"')
    .replaceAll(/"\d{4}-\d\d-\d\dT[0-9:.]+Z"/g, '"instant"')
  return text.trimStart().startsWith('{') ? JSON.parse(text) : text.trim()
}
