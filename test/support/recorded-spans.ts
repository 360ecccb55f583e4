import { childOf } from '../../src/lib/traceparent.ts'
import type { SpanEnd, SpanKind, Tracer } from '../../src/lib/tracer.ts'

/** A trace that begins with the recorder. */
const BEGUN = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

export interface RecordedSpan {
  readonly kind: SpanKind
  readonly parent: string | null
  readonly traceparent: string
  /** Null: it has not ended. */
  end: SpanEnd | null
}

/** A tracer that records, in the order of their beginning. */
export class RecordedSpans implements Tracer {
  readonly spans: RecordedSpan[] = []
  readonly stats = { sent: 0, dropped: 0 }

  start(kind: SpanKind, parent: string | null) {
    const span: RecordedSpan = { kind, parent, traceparent: childOf(parent ?? BEGUN), end: null }
    this.spans.push(span)
    return {
      traceparent: span.traceparent,
      end: (end: SpanEnd = {}) => {
        if (span.end !== null) throw new Error(`The span ${kind} has ended twice`)
        span.end = end
      },
    }
  }
}
