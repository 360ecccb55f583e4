/**
 * Limits for calendar addresses. A calendar address needs no key and no role, and a text takes milliseconds to write. So it is
 * kept until the unit or the day changes, and requests are bounded by unit, writing by agency.
 */
import { RateLimiter } from '../../accounts/rate-limit.ts'
import type { Clock } from '../../lib/clock.ts'

/** Requests for the calendar of one unit and rolling minute. Channels ask every few minutes. */
export const CALENDARS_PER_UNIT_MAX = 30
/** Pages of 4,096 characters that are written for one agency in a rolling minute. */
export const CALENDAR_PAGES_PER_AGENCY_MAX = 2_000
const PAGE_CHARS = 4_096
/** Of all agencies. Beyond it, the text that was not asked for longest is written again when it is next asked for. */
export const CALENDAR_CHARS_KEPT_MAX = 32 * 1_024 * 1_024

/** What a calendar is of. */
interface CalendarOf {
  readonly agencyId: string
  readonly unitId: string
  /** Differs whenever the text would. */
  readonly version: string
}

export type CalendarOutcome =
  | { readonly kind: 'written'; readonly text: string }
  /** Too many requests of the unit, or too much written for the agency. */
  | { readonly kind: 'over'; readonly retryAfterS: number }

export class CalendarTexts {
  readonly #requests: RateLimiter
  readonly #pages: RateLimiter
  /** By unit; the one that was not asked for longest comes first. */
  readonly #kept = new Map<string, { readonly version: string; readonly text: string }>()
  #keptChars = 0

  constructor(clock: Clock) {
    this.#requests = new RateLimiter(clock)
    this.#pages = new RateLimiter(clock)
  }

  /** @param write called unless the text is kept */
  text({ agencyId, unitId, version }: CalendarOf, write: () => string): CalendarOutcome {
    const request = this.#requests.take(unitId, CALENDARS_PER_UNIT_MAX)
    if (!request.allowed) return { kind: 'over', retryAfterS: request.retryAfterS }
    const kept = this.#forget(unitId)
    if (kept?.version === version) return this.#keep(unitId, kept)
    const page = this.#pages.take(agencyId, CALENDAR_PAGES_PER_AGENCY_MAX)
    if (!page.allowed) return { kind: 'over', retryAfterS: page.retryAfterS }
    const text = write()
    this.#pages.charge(agencyId, Math.floor(text.length / PAGE_CHARS))
    return this.#keep(unitId, { version, text })
  }

  #keep(unitId: string, calendar: { readonly version: string; readonly text: string }): CalendarOutcome {
    this.#kept.set(unitId, calendar)
    this.#keptChars += calendar.text.length
    for (const oldest of this.#kept.keys()) {
      if (this.#keptChars <= CALENDAR_CHARS_KEPT_MAX) break
      this.#forget(oldest)
    }
    return { kind: 'written', text: calendar.text }
  }

  #forget(unitId: string): { readonly version: string; readonly text: string } | null {
    const kept = this.#kept.get(unitId)
    if (kept === undefined) return null
    this.#kept.delete(unitId)
    this.#keptChars -= kept.text.length
    return kept
  }
}
