/** The stream of changes of the agency, and screens that follow it. */
import { useEffect } from 'preact/hooks'
import { answerOf, client } from '../api/client.ts'
import { connection } from '../api/connection.ts'
import { problemOf } from '../api/problem.ts'
import type { Schema } from '../api/schema.ts'
import { onSignedInAgain } from '../api/session.ts'
import { resources } from '../data/resources.ts'
import { useSession } from '../data/use-session.ts'

export type AgencyChange =
  | Schema<'BookingChange'>
  | Schema<'UnitChange'>
  | Schema<'RatesChange'>
  | Schema<'GuestChange'>

const EVENTS: readonly AgencyChange['event'][] = [
  ...([
    'booking.created',
    'booking.updated',
    'booking.cancelled',
    'unit.updated',
    'rates.updated',
    'guest.erased',
  ] as const),
]

/** A stream that breaks again at once (too many are open) is opened more and more rarely; between that, changes are read. */
const REOPEN_MS = [0, 1_000, 2_000, 5_000, 10_000] as const
const STEADY_AFTER_MS = 5_000
const PAGE_LIMIT = 500

interface ChangeListener {
  onChange(change: AgencyChange): void
  /** The changes after the cursor are no longer kept. The stream has ended. */
  onExpired(): void
}

/**
 * Follows the changes of the agency. While the stream is open they come as they happen. When it breaks, those that were missed are
 * read page by page from the last cursor, and then the stream is opened again; if the service cannot be reached, the connection mark
 * says so, and this continues when it is back, or when the person has signed in again.
 *
 * A tab that is not looked at has no stream: over HTTP/1.1 a browser opens six connections to a service for all of its tabs together,
 * and with as many streams no tab could read anything else. When it is looked at again, what it has missed is read.
 */
export class ChangeStream {
  readonly #path: { readonly agencySlug: string }
  readonly #listener: ChangeListener
  readonly #closing = new AbortController()
  readonly #stopListening: readonly (() => void)[]
  #cursor: string
  #source: EventSource | null = null
  #breaks = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #isCatchingUp = false

  /** @param cursor the last change that is known */
  constructor(path: { readonly agencySlug: string }, cursor: string, listener: ChangeListener) {
    this.#path = path
    this.#cursor = cursor
    this.#listener = listener
    const resume = () => void this.#catchUp()
    const seen = () => (document.hidden ? this.#shut() : resume())
    document.addEventListener('visibilitychange', seen)
    this.#stopListening = [
      connection.onBack(resume),
      onSignedInAgain(resume),
      () => document.removeEventListener('visibilitychange', seen),
    ]
    this.#open()
  }

  close(): void {
    this.#closing.abort()
    for (const stop of this.#stopListening) stop()
    this.#shut()
  }

  #shut(): void {
    clearTimeout(this.#timer)
    this.#source?.close()
    this.#source = null
  }

  #open(): void {
    this.#shut()
    if (this.#closing.signal.aborted || document.hidden) return
    const url = `/portal/v1/agencies/${this.#path.agencySlug}/changes?after=${encodeURIComponent(this.#cursor)}`
    const source = new EventSource(url)
    this.#source = source
    const openedAt = performance.now()
    for (const event of EVENTS) {
      source.addEventListener(event, (message) => this.#took(JSON.parse(message.data) as AgencyChange))
    }
    source.onopen = () => connection.answered()
    source.onerror = () => {
      if (this.#source !== source) return
      this.#breaks = performance.now() - openedAt > STEADY_AFTER_MS ? 0 : this.#breaks + 1
      void this.#catchUp()
    }
  }

  /** Reads what was missed, then opens the stream again. If nothing answers, it is called again when the connection is back. */
  async #catchUp(): Promise<void> {
    if (this.#isCatchingUp) return
    this.#isCatchingUp = true
    this.#shut()
    try {
      for (let hasMore = true; hasMore; ) {
        const query = { after: this.#cursor, limit: PAGE_LIMIT }
        const params = { path: this.#path, query }
        const { signal } = this.#closing
        const page = await answerOf(client.GET('/portal/v1/agencies/{agencySlug}/changes', { params, signal }))
        for (const change of page.changes) this.#took(change)
        this.#cursor = page.cursor
        hasMore = page.hasMore
      }
      this.#later()
    } catch (error) {
      if (this.#closing.signal.aborted) return
      const problem = problemOf(error)
      if (problem.code === 'CURSOR_EXPIRED' || problem.code === 'VALIDATION') {
        this.close()
        this.#listener.onExpired()
      } else if (problem.code !== 'NO_ANSWER' && problem.status !== 401) {
        // It answers, but not this, or breaks off midway: asked again later.
        this.#breaks++
        this.#later()
      }
    } finally {
      this.#isCatchingUp = false
    }
  }

  #later(): void {
    const wait = REOPEN_MS[Math.min(this.#breaks, REOPEN_MS.length - 1)]
    this.#timer = setTimeout(() => this.#open(), wait)
  }

  #took(change: AgencyChange): void {
    this.#cursor = change.cursor
    this.#listener.onChange(change)
  }
}

/** Changes that come together are read together. */
const GATHER_MS = 300
/** By then what follows from a change, such as a delivery, has been made: as a rule, and on a busy machine. */
const FOLLOW_UPS_MS = [2_000, 10_000]
const AGAIN_MS = 10_000

const STAYS = ['booking.', 'guest.']

/**
 * While it is drawn, every change of a booking or its guest, also by others, reloads what is under these prefixes.
 * @param events how the names of other changes begin, to follow those instead
 */
export function useLiveStays(prefixes: readonly string[], events: readonly string[] = STAYS): void {
  const { actor, path } = useSession()
  const { agencySlug } = path
  useEffect(() => {
    const closing = new AbortController()
    let stream: ChangeStream | null = null
    let gathering: ReturnType<typeof setTimeout> | undefined
    let following: ReturnType<typeof setTimeout>[] = []
    let opening: ReturnType<typeof setTimeout> | undefined
    const readAnew = () => {
      for (const prefix of prefixes) resources.follow(prefix)
    }
    const onChange = () => {
      // Not put off by further changes: where they never pause, they would never be shown.
      gathering ??= setTimeout(() => {
        gathering = undefined
        readAnew()
      }, GATHER_MS)
      for (const timer of following) clearTimeout(timer)
      following = FOLLOW_UPS_MS.map((ms) => setTimeout(readAnew, ms))
    }
    const open = async () => {
      try {
        const { signal } = closing
        // Without a cursor: from now on.
        const { cursor } = await answerOf(
          client.GET('/portal/v1/agencies/{agencySlug}/changes', { params: { path: { agencySlug } }, signal }),
        )
        if (signal.aborted) return
        stream = new ChangeStream({ agencySlug }, cursor, {
          onChange: ({ event }) => void (events.some((start) => event.startsWith(start)) && onChange()),
          onExpired: () => void open(),
        })
        // What was read before the cursor was given may be older than it, and nothing would announce the changes in between.
        readAnew()
      } catch (error) {
        // The session's end is reported elsewhere; signing in again starts over.
        if (!closing.signal.aborted && problemOf(error).status !== 401)
          opening = setTimeout(() => void open(), AGAIN_MS)
      }
    }
    void open()
    return () => {
      closing.abort()
      stream?.close()
      for (const timer of [gathering, ...following, opening]) clearTimeout(timer)
    }
    // Signing in again, also as the same person, gives another actor: this may have been refused until then.
  }, [agencySlug, actor])
}
