/** A span as a collector reads it. */
export interface CollectedSpan {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  /** Null: the first of its trace. */
  readonly parentSpanId: string | null
  /** Nanoseconds since 1970. */
  readonly start: bigint
  readonly end: bigint
  readonly attributes: Readonly<Record<string, string>>
  readonly isError: boolean
  /** Of the process. */
  readonly resource: Readonly<Record<string, string>>
}

/** A collector that takes OTLP over HTTP as JSON, on loopback. */
export interface TraceCollector {
  readonly url: string
  /** In the order of their arrival. */
  readonly spans: CollectedSpan[]
  readonly requests: { readonly path: string; readonly headers: Headers }[]
  /** 200 by default; only what is answered with 2xx is read. */
  answer: () => Response | Promise<Response>
  stop(): Promise<void>
}

type Attributes = readonly { key: string; value: { stringValue?: string; intValue?: string } }[]

export function startCollector(): TraceCollector {
  const spans: CollectedSpan[] = []
  const requests: TraceCollector['requests'] = []
  const collector = { spans, requests, answer: (): Response | Promise<Response> => Response.json({}) }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      requests.push({ path: new URL(request.url).pathname, headers: request.headers })
      const body = (await request.json()) as { resourceSpans: ResourceSpans[] }
      const response = await collector.answer()
      if (response.ok) spans.push(...body.resourceSpans.flatMap(spansOf))
      return response
    },
  })
  return Object.assign(collector, { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) })
}

interface ResourceSpans {
  resource: { attributes: Attributes }
  scopeSpans: {
    spans: {
      name: string
      kind: number
      traceId: string
      spanId: string
      parentSpanId?: string
      startTimeUnixNano: string
      endTimeUnixNano: string
      attributes: Attributes
      status: { code?: number }
    }[]
  }[]
}

function spansOf({ resource, scopeSpans }: ResourceSpans): CollectedSpan[] {
  return scopeSpans.flatMap(({ spans }) =>
    spans.map(({ name, kind, traceId, spanId, parentSpanId = null, attributes, status, ...times }) => ({
      name,
      kind,
      traceId,
      spanId,
      parentSpanId,
      start: BigInt(times.startTimeUnixNano),
      end: BigInt(times.endTimeUnixNano),
      attributes: valuesOf(attributes),
      isError: status.code === 2,
      resource: valuesOf(resource.attributes),
    })),
  )
}

function valuesOf(attributes: Attributes): Record<string, string> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? '']))
}
