/** Where a command reads from and writes to: the process's own, or a test's. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly isTty: boolean
  out(text: string): void
  err(text: string): void
  readInput(): Promise<string>
}

export const processTerminal: Terminal = {
  env: process.env,
  isTty: process.stderr.isTTY === true,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  readInput: () => Bun.stdin.text(),
}
