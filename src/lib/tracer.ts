/** Port for recording the work for a request as spans of its trace. Has an implementation only if an endpoint is configured. */

/**
 * - `request`: answering it, in the process that owns its agency.
 * - `hop`: having another process answer it.
 * - `command`: a write, from its arrival at the unit's mailbox.
 * - `commit`: making it durable.
 * - `delivery`: one attempt to deliver a webhook that it caused.
 */
export type SpanKind = 'request' | 'hop' | 'command' | 'commit' | 'delivery'

export interface SpanEnd {
  /** Left out: that of its kind. */
  readonly name?: string
  /** Ids and templates only: no personal data, no secret. */
  readonly attributes?: Readonly<Record<string, string | number>>
  readonly isError?: boolean
}

export interface Span {
  /** The traceparent for work within the span. */
  readonly traceparent: string
  /** To be called once. Cheap: nothing is sent yet. */
  end(end?: SpanEnd): void
}

export interface Tracer {
  /** Begins a span. @param parent its traceparent; null: begins a trace */
  start(kind: SpanKind, parent: string | null): Span
  /** Spans so far. `dropped`: the queue was full, or the collector did not accept them. */
  readonly stats: { readonly sent: number; readonly dropped: number }
}

/** Where spans are sent, and which. */
export interface TraceSettings {
  /** The whole URL. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string
  /** Fraction of the traces started here that is sent, 0 to 1. Callers' traces follow their `sampled` flag. */
  readonly ratio: number
}

/**
 * Runs `work` as a span of a trace.
 * @param work gets the traceparent that applies within
 */
export function spanned<T>(
  { tracer, kind, parent }: { tracer: Tracer | null | undefined; kind: SpanKind; parent: string | null | undefined },
  work: (traceparent: string | null) => Promise<T>,
): Promise<T> {
  if (parent === null || parent === undefined) return work(null)
  if (tracer === null || tracer === undefined) return work(parent)
  const span = tracer.start(kind, parent)
  const done = work(span.traceparent)
  done.then(
    () => span.end(),
    () => span.end({ isError: true }),
  )
  return done
}
