/**
 * Whether the service can be reached, and whether somebody works with the page. After a failure the service is asked again and again, and
 * screens reload once it answers.
 */
import { Store } from '../lib/store.ts'

/** `lost`: has not answered for a while; shown as an alarm. */
type ConnectionState = 'online' | 'reconnecting' | 'lost'

const RETRY_MS = [1_000, 2_000, 3_000, 5_000] as const
const LOST_AFTER_MS = 15_000

class Connection extends Store<ConnectionState> {
  #failedAt: number | null = null
  #answeredAt = performance.now()
  #attempt = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  readonly #onBack = new Set<() => void>()

  /** Calls `listener` each time the connection is back. @returns ends that */
  onBack(listener: () => void): () => void {
    this.#onBack.add(listener)
    return () => this.#onBack.delete(listener)
  }

  /** Milliseconds since the last answer. */
  get silentMs(): number {
    return performance.now() - this.#answeredAt
  }

  /** An answer has arrived, whatever it says. */
  answered(): void {
    this.#answeredAt = performance.now()
    if (this.#failedAt === null) return
    this.#failedAt = null
    this.#attempt = 0
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.set('online')
    for (const listener of [...this.#onBack]) listener()
  }

  /** No answer has arrived. */
  failed(): void {
    this.#failedAt ??= performance.now()
    this.set(performance.now() - this.#failedAt >= LOST_AFTER_MS ? 'lost' : 'reconnecting')
    this.#timer ??= setTimeout(() => this.#ask(), RETRY_MS[Math.min(this.#attempt++, RETRY_MS.length - 1)])
  }

  /**
   * An answer is late, or there was none for long. A request may take its time, so nothing is said unless the service leaves this
   * question unanswered, too. The page itself is asked for: that does not keep an idle session alive.
   */
  async doubted(): Promise<void> {
    if (this.#failedAt !== null) return
    try {
      await fetch('/portal/', { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(5_000) })
      this.#answeredAt = performance.now()
    } catch {
      this.failed()
    }
  }

  /** Asks at once instead of waiting for the next attempt. */
  retry(): void {
    clearTimeout(this.#timer)
    void this.#ask()
  }

  async #ask(): Promise<void> {
    this.#timer = undefined
    try {
      // 503: the service is starting or ending, and answers nothing else either.
      const { status } = await fetch('/portal/v1/me', {
        cache: 'no-store',
        signal: AbortSignal.timeout(5_000),
        headers: { 'X-Nightledger-Automatic': '1' },
      })
      if (status === 503) this.failed()
      else this.answered()
    } catch {
      this.failed()
    }
  }
}

export const connection = new Connection('online')

/** A network that swallows everything breaks no stream: who only looks on would never learn of it. */
const SILENCE_MS = 20_000
setInterval(() => {
  if (document.visibilityState === 'visible' && connection.silentMs >= SILENCE_MS) void connection.doubted()
}, SILENCE_MS / 4)

addEventListener('offline', () => connection.failed())
addEventListener('online', () => connection.retry())

/** What a person has done may be followed by requests for so long. */
const PRESENT_MS = 60_000

/** Opening the page counts. */
let lastActionAt = performance.now()

for (const type of ['pointerdown', 'keydown', 'wheel', 'touchstart'])
  addEventListener(type, () => (lastActionAt = performance.now()), { capture: true, passive: true })

/** Whether somebody works with the page. What it reads by itself beyond that must not keep the session alive for ever. */
export function isSomebodyThere(): boolean {
  return performance.now() - lastActionAt < PRESENT_MS
}
