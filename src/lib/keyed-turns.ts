/** Runs tasks of the same key one after the other, in the order they came; tasks of different keys do not wait. */
export class KeyedTurns {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Settles as the task does. A task that failed does not hold up the next. */
  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key)
    const run = before === undefined ? task() : before.then(task)
    const settled = run.then(
      () => undefined,
      () => undefined,
    )
    this.#last.set(key, settled)
    void settled.then(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key)
    })
    return run
  }
}
