import { join } from 'node:path'
import { type Case, KEY, type Played } from './conformance-cases.ts'

/** A client in a process of its own, which answers a JSON line with a JSON line. */
export class DriverProcess {
  readonly #child: Bun.Subprocess<'pipe', 'pipe', 'inherit'>
  readonly #lines: AsyncGenerator<string, undefined>

  constructor(command: readonly string[]) {
    this.#child = Bun.spawn([...command], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })
    this.#lines = linesOf(this.#child.stdout)
  }

  static python(): DriverProcess {
    return new DriverProcess(['python3', '-W', 'error', join(import.meta.dir, 'python-driver.py')])
  }

  /** The TypeScript client in Node. */
  static async node(): Promise<DriverProcess> {
    const { outputs } = await Bun.build({ entrypoints: [join(import.meta.dir, 'node-driver.ts')], target: 'node' })
    const program = (await outputs[0]?.text()) ?? ''
    return new DriverProcess(['node', '--input-type=module', '--eval', program])
  }

  // biome-ignore lint/suspicious/noExplicitAny: each question has an answer of its own shape
  async ask(question: Readonly<Record<string, unknown>>): Promise<any> {
    // Node ends a line there too.
    const line = JSON.stringify(question).replace(/[\u2028\u2029]/g, (end) => `\\u${end.charCodeAt(0).toString(16)}`)
    this.#child.stdin.write(`${line}\n`)
    await this.#child.stdin.flush()
    const { value, done } = await this.#lines.next()
    if (done === true) throw new Error('The client has ended')
    const answer = JSON.parse(value)
    if (answer.failure !== undefined) throw new Error(answer.failure)
    return answer
  }

  play(
    url: string,
    mode: 'sync' | 'async' | 'node',
    each: Pick<Case, 'steps' | 'options'>,
    key = KEY,
  ): Promise<Played & { readonly shown: string }> {
    return this.ask({ mode, url, key, case: each })
  }

  async stop(): Promise<void> {
    this.#child.kill()
    await this.#child.exited
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const part of stream) {
    const lines = (text + decoder.decode(part, { stream: true })).split('\n')
    text = lines.pop() ?? ''
    yield* lines
  }
  return undefined
}

/** Python 3.9 or newer is on every machine that these tests are run on; where it is not, they are skipped. */
export const PYTHON_MISSING =
  Bun.spawnSync(['python3', '-c', 'import sys; assert sys.version_info >= (3, 9)']).exitCode !== 0
