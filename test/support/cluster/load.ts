/** Partners of a cluster: writers with Idempotency-Key, readers of what was just acknowledged, followers of the feed. They remember what they were told. */

import { addNights, formatNight } from '../../../src/core/domain/night.ts'
import { ChangeFollower } from '../change-followers.ts'
import { requestOf } from '../http-call.ts'
import { night } from '../samples.ts'
import { AGENCIES, type LoadAgency, UNITS_EACH } from './agencies.ts'
import { type Request, Waits } from './waits.ts'

const FIRST = night('2027-01-01')
const NIGHTS = 20_000
/** Bookings that readers ask about. */
const RECENT_MAX = 400
/** A client gives an attempt up then, and asks again. */
const ATTEMPT_MS_MAX = 60_000
/** Of an attempt past the entrance. So that those that hang leave room for others: a process has 256 requests in flight at most. */
const DIRECT_MS_MAX = 2_000
/** Shards whose changes are followed. */
const FOLLOWED = 4

/** `made`: acknowledged. `refused`: said not to have been made. `open`: nothing is claimed. */
export type Outcome = 'made' | 'refused' | 'open'

interface Acknowledged {
  readonly id: string
  readonly agency: LoadAgency
  readonly unit: string
  readonly arrival: string
  readonly departure: string
  readonly atMs: number
}

export interface LoadOptions {
  readonly writers?: number
  readonly readers?: number
  /** A client's mean pause between two requests, milliseconds. */
  readonly pauseMs?: number
}

export class ClusterLoad {
  /** By sourceRef. */
  readonly outcomes = new Map<string, Outcome>()
  readonly cancelled = new Set<string>()
  /** By sourceRef: what a refused booking's attempts were answered, and when. */
  readonly refusals = new Map<string, string>()
  readonly writes = new Waits('write')
  readonly reads = new Waits('read')
  readonly followers: readonly { readonly agency: LoadAgency; readonly follower: ChangeFollower }[]
  /** The age of the oldest acknowledged booking that a read did not show, at the start of the read; milliseconds. */
  stalestMs = 0
  staleReads = 0
  /** Reads that were asked of a node itself, by how they ended. */
  readonly direct = { answered: 0, failed: 0 }
  /** The longest time for which this process itself did nothing; waits include it. */
  lagMs = 0
  made = 0
  readonly #url: string
  readonly #nodeUrls: readonly string[]
  readonly #run = crypto.randomUUID().slice(0, 8)
  readonly #recent: Acknowledged[] = []
  readonly #options: Required<LoadOptions>
  #running: Promise<void>[] = []
  #isStopping = false

  /** @param nodeUrls nodes that readers also ask past the entrance, however stale they are */
  constructor(url: string, nodeUrls: readonly string[], options: LoadOptions = {}) {
    this.#url = url
    this.#nodeUrls = nodeUrls
    this.#options = { writers: 64, readers: 16, pauseMs: 150, ...options }
    this.followers = AGENCIES.slice(0, FOLLOWED).map((agency) => ({
      agency,
      follower: new ChangeFollower(() => url, agency.secret),
    }))
  }

  start(): void {
    this.#isStopping = false
    const { writers, readers } = this.#options
    this.#running = [
      ...Array.from({ length: writers }, (_, i) => this.#write(`${this.#run}-${i}`)),
      ...Array.from({ length: readers }, (_, i) => this.#read(i % 4 === 3 ? 'node' : 'entrance')),
      this.#watchLag(),
    ]
    for (const [i, { follower }] of this.followers.entries()) follower.start(i % 2 === 0 ? 'poll' : 'stream')
  }

  /** Ends writers and readers; followers continue, to catch up. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#running)
  }

  /** Returns when this many more bookings were acknowledged. */
  async more(count: number, withinMs = 90_000): Promise<void> {
    const [until, deadline] = [this.made + count, performance.now() + withinMs]
    while (this.made < until) {
      if (performance.now() > deadline)
        throw new Error(`Only ${this.made - until + count} of ${count} bookings in ${withinMs} ms`)
      await Bun.sleep(5)
    }
  }

  async #write(client: string): Promise<void> {
    for (let i = 0; !this.#isStopping; i++) {
      await this.#pause()
      const ref = `${client}-${i}`
      const agency = AGENCIES[Math.floor(Math.random() * AGENCIES.length)] as LoadAgency
      const first = addNights(FIRST, Math.floor(Math.random() * NIGHTS))
      const stay = {
        unit: `unit-${Math.floor(Math.random() * UNITS_EACH)}`,
        arrival: formatNight(first),
        departure: formatNight(addNights(first, 1 + (i % 3))),
      }
      this.outcomes.set(ref, 'open')
      const answer = await this.#untilAnswered('/bookings', { ...stay, sourceRef: ref }, agency, `book-${ref}`)
      if (answer === null) continue
      this.outcomes.set(ref, answer.outcome)
      if (answer.outcome === 'refused') this.refusals.set(ref, answer.attempts.join(', '))
      if (answer.outcome !== 'made') continue
      this.made += 1
      if (i % 8 === 0) await this.#cancel(answer.id, agency)
      else this.#remember({ id: answer.id, agency, ...stay, atMs: performance.now() })
    }
  }

  async #cancel(id: string, agency: LoadAgency): Promise<void> {
    const answer = await this.#untilAnswered(`/bookings/${id}/cancel`, {}, agency, `cancel-${id}`)
    if (answer?.outcome === 'made') this.cancelled.add(id)
  }

  /**
   * An unknown outcome is asked for again with the same key, as a client does. A refusal is taken for what it says, but it speaks of its own
   * attempt: only one that is kept for the key (409) speaks of earlier ones too. null: stopped before.
   */
  async #untilAnswered(
    path: string,
    body: object,
    agency: LoadAgency,
    key: string,
  ): Promise<{ outcome: 'made' | 'refused'; id: string; attempts: readonly string[] } | null> {
    const request = this.writes.begin(agency.shard)
    try {
      for (let attempt = 0; ; attempt++) {
        if (attempt > 0) {
          if (this.#isStopping) return null
          this.writes.repeat()
          await Bun.sleep(50)
        }
        const answer = await this.#attempt(request, { path, body, agency, key })
        if (answer === null || (attempt > 0 && answer.outcome === 'refused' && !answer.isKept)) continue
        return { ...answer, attempts: request.attempts }
      }
    } finally {
      this.writes.end(request)
    }
  }

  /** null: unknown, ask again. */
  async #attempt(
    request: Request,
    { path, body, agency, key }: { path: string; body: object; agency: LoadAgency; key: string },
  ): Promise<{ outcome: 'made' | 'refused'; id: string; isKept: boolean } | null> {
    let response: Response
    let answer: { booking?: { id: string }; title?: string }
    try {
      response = await fetch(`${this.#url}/partner/v1${path}`, {
        ...requestOf({
          token: agency.secret,
          headers: { 'idempotency-key': key, 'x-request-id': request.id },
          json: body,
        }),
        signal: AbortSignal.timeout(ATTEMPT_MS_MAX),
      })
      answer = (await response.json()) as typeof answer
    } catch (error) {
      this.writes.fail(`no answer (${codeOf(error)})`)
      this.writes.note(request, `no answer (${codeOf(error)})`)
      return null
    }
    const { status } = response
    this.writes.note(request, `${status} ${answer.title ?? ''} by ${response.headers.get('x-served-by') ?? 'HAProxy'}`)
    if (status === 200 || status === 201) return { outcome: 'made', id: answer.booking?.id ?? '', isKept: true }
    // The night is taken. A rule has refused, and nothing failed.
    if (status === 409) return { outcome: 'refused', id: '', isKept: true }
    this.writes.fail(`${status} ${answer.title ?? ''}`.trim())
    const isRefusal = status < 500 || answer.title?.includes('othing was changed')
    return isRefusal ? { outcome: 'refused', id: '', isKept: false } : null
  }

  async #read(of: 'entrance' | 'node'): Promise<void> {
    while (!this.#isStopping) {
      await this.#pause()
      const booking = this.#recent[Math.floor(Math.random() * this.#recent.length)]
      if (booking === undefined) continue
      const since = performance.now()
      if (of === 'entrance') await this.#readThere(booking, since)
      // A node that is cut off answers nothing that it must forward: nobody who asks it waits for that before asking again.
      else void this.#readDirectly(booking, since)
    }
  }

  async #readDirectly(booking: Acknowledged, since: number): Promise<void> {
    const url = this.#nodeUrls[Math.floor(Math.random() * this.#nodeUrls.length)] as string
    const shown = await this.#shows(url, booking, DIRECT_MS_MAX).catch(() => null)
    this.direct[shown === null ? 'failed' : 'answered'] += 1
    if (shown === false) this.#noteStale(since - booking.atMs)
  }

  async #readThere(booking: Acknowledged, since: number): Promise<void> {
    const request = this.reads.begin(booking.agency.shard)
    for (let attempt = 0; !this.#isStopping; attempt++) {
      if (attempt > 0) {
        this.reads.repeat()
        await Bun.sleep(50)
      }
      try {
        // The answer may be as old as the attempt's start allows.
        const began = attempt === 0 ? since : performance.now()
        if (!(await this.#shows(this.#url, booking, ATTEMPT_MS_MAX, request.id))) this.#noteStale(began - booking.atMs)
        break
      } catch (error) {
        const what = error instanceof AnswerError ? error.message : `no answer (${codeOf(error)})`
        this.reads.fail(what)
        this.reads.note(request, what)
      }
    }
    this.reads.end(request)
  }

  /** Whether the unit's calendar has the nights of a booking. @throws AnswerError when the answer is another; what `fetch` throws */
  async #shows(
    url: string,
    { agency, unit, arrival, departure }: Acknowledged,
    withinMs: number,
    id = '',
  ): Promise<boolean> {
    const response = await fetch(`${url}/partner/v1/availability?unit=${unit}&from=${arrival}&to=${departure}`, {
      headers: { authorization: `Bearer ${agency.secret}`, 'x-request-id': id },
      signal: AbortSignal.timeout(withinMs),
    })
    const body = (await response.json()) as { blockedNights?: string[]; title?: string }
    if (response.status !== 200) throw new AnswerError(`${response.status} ${body.title ?? ''}`.trim())
    return body.blockedNights?.includes(arrival) ?? false
  }

  #noteStale(ageMs: number): void {
    this.staleReads += 1
    this.stalestMs = Math.max(this.stalestMs, ageMs)
  }

  #remember(booking: Acknowledged): void {
    if (this.#recent.length < RECENT_MAX) this.#recent.push(booking)
    else this.#recent[Math.floor(Math.random() * RECENT_MAX)] = booking
  }

  #pause(): Promise<void> {
    return Bun.sleep(Math.random() * 2 * this.#options.pauseMs)
  }

  async #watchLag(): Promise<void> {
    while (!this.#isStopping) {
      const since = performance.now()
      await Bun.sleep(20)
      this.lagMs = Math.max(this.lagMs, performance.now() - since - 20)
    }
  }
}

class AnswerError extends Error {
  override readonly name = 'AnswerError'
}

function codeOf(error: unknown): string {
  const { code, name } = error as { code?: string; name?: string }
  return code ?? name ?? 'unknown'
}
