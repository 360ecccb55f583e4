import type { Terminal } from './terminal.ts'

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
