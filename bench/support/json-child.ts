/** A child process that answers each JSON line on its input with one on its output, and ends when its input ends. */
export class JsonChild {
  readonly #child: Bun.Subprocess<'pipe', 'pipe', 'inherit'>
  readonly #lines: AsyncGenerator<string>

  private constructor(child: Bun.Subprocess<'pipe', 'pipe', 'inherit'>) {
    this.#child = child
    this.#lines = linesOf(child.stdout)
  }

  static start(file: string, env: Record<string, string> = {}): JsonChild {
    const child = Bun.spawn([process.execPath, 'run', file], {
      env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production', ...env },
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'inherit',
    })
    return new JsonChild(child)
  }

  get pid(): number {
    return this.#child.pid
  }

  /** The next line that the process writes. @throws Error when it has ended */
  async reported<T>(): Promise<T> {
    const { value, done } = await this.#lines.next()
    if (done === true) throw new Error('Cannot continue: a process of the benchmark has ended')
    return JSON.parse(value) as T
  }

  async ask<T>(question: unknown): Promise<T> {
    this.#child.stdin.write(`${JSON.stringify(question)}\n`)
    this.#child.stdin.flush()
    return this.reported<T>()
  }

  async stop(): Promise<void> {
    this.#child.stdin.end()
    const ended = await Promise.race([this.#child.exited, Bun.sleep(3_000)])
    if (ended === undefined) this.#child.kill('SIGKILL')
  }
}

/** The child's side: answers each line until there are no more. */
export async function answerQuestions<Q>(answer: (question: Q) => Promise<unknown>): Promise<void> {
  for await (const line of linesOf(Bun.stdin.stream())) console.log(JSON.stringify(await answer(JSON.parse(line) as Q)))
}

export async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of stream) {
    rest += decoder.decode(chunk, { stream: true })
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n')) {
      yield rest.slice(0, end)
      rest = rest.slice(end + 1)
    }
  }
}
