/** What a process does of its own happens only while it runs: it can die, or hang and come back. */
export class Life {
  /** Resolves when it dies. */
  readonly died: Promise<void>
  readonly #toldOfDeath: () => void
  #state: 'running' | 'paused' | 'dead' = 'running'
  #heldBack: (() => void)[] = []

  constructor() {
    const death = Promise.withResolvers<void>()
    this.died = death.promise
    this.#toldOfDeath = death.resolve
  }

  get isRunning(): boolean {
    return this.#state === 'running'
  }

  get isDead(): boolean {
    return this.#state === 'dead'
  }

  /** Like `kill -9`: nothing in it ever runs again. */
  die(): void {
    this.#state = 'dead'
    this.#heldBack = []
    this.#toldOfDeath()
  }

  /** Like SIGSTOP: whatever would run waits. */
  pause(): void {
    if (this.#state === 'running') this.#state = 'paused'
  }

  /** Like SIGCONT. */
  resume(): void {
    if (this.#state !== 'paused') return
    this.#state = 'running'
    for (const task of this.#heldBack.splice(0)) task()
  }

  /** Runs `task` now, when the process continues, or never. */
  run(task: () => void): void {
    if (this.#state === 'running') task()
    else if (this.#state === 'paused') this.#heldBack.push(task)
  }

  /** An answer from outside reaches the process only while it runs. */
  receive<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      answer.then(
        (value) => this.run(() => resolve(value)),
        (error) => this.run(() => reject(error)),
      )
    })
  }
}
