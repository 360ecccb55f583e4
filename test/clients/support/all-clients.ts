import { type Case, KEY, type Played } from './conformance-cases.ts'
import { DriverProcess, PYTHON_MISSING } from './driver-process.ts'
import { playTypescript } from './play-typescript.ts'

export type ClientName = 'TypeScript' | 'TypeScript in Node' | 'Python' | 'Python for asyncio'

export const CLIENTS: readonly ClientName[] = [
  ...(['TypeScript', 'TypeScript in Node'] as const),
  ...(PYTHON_MISSING ? [] : (['Python', 'Python for asyncio'] as const)),
]

/** Every client, wherever it runs. */
export class AllClients {
  readonly #node: DriverProcess
  readonly #python: DriverProcess | null

  private constructor(node: DriverProcess) {
    this.#node = node
    this.#python = PYTHON_MISSING ? null : DriverProcess.python()
  }

  static async start(): Promise<AllClients> {
    return new AllClients(await DriverProcess.node())
  }

  play(name: ClientName, url: string, each: Pick<Case, 'steps' | 'options'>, key = KEY): Promise<Played> {
    switch (name) {
      case 'TypeScript':
        return playTypescript(url, each, key)
      case 'TypeScript in Node':
        return this.#node.play(url, 'node', each, key)
      case 'Python':
      case 'Python for asyncio':
        if (this.#python === null) throw new Error('Cannot play with Python: it is missing')
        return this.#python.play(url, name === 'Python' ? 'sync' : 'async', each, key)
    }
  }

  async stop(): Promise<void> {
    await this.#python?.stop()
    await this.#node.stop()
  }
}
