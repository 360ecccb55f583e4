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
  out: (text) => writeTo(process.stdout, text),
  err: (text) => writeTo(process.stderr, text),
  readInput: () => Bun.stdin.text(),
}

/** A reader that has seen enough (`| head`) is not a failure. */
function writeTo(stream: NodeJS.WriteStream, text: string): void {
  if (stream.listenerCount('error') === 0) stream.on('error', endIfClosed)
  try {
    stream.write(text)
  } catch (error) {
    endIfClosed(error)
  }
}

function endIfClosed(error: unknown): void {
  if (error instanceof Error && 'code' in error && error.code === 'EPIPE') process.exit(0)
  throw error
}

const WIDTH = 30

/** A progress bar on standard error during long work; nothing if that is not a terminal. */
export class Progress {
  readonly #terminal: Terminal
  readonly #what: string
  readonly #total: number
  #done = 0

  constructor(terminal: Terminal, what: string, total: number) {
    this.#terminal = terminal
    this.#what = what
    this.#total = total
  }

  step(): void {
    this.#done += 1
    if (!this.#terminal.isTty) return
    const filled = Math.round((WIDTH * this.#done) / Math.max(1, this.#total))
    const bar = '#'.repeat(filled).padEnd(WIDTH, '.')
    this.#terminal.err(`\r[${bar}] ${this.#done}/${this.#total} ${this.#what}`)
    if (this.#done >= this.#total) this.#terminal.err('\n')
  }
}
