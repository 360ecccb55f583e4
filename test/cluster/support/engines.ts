import { join } from 'node:path'
import { TEST_SECRET_KEY } from '../../support/service-process.ts'

const MAIN = join(import.meta.dir, 'engine-main.ts')

interface EngineState {
  readonly owned: readonly number[]
  /** Shards of which the fence told, so far. */
  readonly fenced: readonly number[]
  readonly failures: readonly string[]
}

/** The engine of a node, in a process of its own. */
export class EngineProcess {
  readonly name: string
  readonly url: string
  readonly #child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>

  private constructor(name: string, url: string, child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>) {
    this.name = name
    this.url = url
    this.#child = child
  }

  static async start(databaseUrl: string, name: string, env: Record<string, string> = {}): Promise<EngineProcess> {
    const child = Bun.spawn([process.execPath, MAIN, databaseUrl, TEST_SECRET_KEY, name], {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'inherit',
      env: { ...process.env, ...env },
    }) as unknown as Bun.Subprocess<'ignore', 'pipe', 'pipe'>
    let text = ''
    for await (const chunk of child.stdout) {
      text += Buffer.from(chunk).toString()
      const port = /LISTENING (\d+)/.exec(text)?.[1]
      if (port !== undefined) return new EngineProcess(name, `http://127.0.0.1:${port}`, child)
    }
    throw new Error(`Cannot start engine ${name}: ${text}`)
  }

  get exited(): Promise<number> {
    return this.#child.exited
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async tell(
    command: 'acquire' | 'release' | 'drop' | 'confirm' | 'close',
    shards: readonly number[] = [],
  ): Promise<EngineState> {
    const response = await fetch(`${this.url}/engine/${command}`, { method: 'POST', body: JSON.stringify(shards) })
    const answer = (await response.json()) as EngineState & { error?: string }
    if (answer.error !== undefined) throw new Error(`Cannot ${command} on ${this.name}: ${answer.error}`)
    return answer
  }

  async state(): Promise<EngineState> {
    return (await fetch(`${this.url}/engine/state`)).json() as Promise<EngineState>
  }
}
