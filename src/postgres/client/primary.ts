/**
 * Which of several hosts is the primary: P1. All connections of a process lead to the same one. When another one is found, the connections
 * to the old one are dropped before anything is sent to the new one, so a look-up never reads from an older primary than the journal
 * writes to. A primary whose timeline is lower than one seen before was replaced by a promotion, and is never used again.
 */
import { type Clock, sleep, systemClock } from '../../lib/clock.ts'
import { type Host, hostText } from './database-url.ts'

/** What a host has answered. A higher timeline is a later promotion. */
export type HostState =
  | { readonly kind: 'primary'; readonly timeline: number }
  | { readonly kind: 'standby' }
  | { readonly kind: 'read_only' }
  | { readonly kind: 'failed'; readonly cause: unknown }

/** Asks a host, within about PROBE_MS_MAX. Never rejects. */
type Probe = (host: Host) => Promise<HostState>

export const PROBE_MS_MAX = 700
/** Pause between two questions to a host that is not the primary: a promotion must be noticed within a second. */
const PAUSE_MS = 100
/**
 * How long other hosts may still answer after one that claims to be the primary of the known timeline: it may be cut off from its
 * standbys, and one of them promoted. As long as a probe when no timeline is known yet.
 */
const GRACE_MS = 150
/** How long a connection waits for a primary to be found. */
const FIND_MS_MAX = 1_000

/** None of the hosts is a primary that accepts writes. Nothing was sent. The message says what each of them is. */
class NoPrimaryError extends Error {
  override readonly name = 'NoPrimaryError'
  readonly code = 'CONNECTION_NO_PRIMARY'
}

export class Primary {
  readonly #hosts: readonly Host[]
  readonly #probe: Probe
  readonly #clock: Clock
  /** Null while it is not known, or doubted. */
  #current: Host | null = null
  /** The last one that was found, even while it is doubted. */
  #last: Host | null = null
  /** Of `#last`. */
  #timeline = 0
  #search: Search | null = null
  readonly #onMoved = new Set<() => void>()

  constructor(options: { hosts: readonly Host[]; probe: Probe; clock?: Clock }) {
    this.#hosts = options.hosts
    this.#probe = options.probe
    this.#clock = options.clock ?? systemClock
  }

  /**
   * The host to connect to now.
   * @throws NoPrimaryError when none is found within a second
   */
  host(): Promise<Host> {
    if (this.#current !== null) return Promise.resolve(this.#current)
    return new Promise((resolve, reject) => {
      const search = this.#searching()
      const waiting = { resolve, cancel: () => {} }
      search.waiting.add(waiting)
      waiting.cancel = this.#clock.after(FIND_MS_MAX, () => {
        search.waiting.delete(waiting)
        reject(this.#notFound(search))
      })
    })
  }

  /** A connection was lost, or its server refused to write: the next connection looks again. */
  doubt(): void {
    this.#current = null
  }

  /** The primary has not answered for a while: looks now whether another one has been promoted. */
  suspect(): void {
    this.doubt()
    // Whoever asks next finds out that there is none.
    this.host().catch(() => {})
  }

  /** @param moved called once, when another host has become the primary. @returns what removes it */
  onMoved(moved: () => void): () => void {
    this.#onMoved.add(moved)
    return () => this.#onMoved.delete(moved)
  }

  #searching(): Search {
    if (this.#search === null) {
      const search: Search = { states: new Map(), waiting: new Set(), isOver: false, stopGrace: null }
      this.#search = search
      for (const host of this.#hosts) void this.#ask(host, search)
    }
    return this.#search
  }

  /** Until the search is over, or nobody waits for it any more. */
  async #ask(host: Host, search: Search): Promise<void> {
    while (!search.isOver) {
      const state = await this.#probe(host)
      if (search.isOver) return
      search.states.set(host, state)
      this.#decide(search)
      await sleep(this.#clock, PAUSE_MS)
      if (search.waiting.size === 0) this.#end(search)
    }
  }

  #decide(search: Search): void {
    const newest = this.#newest(search)
    if (newest === null) return
    const isNewer = this.#timeline > 0 && newest.timeline > this.#timeline
    if (isNewer || search.states.size === this.#hosts.length) this.#found(search)
    else search.stopGrace ??= this.#clock.after(this.#timeline > 0 ? GRACE_MS : PROBE_MS_MAX, () => this.#found(search))
  }

  /** The primary of the highest timeline, unless a higher one has been seen. */
  #newest(search: Search): { readonly host: Host; readonly timeline: number } | null {
    let newest: { readonly host: Host; readonly timeline: number } | null = null
    for (const [host, state] of search.states) {
      if (state.kind !== 'primary' || state.timeline < (newest?.timeline ?? this.#timeline)) continue
      // Of two with the same timeline, the one that was used before.
      if (newest === null || state.timeline > newest.timeline || host === this.#last)
        newest = { host, timeline: state.timeline }
    }
    return newest
  }

  #found(search: Search): void {
    if (search.isOver) return
    const newest = this.#newest(search)
    // It has become something else during the grace.
    if (newest === null) {
      search.stopGrace = null
      return
    }
    const { host, timeline } = newest
    const hasMoved = this.#last !== null && (host !== this.#last || timeline !== this.#timeline)
    this.#last = host
    this.#timeline = timeline
    this.#current = host
    this.#end(search)
    if (hasMoved) this.#move()
    for (const { resolve, cancel } of search.waiting) {
      cancel()
      resolve(host)
    }
  }

  #end(search: Search): void {
    search.isOver = true
    search.stopGrace?.()
    if (this.#search === search) this.#search = null
  }

  #move(): void {
    const left = [...this.#onMoved]
    this.#onMoved.clear()
    for (const moved of left) moved()
  }

  #notFound({ states }: Search): NoPrimaryError {
    const causes = this.#hosts.flatMap((host) => {
      const state = states.get(host)
      return state?.kind === 'failed' ? [state.cause] : []
    })
    const each = this.#hosts.map((host) => `${hostText(host)} ${this.#stateText(states.get(host))}`)
    return new NoPrimaryError(`Cannot find the primary: ${each.join(', ')}`, { cause: causes[0] })
  }

  #stateText(state: HostState | undefined): string {
    switch (state?.kind) {
      case undefined:
        return 'has not answered'
      case 'standby':
        return 'is a standby'
      case 'read_only':
        return 'is read-only (transaction_read_only is on)'
      case 'primary':
        return `is a primary that has been replaced (timeline ${state.timeline}, ${this.#timeline} was seen)`
      case 'failed':
        return `failed (${state.cause instanceof Error ? state.cause.message : String(state.cause)})`
    }
  }
}

interface Search {
  readonly states: Map<Host, HostState>
  readonly waiting: Set<{ readonly resolve: (host: Host) => void; cancel: () => void }>
  isOver: boolean
  stopGrace: (() => void) | null
}
