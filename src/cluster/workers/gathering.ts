/** Members that wait for each other. */
export class Gathering {
  readonly #missing: Set<number>
  readonly #complete = Promise.withResolvers<void>()

  constructor(members: Iterable<number>) {
    this.#missing = new Set(members)
    if (this.#missing.size === 0) this.#complete.resolve()
  }

  /** Resolves when every member has arrived. */
  get complete(): Promise<void> {
    return this.#complete.promise
  }

  /** It is there, or is no longer waited for. Once is enough. */
  arrive(member: number): void {
    this.#missing.delete(member)
    if (this.#missing.size === 0) this.#complete.resolve()
  }
}
