import { type Clock, sleep } from '../lib/clock.ts'

/** Of an answer: each time that it is longer by this, it counts as another request. Writing so much takes 2 to 3 ms of CPU. */
export const ANSWER_CHARS_PER_PART = 32_768
/** How far a part keeps the large answers of its agency apart, ms: four times what it takes, so others find the event loop free. */
export const PART_MS = 10
/** No answer waits longer, and keys of an agency whose next one would are refused. */
export const PAUSE_MS_MAX = 10_000

export function partsOf(chars: number): number {
  return Math.floor(chars / ANSWER_CHARS_PER_PART)
}

/**
 * The pace of an agency's large answers, whoever of it asks for them: each waits until the ones before have had their time. So the
 * first comes at once, somebody who reads page after page is slowed down instead of refused, and other agencies wait for few of them
 * (A1): steps of an answer that cannot be divided, such as its encoding, occupy the event loop for milliseconds.
 */
export class AnswerPace {
  readonly #clock: Clock
  /** When the next one may be sent, monotonic ms; by agency. */
  readonly #freeAt = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Takes an answer of so many parts. @returns null when it may be sent at once; otherwise send it when this resolves */
  take(agencyId: string, parts: number): Promise<void> | null {
    if (parts === 0) return null
    const pauseMs = this.#pauseMs(agencyId)
    this.#freeAt.set(agencyId, this.#clock.monotonicMs() + pauseMs + parts * PART_MS)
    return pauseMs === 0 ? null : sleep(this.#clock, Math.min(pauseMs, PAUSE_MS_MAX))
  }

  /** Whole seconds until an answer would not have to wait longer than `PAUSE_MS_MAX`; 0 when it would not now. */
  waitS(agencyId: string): number {
    return Math.max(0, Math.ceil((this.#pauseMs(agencyId) - PAUSE_MS_MAX) / 1_000))
  }

  #pauseMs(agencyId: string): number {
    const freeAt = this.#freeAt.get(agencyId)
    return freeAt === undefined ? 0 : Math.max(0, freeAt - this.#clock.monotonicMs())
  }
}
