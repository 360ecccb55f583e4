/**
 * What screens have read, by key, so that going back to a screen shows it at once and reloads it meanwhile. Keys begin with the
 * name of the collection: `bookings`, `bookings/bkg_…`.
 */
import { type Problem, problemOf } from '../api/problem.ts'
import { Store } from '../lib/store.ts'

export interface ResourceState<T> {
  /** The last that was read; stays when a later read fails. */
  readonly data: T | undefined
  readonly error: Problem | null
  readonly isLoading: boolean
}

export type Load<T> = (signal: AbortSignal) => Promise<T>

const EMPTY: ResourceState<never> = { data: undefined, error: null, isLoading: false }

/** One thing that is read, and those who watch it. */
export class Resource<T> extends Store<ResourceState<T>> {
  readonly #loads: Load<T>[] = []
  #reading: AbortController | null = null
  /** What the read under way shows may be old by now. */
  #isOutdated = false

  constructor() {
    super(EMPTY)
  }

  get isWatched(): boolean {
    return this.#loads.length > 0
  }

  /** Reads it now, and at every refresh until the returned function is called. */
  watch(load: Load<T>): () => void {
    this.#loads.push(load)
    void this.refresh()
    return () => {
      this.#loads.splice(this.#loads.indexOf(load), 1)
    }
  }

  /** Reloads it; a read that is under way is given up. Never throws: the error is in the state. */
  async refresh(): Promise<void> {
    this.#reading?.abort()
    this.#reading = null
    this.#isOutdated = false
    const load = this.#loads.at(-1)
    if (load === undefined) return
    const reading = new AbortController()
    this.#reading = reading
    this.set({ ...this.value, isLoading: true })
    try {
      const data = await load(reading.signal)
      if (this.#reading === reading) this.set({ data, error: null, isLoading: false })
    } catch (error) {
      if (this.#reading === reading) this.set({ ...this.value, error: problemOf(error), isLoading: false })
    }
    if (this.#reading !== reading) return
    this.#reading = null
    if (this.#isOutdated) await this.refresh()
  }

  /** Reloads it, for a change by others: once a read that is under way has ended, or changes that never pause would let none end. */
  follow(): void {
    if (this.#reading === null) void this.refresh()
    else this.#isOutdated = true
  }

  /** Changes what is shown before the service has said so. @returns what was shown */
  change(change: (data: T) => T): T | undefined {
    const { data } = this.value
    if (data !== undefined) this.set({ ...this.value, data: change(data) })
    // What is being read may be from before it.
    if (this.#reading !== null) void this.refresh()
    return data
  }
}

/** Every resource of the session. */
class Resources {
  readonly #byKey = new Map<string, Resource<unknown>>()

  of<T>(key: string): Resource<T> {
    const found = this.#byKey.get(key) ?? new Resource<unknown>()
    this.#byKey.set(key, found)
    return found as Resource<T>
  }

  /** Those whose key is `prefix` or continues it after a slash or a question mark. What nobody watches is forgotten. */
  #watched(prefix: string): Resource<unknown>[] {
    const found = [...this.#byKey].filter(
      ([key]) => prefix === '' || key === prefix || key.startsWith(`${prefix}/`) || key.startsWith(`${prefix}?`),
    )
    for (const [key, { isWatched }] of found) if (!isWatched) this.#byKey.delete(key)
    return found.map(([, resource]) => resource).filter(({ isWatched }) => isWatched)
  }

  /** Reloads what is on the screen, and forgets the rest. `''`: everything. */
  invalidate(prefix: string): void {
    for (const resource of this.#watched(prefix)) void resource.refresh()
  }

  /** As `invalidate`, for changes by others: a read that is under way is shown first. */
  follow(prefix: string): void {
    for (const resource of this.#watched(prefix)) resource.follow()
  }

  clear(): void {
    this.#byKey.clear()
  }
}

export const resources = new Resources()
