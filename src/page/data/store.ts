/** A value that screens watch. */
import { useLayoutEffect, useState } from 'preact/hooks'

export class Store<T> {
  #value: T
  readonly #listeners = new Set<() => void>()

  constructor(value: T) {
    this.#value = value
  }

  get value(): T {
    return this.#value
  }

  /** Tells every listener, unless the value is the same one. */
  set(value: T): void {
    if (Object.is(value, this.#value)) return
    this.#value = value
    for (const listener of [...this.#listeners]) listener()
  }

  /** @returns ends the subscription */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

/** The store's value; the component is drawn again when it changes. */
export function useStore<T>(store: Store<T>): T {
  const { value } = store
  const [, draw] = useState({})
  useLayoutEffect(() => {
    // It may have changed since it was drawn.
    if (!Object.is(store.value, value)) draw({})
    return store.subscribe(() => draw({}))
  }, [store])
  return value
}
