/**
 * Sends spans to a collector, by OTLP over HTTP as JSON (OpenTelemetry Protocol 1.x). Not the official
 * packages, because they are a hundred times its size; Bun's own tracing is not released (docs/decisions.md).
 *
 * - T3 A slow or unreachable collector costs only spans, which are counted as dropped: no request waits, and the queue is bounded.
 */
import { type Clock, sleep } from '../lib/clock.ts'
import { childOf, isSampled, randomHex, spanIdOf, traceIdOf } from '../lib/traceparent.ts'
import type { Span, SpanEnd, SpanKind, Tracer, TraceSettings } from '../lib/tracer.ts'
import { VERSION } from '../lib/version.ts'

export const SPANS_WAITING_MAX = 2_048
/** Serialising a batch takes less than a millisecond. */
const SPANS_PER_BATCH = 256
const EXPORT_EVERY_MS = 1_000
const EXPORT_MS_MAX = 5_000
/** Pause after a batch that the collector did not accept. */
const AGAIN_MS = 5_000

/** By kind: what OTLP calls it (`SpanKind`), and its name. */
const KINDS: Readonly<Record<SpanKind, { readonly code: number; readonly name: string }>> = {
  request: { code: 2, name: 'request' },
  hop: { code: 3, name: 'hop to the owner' },
  command: { code: 1, name: 'command' },
  commit: { code: 1, name: 'journal commit' },
  delivery: { code: 3, name: 'webhook delivery' },
}
const ERROR = 2

interface EndedSpan extends SpanEnd {
  readonly kind: SpanKind
  readonly traceparent: string
  readonly parent: string | null
  /** Monotonic. */
  readonly startMs: number
  readonly endMs: number
}

/** As `fetch` does. */
type Post = (url: string, init: RequestInit) => Promise<Response>

interface TracerOptions {
  readonly settings: TraceSettings
  /** Identifies the process: host and pid. */
  readonly instance: string
  readonly clock: Clock
  /** Random number in [0, 1). */
  readonly dice: () => number
  readonly post: Post
  /** Called for the first batch that is not accepted after others were. */
  onFailure(cause: unknown): void
}

export class OtlpTracer implements Tracer {
  readonly #options: TracerOptions
  #waiting: EndedSpan[] = []
  /** Null: none is on its way. */
  #sending: Promise<void> | null = null
  #isStopped = false
  #hasFailed = false
  #cancel: (() => void) | null = null
  #sent = 0
  #dropped = 0

  constructor(options: TracerOptions) {
    this.#options = options
  }

  get stats(): Tracer['stats'] {
    return { sent: this.#sent, dropped: this.#dropped }
  }

  start(kind: SpanKind, parent: string | null): Span {
    const traceparent = parent === null ? this.#newTrace() : childOf(parent)
    if (!isSampled(traceparent)) return { traceparent, end: notSampled }
    const { clock } = this.#options
    const startMs = clock.monotonicMs()
    return {
      traceparent,
      end: (end = {}) => this.#add({ ...end, kind, traceparent, parent, startMs, endMs: clock.monotonicMs() }),
    }
  }

  /** Sends the waiting spans within this time. No span may be started any more. */
  async stop(withinMs: number): Promise<void> {
    const { clock } = this.#options
    this.#isStopped = true
    this.#cancel?.()
    const untilMs = clock.monotonicMs() + withinMs
    const leftMs = () => untilMs - clock.monotonicMs()
    if (this.#sending !== null) await Promise.race([this.#sending, sleep(clock, withinMs)])
    while (this.#waiting.length > 0 && !this.#hasFailed) await this.#send(leftMs())
    this.#drop(this.#waiting.length)
    this.#waiting = []
  }

  #newTrace(): string {
    const { dice, settings } = this.#options
    return `00-${randomHex(16)}-${randomHex(8)}-${dice() < settings.ratio ? '01' : '00'}`
  }

  #add(span: EndedSpan): void {
    if (this.#waiting.length >= SPANS_WAITING_MAX) {
      this.#drop(1)
      return
    }
    this.#waiting.push(span)
    this.#sendLater()
  }

  #sendLater(): void {
    if (this.#cancel !== null || this.#sending !== null || this.#isStopped) return
    this.#cancel = this.#options.clock.after(this.#hasFailed ? AGAIN_MS : EXPORT_EVERY_MS, () => {
      this.#cancel = null
      this.#sending = this.#sendAll()
    })
  }

  async #sendAll(): Promise<void> {
    do await this.#send(EXPORT_MS_MAX)
    while (this.#waiting.length >= SPANS_PER_BATCH && !this.#hasFailed && !this.#isStopped)
    this.#sending = null
    if (this.#waiting.length > 0) this.#sendLater()
  }

  /** One batch. Never rejects. */
  async #send(withinMs: number): Promise<void> {
    const { settings, clock, post, onFailure } = this.#options
    const batch = this.#waiting.splice(0, SPANS_PER_BATCH)
    const abort = new AbortController()
    const cancel = clock.after(withinMs, () => abort.abort())
    try {
      const response = await post(settings.url, {
        method: 'POST',
        headers: { ...settings.headers, 'content-type': 'application/json' },
        body: this.#textOf(batch),
        redirect: 'manual',
        signal: abort.signal,
      })
      await response.body?.cancel()
      if (!response.ok) throw new Error(`Cannot send spans: the collector has answered ${response.status}`)
      this.#sent += batch.length
      this.#hasFailed = false
    } catch (cause) {
      this.#drop(batch.length)
      if (!this.#hasFailed) onFailure(cause)
      this.#hasFailed = true
    } finally {
      cancel()
    }
  }

  #drop(spans: number): void {
    this.#dropped += spans
  }

  #textOf(batch: readonly EndedSpan[]): string {
    const { settings, instance, clock } = this.#options
    // The wall clock may have been changed; within a batch, all times use the same offset.
    const offsetMs = clock.now() - clock.monotonicMs()
    const attributes = attributesOf({
      'service.name': settings.serviceName,
      'service.version': VERSION,
      'service.instance.id': instance,
    })
    const spans = batch.map((span) => spanJson(span, offsetMs))
    const scope = { name: 'nightledger', version: VERSION }
    return JSON.stringify({ resourceSpans: [{ resource: { attributes }, scopeSpans: [{ scope, spans }] }] })
  }
}

function notSampled(): void {}

function spanJson(span: EndedSpan, offsetMs: number): object {
  const { kind, traceparent, parent, startMs, endMs, name, attributes = {}, isError = false } = span
  return {
    traceId: traceIdOf(traceparent),
    spanId: spanIdOf(traceparent),
    ...(parent !== null && { parentSpanId: spanIdOf(parent) }),
    name: name ?? KINDS[kind].name,
    kind: KINDS[kind].code,
    startTimeUnixNano: nanoText(startMs + offsetMs),
    endTimeUnixNano: nanoText(endMs + offsetMs),
    attributes: attributesOf(attributes),
    status: isError ? { code: ERROR } : {},
  }
}

/** Whole microseconds: as many as a number holds exactly. */
function nanoText(ms: number): string {
  return `${Math.round(ms * 1_000)}000`
}

/** 64-bit integers are texts in OTLP's JSON. */
function attributesOf(values: Readonly<Record<string, string | number>>): object[] {
  return Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) },
  }))
}
