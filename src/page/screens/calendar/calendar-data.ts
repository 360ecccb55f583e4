/**
 * What the calendar shows, and how it stays true: pages of the tape as they come into sight, and every change since the first of
 * them. The pages are one span without gaps. The changes are followed from the oldest page on, so that none is missed; those that a
 * later page has already are recognised by their version.
 */
import { answerOf, client } from '../../api/client.ts'
import { connection } from '../../api/connection.ts'
import { type Problem, problemOf } from '../../api/problem.ts'
import { onSignedInAgain } from '../../api/session.ts'
import { ChartRows } from '../../chart/chart-rows.ts'
import type { ChartUnit } from '../../chart/stay.ts'
import { type ChartTape, getTape, readTape, stayOfBooking, unitOfJson } from '../../chart/tape.ts'
import type { Day } from '../../format/days.ts'
import { Store } from '../../lib/store.ts'
import { type AgencyChange, ChangeStream } from '../../stays/live-stays.ts'
import { RestrictedDays } from '../../stays/restrictions.ts'

interface CalendarState {
  /** Of `rows`: whatever is drawn from them is drawn again when it changes. */
  readonly revision: number
  /** Null until the first page has come. */
  readonly today: Day | null
  readonly loadedFrom: Day
  /** Exclusive. */
  readonly loadedTo: Day
  readonly isLoading: boolean
  readonly problem: Problem | null
}

/** Two years either way. */
export const HORIZON_DAYS = 731

/** The first page: enough for a quarter on a wide screen, and small enough to come at once. */
const FIRST_BACK = 45
const FIRST_AHEAD = 139
/** How far a later page goes beyond what is wanted, and the most that the service gives at a time. */
const AHEAD = 184
const PAGE_DAYS_MAX = 1_000

export class CalendarData {
  readonly rows = new ChartRows()
  readonly state: Store<CalendarState>
  readonly #path: { readonly agencySlug: string }
  readonly #horizon: { readonly from: Day; readonly to: Day }
  readonly #closing = new AbortController()
  readonly #stopListening: readonly (() => void)[]
  #wanted: { readonly from: Day; readonly to: Day }
  #isReading = false
  #closedRead = Promise.resolve()
  #stream: ChangeStream | null = null

  /** @param around the day that is shown first */
  constructor(path: { readonly agencySlug: string }, horizon: { readonly from: Day; readonly to: Day }, around: Day) {
    this.#path = path
    this.#horizon = horizon
    const from = Math.max(horizon.from, around - FIRST_BACK)
    const to = Math.min(horizon.to, around + FIRST_AHEAD)
    this.#wanted = { from, to }
    this.state = new Store<CalendarState>({
      revision: 0,
      today: null,
      loadedFrom: from,
      loadedTo: from,
      isLoading: true,
      problem: null,
    })
    this.rows.subscribe(() => this.#set({ revision: this.rows.revision }))
    const resume = () => void this.#read()
    this.#stopListening = [connection.onBack(resume), onSignedInAgain(resume)]
    void this.#read()
  }

  close(): void {
    this.#closing.abort()
    this.#stream?.close()
    for (const stop of this.#stopListening) stop()
  }

  /** These days are in sight. */
  want({ from, to }: { readonly from: Day; readonly to: Day }): void {
    const horizon = this.#horizon
    this.#wanted = {
      from: Math.max(horizon.from, Math.min(from, this.#wanted.from)),
      to: Math.min(horizon.to, Math.max(to, this.#wanted.to)),
    }
    void this.#read()
  }

  /** Everything there is: for a search. */
  wantAll(): void {
    this.want(this.#horizon)
  }

  retry(): void {
    void this.#read()
  }

  /** Reads page after page until all that is wanted is there. One at a time. */
  async #read(): Promise<void> {
    if (this.#isReading || this.#closing.signal.aborted) return
    this.#isReading = true
    try {
      for (let page = this.#nextPage(); page !== null; page = this.#nextPage()) {
        this.#set({ isLoading: true })
        const tape = readTape(await getTape(this.#path, page, this.#closing.signal))
        this.#apply(tape)
      }
      this.#set({ isLoading: false, problem: null })
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#set({ isLoading: false, problem: problemOf(error) })
    } finally {
      this.#isReading = false
    }
  }

  #nextPage(): { from: Day; to: Day } | null {
    const { loadedFrom, loadedTo, today } = this.state.value
    const { from, to } = this.#wanted
    const horizon = this.#horizon
    if (today === null) return { from, to }
    if (to > loadedTo) return { from: loadedTo, to: Math.min(to + AHEAD, horizon.to, loadedTo + PAGE_DAYS_MAX) }
    if (from < loadedFrom)
      return { from: Math.max(from - AHEAD, horizon.from, loadedFrom - PAGE_DAYS_MAX), to: loadedFrom }
    return null
  }

  #apply(tape: ChartTape): void {
    const { today, loadedFrom, loadedTo } = this.state.value
    if (today === null) {
      this.rows.replace(tape.units, tape.stays)
      this.#set({ today: tape.today, loadedFrom: tape.from, loadedTo: tape.to })
      this.#stream?.close()
      this.#stream = new ChangeStream(this.#path, tape.cursor, {
        onChange: (change) => this.#changed(change),
        onExpired: () => this.#begin(),
      })
    } else {
      this.rows.add(tape.units, tape.stays)
      this.#set({ loadedFrom: Math.min(loadedFrom, tape.from), loadedTo: Math.max(loadedTo, tape.to) })
    }
  }

  /** What is known cannot be brought up to date: everything is reloaded, and shown as it was until then. */
  #begin(): void {
    const { loadedFrom, loadedTo } = this.state.value
    this.#wanted = { from: Math.max(loadedFrom, loadedTo - PAGE_DAYS_MAX), to: loadedTo }
    this.#set({ today: null })
    void this.#read()
  }

  #changed(change: AgencyChange): void {
    switch (change.event) {
      case 'booking.created':
      case 'booking.updated':
      case 'booking.cancelled':
        this.rows.put(stayOfBooking(change.data))
        return
      // Which stays were theirs, the change does not say.
      case 'guest.erased':
        this.#begin()
        return
      case 'unit.updated': {
        const known = this.#unit(change.data.slug)
        // A new unit, or one with another slug: its stays are known by the old one, and its row would look free.
        if (known === undefined) this.#begin()
        else {
          this.rows.putUnit(unitOfJson(change.data, known.closed))
          // It may be a change of restrictions, which the unit in the event does not have. Read one after the other, so that the last counts.
          this.#closedRead = this.#closedRead.then(() => this.#readClosed(known.slug))
        }
        return
      }
      case 'rates.updated':
        return
    }
  }

  async #readClosed(slug: string): Promise<void> {
    try {
      const params = { path: { ...this.#path, unitSlug: slug } }
      const { signal } = this.#closing
      const { restrictions } = await answerOf(
        client.GET('/portal/v1/agencies/{agencySlug}/units/{unitSlug}/restrictions', { params, signal }),
      )
      const { from, to } = this.#horizon
      const unit = this.#unit(slug)
      const digits = new RestrictedDays(restrictions).digits(from, to)
      if (unit !== undefined) this.rows.putUnit({ ...unit, closed: [{ from, to, digits }] })
    } catch {
      // The marks of closed days stay as they are until the calendar is opened again.
    }
  }

  #unit(slug: string): ChartUnit | undefined {
    return this.rows.units.find((unit) => unit.slug === slug)
  }

  #set(change: Partial<CalendarState>): void {
    this.state.set({ ...this.state.value, ...change })
  }
}

/** One booking with guest and notes. @throws Problem */
export function getBooking(path: { readonly agencySlug: string }, bookingId: string, signal: AbortSignal) {
  const params = { path: { ...path, bookingId } }
  return answerOf(client.GET('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}', { params, signal }))
}
