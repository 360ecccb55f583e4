/** Items of a list, whose pages are read when they are needed. Each `for await` reads the list again, from its beginning. */
export class Listing<T, P> implements AsyncIterable<T> {
  readonly #read: () => AsyncGenerator<P, void>
  readonly #itemsOf: (page: P) => readonly T[]
  readonly #idOf: ((item: T) => string) | undefined

  /** @param idOf if pages move while they are read, an item can be on two of them */
  constructor(read: () => AsyncGenerator<P, void>, itemsOf: (page: P) => readonly T[], idOf?: (item: T) => string) {
    this.#read = read
    this.#itemsOf = itemsOf
    this.#idOf = idOf
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void> {
    const seen = new Set<string>()
    for await (const page of this.#read())
      for (const item of this.#itemsOf(page)) {
        const id = this.#idOf?.(item)
        if (id !== undefined && seen.has(id)) continue
        if (id !== undefined) seen.add(id)
        yield item
      }
  }

  /** The answers as they come. */
  pages(): AsyncGenerator<P, void> {
    return this.#read()
  }

  async toArray(): Promise<T[]> {
    const items: T[] = []
    for await (const item of this) items.push(item)
    return items
  }
}

/** Pages by their number. */
export async function* byNumber<P extends { readonly pageCount: number }>(
  read: (page: { readonly page: number }) => Promise<P>,
): AsyncGenerator<P, void> {
  for (let page = 1, pageCount = 1; page <= pageCount; page++) {
    const answer = await read({ page })
    pageCount = answer.pageCount
    yield answer
  }
}

interface ByArrival {
  readonly bookings: readonly { readonly arrival: string }[]
  readonly pageSize: number
}

/**
 * Pages by date. The list begins with the latest arrival. If a booking of a page that was read gets an earlier arrival, the ones after it
 * move up by one: by number, one of them would be on no page that is read.
 */
export async function* byArrival<P extends ByArrival>(
  read: (place: { readonly page: number; readonly to?: string }) => Promise<P>,
): AsyncGenerator<P, void> {
  for (let [page, to] = [1, undefined as string | undefined]; ; ) {
    const answer = await read({ page, ...(to !== undefined && { to }) })
    yield answer
    const last = answer.bookings.at(-1)?.arrival
    if (last === undefined || answer.bookings.length < answer.pageSize) return
    // More than a page arrive on one day: only then the next page.
    page = last === to ? page + 1 : 1
    to = last
  }
}
