import { systemClock } from '../lib/clock.ts'
import { reasonOf } from '../lib/reason-of.ts'
import type { TraceSettings } from '../lib/tracer.ts'
import { OtlpTracer } from '../observability/otlp-tracer.ts'
import type { Log } from './log.ts'

/** @param options.instance identifies this process */
export function openTracer(settings: TraceSettings, { instance, log }: { instance: string; log: Log }): OtlpTracer {
  return new OtlpTracer({
    settings,
    instance,
    clock: systemClock,
    dice: Math.random,
    post: fetch,
    // Without the error itself: Bun's has the URL, whose path may be a key.
    onFailure: (cause) =>
      log.warn(
        { reason: reasonOf(cause) },
        'spans not accepted: further failures are counted, not logged, until a batch is accepted',
      ),
  })
}
