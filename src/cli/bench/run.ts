/**
 * A run of a load test: an open loop over the runtime's own HTTP client. Requests are scheduled independently of the responses, as
 * from many independent clients, and wait if every connection is in use (src/lib/open-loop.ts).
 */
import { Arrivals, OpenLoop } from '../../lib/open-loop.ts'
import type { Connection } from '../connection.ts'
import { cellOf } from '../table.ts'
import { type EarlyEnd, type Ending, Figures, type Floor, type RunFigures } from './figures.ts'
import type { Load, LoadRequest } from './load.ts'
import type { LoadPlan } from './plan.ts'

const ANSWER_MS_MAX = 10_000
/** The end of each wait polls the clock, because timers are not precise enough. */
const TIMER_MS = 2
/** Between two polls of the clock: shorter than any latency of interest. */
const PAUSE_MS = 0.03
const SWEEP_MS = 1_000

/** Refusals by the agency's rules: the service did the same work as for a success. */
const DECIDED = [409, 422]
/** Caused by the key, not by the load. Each ends the run. */
const REFUSED = [401, 403, 429]

export interface Running {
  readonly second: number
  readonly answered: number
  readonly failed: number
}

interface RunOptions {
  readonly connection: Connection
  readonly load: Load
  readonly plan: LoadPlan
  readonly seed: number
  /** Time limit of a request, and of what is unanswered at the end. Left out: ten seconds. */
  readonly answerMsMax?: number
  /** Ends the run; requests in flight are still awaited. */
  readonly stop: AbortSignal
  /** Called every second. */
  onSecond(running: Running): void
}

interface InFlight {
  readonly request: LoadRequest
  readonly sentNs: number
  readonly controller: AbortController
}

export function runLoad(options: RunOptions): Promise<RunFigures> {
  return new LoadRun(options).run()
}

class LoadRun {
  readonly #options: RunOptions
  readonly #loop: OpenLoop
  readonly #figures: Figures
  readonly #startNs = Bun.nanoseconds()
  readonly #untilNs: number
  readonly #answerNsMax: number
  /** By scheduled time. */
  readonly #inFlight = new Map<number, InFlight>()
  readonly #cell = new Int32Array(new SharedArrayBuffer(4))
  readonly #ended = Promise.withResolvers<void>()
  #due = 0
  #waited = 0
  #end: EarlyEnd | null = null
  /** No more requests become due. */
  #stoppedNs: number | null = null

  constructor(options: RunOptions) {
    const { plan, seed, load } = options
    this.#options = options
    this.#untilNs = plan.durationS * 1e9
    this.#answerNsMax = (options.answerMsMax ?? ANSWER_MS_MAX) * 1e6
    const arrivals = new Arrivals({ perSecond: plan.perSecond, seed })
    this.#loop = new OpenLoop(arrivals, { fromNs: 0, untilNs: this.#untilNs })
    this.#figures = new Figures(load.operations)
  }

  async run(): Promise<RunFigures> {
    const { stop } = this.#options
    const interrupt = () => this.#stop({ reason: 'interrupted', message: 'The run was interrupted.' })
    stop.addEventListener('abort', interrupt)
    const sweep = setInterval(() => this.#sweep(), SWEEP_MS)
    this.#turn()
    await this.#ended.promise
    clearInterval(sweep)
    stop.removeEventListener('abort', interrupt)
    return this.#result()
  }

  #now(): number {
    return Bun.nanoseconds() - this.#startNs
  }

  /** Discards the requests in flight. */
  get #isRefused(): boolean {
    return this.#end !== null && this.#end.reason !== 'interrupted'
  }

  #stop(end: EarlyEnd): void {
    this.#end ??= end
    this.#stoppedNs ??= this.#now()
  }

  /** Resolves when every request was answered or timed out. */
  readonly #turn = (): void => {
    this.#pump()
    const nowNs = this.#now()
    const lastNs = this.#stoppedNs ?? this.#untilNs
    const isOver = nowNs >= lastNs
    const open = this.#stoppedNs === null ? this.#loop.open : this.#inFlight.size
    if (isOver && (this.#isRefused || open === 0 || nowNs - lastNs > this.#answerNsMax)) {
      this.#ended.resolve()
      return
    }
    const gapMs = isOver ? TIMER_MS * 2 : (Math.min(this.#loop.dueNs, lastNs) - nowNs) / 1e6
    if (gapMs > TIMER_MS) {
      setTimeout(this.#turn, gapMs - TIMER_MS)
      return
    }
    Atomics.wait(this.#cell, 0, 0, Math.max(0, Math.min(PAUSE_MS, gapMs)))
    setImmediate(this.#turn)
  }

  /** Sends due requests while connections are free. */
  #pump(): void {
    const { connections, requestsMax } = this.#options.plan
    while (this.#stoppedNs === null && this.#due < requestsMax) {
      const { dueNs } = this.#loop
      if (!this.#loop.advance(this.#now())) break
      this.#due += 1
      this.#figures.due(dueNs)
      if (this.#loop.open > connections) this.#waited += 1
    }
    while (this.#stoppedNs === null && this.#inFlight.size < connections) {
      const dueNs = this.#loop.send()
      if (dueNs === null) return
      void this.#send(dueNs)
    }
  }

  async #send(dueNs: number): Promise<void> {
    const request = this.#options.load.next()
    if (request === null) {
      this.#loop.failed(dueNs)
      this.#stop({ reason: 'no_stays', message: 'The run ended early: no free stay was left to book.' })
      return
    }
    const { url, token } = this.#options.connection
    const controller = new AbortController()
    this.#inFlight.set(dueNs, { request, sentNs: this.#now(), controller })
    try {
      const response = await fetch(`${url}/partner/v1${request.path}`, {
        method: request.method,
        redirect: 'error',
        signal: controller.signal,
        headers: {
          Authorization: `Bearer ${token}`,
          ...(request.body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...(request.idempotencyKey === undefined ? {} : { 'Idempotency-Key': `"${request.idempotencyKey}"` }),
        },
        ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      })
      const text = await response.text()
      this.#answered(dueNs, response.status, text)
    } catch (error) {
      this.#settle(dueNs, { kind: 'failed', outcome: faultOf(error) }, null)
    }
    this.#pump()
  }

  #answered(dueNs: number, status: number, text: string): void {
    const answer = { status, text }
    const code = status < 400 ? '' : codeIn(text)
    const outcome = code === '' ? String(status) : `${status} ${code}`
    if (REFUSED.includes(status)) {
      // The outcome without the refusal is unknown, and the latency of the refusal is irrelevant.
      this.#inFlight.get(dueNs)?.request.settled?.(answer)
      this.#inFlight.delete(dueNs)
      this.#loop.failed(dueNs)
      this.#stop(refusalOf(status, code, text, this.#options.plan))
      return
    }
    const isCounted = status < 400 || DECIDED.includes(status)
    this.#settle(dueNs, { kind: isCounted ? 'answered' : 'failed', outcome }, answer)
  }

  #settle(dueNs: number, ending: Ending, answer: { status: number; text: string } | null): void {
    const sent = this.#inFlight.get(dueNs)
    // It was given up before.
    if (sent === undefined) return
    const nowNs = this.#now()
    this.#inFlight.delete(dueNs)
    if (ending.kind === 'answered') this.#loop.answered(dueNs, nowNs)
    else this.#loop.failed(dueNs)
    this.#figures.ended(sent.request.operation, { dueNs, nowNs }, ending)
    sent.request.settled?.(answer)
  }

  /** Gives up requests without a response in time. */
  #sweep(): void {
    const nowNs = this.#now()
    for (const [dueNs, { sentNs, controller }] of this.#inFlight) {
      if (nowNs - sentNs < this.#answerNsMax) continue
      this.#settle(dueNs, { kind: 'unanswered' }, null)
      controller.abort()
    }
    const second = Math.floor(nowNs / 1e9)
    this.#options.onSecond({ second, ...this.#figures.secondAt(second - 1) })
  }

  #result(): RunFigures {
    const nowNs = this.#now()
    const isRefused = this.#isRefused
    // Requests aborted by the refusal do not count.
    for (const [dueNs, { request, controller }] of this.#inFlight) {
      if (isRefused) request.settled?.(null)
      else this.#settle(dueNs, { kind: 'unanswered' }, null)
      this.#loop.failed(dueNs)
      controller.abort()
    }
    this.#inFlight.clear()
    if (!isRefused) for (const dueNs of this.#loop.unanswered()) this.#figures.unsent({ dueNs, nowNs })
    const { lateP99Ms, lateMaxMs } = this.#loop.end(nowNs)
    return {
      seconds: Math.min(nowNs, this.#stoppedNs ?? this.#untilNs) / 1e9,
      ...this.#figures.end(),
      generator: { lateP99Ms, lateMaxMs, waited: this.#waited },
      end: this.#end,
    }
  }
}

/** The service's codes are upper-case words; anything else comes from elsewhere. */
function codeIn(text: string): string {
  const code = memberIn(text, 'code')
  return /^[A-Z_]{1,40}$/.test(code) ? code : ''
}

function memberIn(text: string, member: string): string {
  try {
    return String(JSON.parse(text)?.[member] ?? '')
  } catch {
    return ''
  }
}

const TITLE_LENGTH_MAX = 300

function refusalOf(status: number, code: string, text: string, { perSecond }: LoadPlan): EarlyEnd {
  const title = cellOf(memberIn(text, 'title')).slice(0, TITLE_LENGTH_MAX)
  const said = `${status}${code === '' ? '' : ` ${code}`}${title === '' ? '' : `: ${title}`}`
  if (status === 429)
    return {
      reason: 'rate_limited',
      message:
        `The run was ended by a limit (${said}). ${perSecond} requests per second were within the limits of the key, so something else uses ` +
        "the key or the quota, a proxy has its own limit, or searches of so many units exceed the agency's share. The figures cover the run " +
        'until then.',
    }
  return { reason: 'refused', message: `The run was ended: the service no longer accepts the key (${said}).` }
}

function faultOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown }
  return String(code ?? name ?? 'failed').slice(0, 40)
}

const FLOOR_REQUESTS = 20
const FLOOR_OF_KEY = 5
const FLOOR_MS_MAX = 5_000

/**
 * The round trip of the cheapest request: `/healthz`, or `GET /me` where that is not served. Also opens the connections for the load.
 * @throws what `fetch` throws
 */
export async function floorOf(
  { url, token }: Connection,
  { connections, stop }: { connections: number; stop: AbortSignal },
): Promise<Floor> {
  const get = async (path: string, headers = {}) => {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(FLOOR_MS_MAX)])
    const response = await fetch(`${url}${path}`, { redirect: 'manual', signal, headers })
    await response.arrayBuffer()
    return response.status
  }
  const isProbed = (await get('/healthz')) === 200
  await Promise.all(Array.from({ length: connections }, () => get('/healthz')))
  const probe = isProbed ? () => get('/healthz') : () => get('/partner/v1/me', { Authorization: `Bearer ${token}` })
  const times: number[] = []
  for (let i = 0; i < (isProbed ? FLOOR_REQUESTS : FLOOR_OF_KEY); i++) {
    const since = Bun.nanoseconds()
    await probe()
    times.push((Bun.nanoseconds() - since) / 1e6)
  }
  const [minMs = 0, p50Ms = 0, maxMs = 0] = [0, times.length >> 1, times.length - 1].map((i) =>
    Number(times.toSorted((a, b) => a - b)[i]?.toFixed(3)),
  )
  return { wire: isProbed ? 'GET /healthz' : 'GET /partner/v1/me', requests: times.length, minMs, p50Ms, maxMs }
}
