/** A shell block of a document, and what the document shows as its output; null when it shows none. */
export interface ShellBlock {
  readonly script: string
  readonly output: string | null
}

/** The `sh` blocks of a document in order, each with the `json` or `text` block that follows it before the next one. */
export function shellBlocksOf(markdown: string): ShellBlock[] {
  const blocks: { script: string; output: string | null }[] = []
  for (const [, language, text] of markdown.matchAll(/^```(sh|json|text)\n([\s\S]*?)^```$/gm)) {
    const last = blocks.at(-1)
    if (language === 'sh') blocks.push({ script: text ?? '', output: null })
    else if (last !== undefined && last.output === null) last.output = text ?? ''
  }
  return blocks
}

/** What differs from run to run is written the same: ids, instants. JSON comes back parsed, other text trimmed. */
export function timeless(output: string): unknown {
  const text = output
    .replaceAll(/"(unt|bkg|fee|gst|req|key|agc|evt|whe)_[0-9a-f]{32}"/g, '"$1"')
    .replaceAll(/"\d{4}-\d\d-\d\dT[0-9:.]+Z"/g, '"instant"')
  return text.trimStart().startsWith('{') ? JSON.parse(text) : text.trim()
}
