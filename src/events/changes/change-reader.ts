import { assert } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import type { AgencyFeed } from './agency-feed.ts'
import type { ChangeInLog, ChangePage, ReadFrom } from './change-page.ts'
import type { Place } from './waiting-places.ts'

interface ReaderOptions<C extends ChangeInLog> {
  readonly feed: AgencyFeed<C>
  readonly clock: Clock
  /** Null: today's end. */
  readonly from: ReadFrom | null
  readonly limit: number
  /** Called after each wait, with its milliseconds. */
  readonly onWaited: (ms: number) => void
  /** Called for each page that somebody has waited for, with the milliseconds since its change became durable. */
  readonly onAnswered: (ms: number) => void
}

/** Reads the changes of an agency in order, page after page, and waits when there is none. */
export class ChangeReader<C extends ChangeInLog> {
  readonly #options: ReaderOptions<C>
  #from: ReadFrom | null
  /** The place is from a page, and not from the client. */
  #isVerified = false
  #upTo = 0
  #hasMore = true

  constructor(options: ReaderOptions<C>) {
    this.#options = options
    this.#from = options.from
  }

  /** The next page, which may be empty. @returns null when what comes next is not kept, or the place is not in the log */
  async read(): Promise<ChangePage<C> | null> {
    const { feed, limit } = this.#options
    const page =
      this.#from === null ? feed.endPage() : await feed.page(this.#from, limit, { isVerified: this.#isVerified })
    return page === null ? null : this.#passed(page)
  }

  /**
   * The next page with changes, or an empty one after `ms`.
   * @returns null when the request must end, or as `read` does
   */
  async next(ms: number, place: Place): Promise<ChangePage<C> | null> {
    const { feed, clock, onWaited, onAnswered } = this.#options
    const until = clock.monotonicMs() + ms
    for (;;) {
      const hasWaited = !this.#hasMore
      if (hasWaited) {
        const since = clock.monotonicMs()
        const woken = await feed.wait(this.#upTo, until - since, place)
        onWaited(clock.monotonicMs() - since)
        if (woken === 'elapsed') return this.nothing()
        if (woken === 'ended') return null
      }
      // Looked at again: a key that was revoked while the request waited gets nothing more.
      if (place.isEnded || !place.waiting.isServed()) return null
      const page = await this.read()
      if (page === null) return null
      if (page.changes.length === 0) continue
      if (hasWaited) onAnswered(clock.monotonicMs() - feed.lastAt)
      return page
    }
  }

  /** An empty page for a reader that has read before: it continues where it is, or at today's end. */
  nothing(): ChangePage<C> {
    const from = this.#from
    assert(from !== null && from !== 'start', 'Cannot continue reading changes: nothing was read before')
    return this.#passed(this.#options.feed.sameAgain(from, this.#upTo))
  }

  #passed(page: ChangePage<C>): ChangePage<C> {
    this.#from = page.position
    this.#isVerified = true
    this.#upTo = page.upTo
    this.#hasMore = page.hasMore
    return page
  }
}
