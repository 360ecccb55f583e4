/** Where traces are sent. The variables are those of OpenTelemetry. */
import type { TraceSettings } from '../lib/tracer.ts'

/** Valid values, as the rest of a sentence that begins with "use". */
export const TRACES_VALUES = {
  OTEL_EXPORTER_OTLP_ENDPOINT:
    'the http:// or https:// URL of a collector that accepts OTLP over HTTP, such as http://127.0.0.1:4318, without credentials or query',
  OTEL_EXPORTER_OTLP_HEADERS: 'comma-separated name=value pairs with percent-encoded values, such as api-key=secret',
  OTEL_SERVICE_NAME: 'at most 255 characters',
  OTEL_TRACES_SAMPLER_ARG: 'a number from 0 to 1, such as 0.1',
} as const

/** Defaults. */
export const TRACES_DEFAULTS = { OTEL_SERVICE_NAME: 'nightledger', OTEL_TRACES_SAMPLER_ARG: 1 } as const

const NAME_CHARS_MAX = 255
const TRACES_PATH = '/v1/traces'

type Read = <T>(name: keyof typeof TRACES_VALUES, parse: (text: string) => T | null) => T | null

/** @param read the value of a variable; null when it is not set, or wrong, in which case a fault is noted */
export function readTracesConfig(read: Read): TraceSettings | null {
  let isSet = false
  const url = read('OTEL_EXPORTER_OTLP_ENDPOINT', (text) => {
    isSet = true
    return parseEndpoint(text)
  })
  // Other programs share these variables, and allow more in them: an argument of OTEL_TRACES_SAMPLER that is no number must not stop a start.
  if (!isSet) return null
  const headers = read('OTEL_EXPORTER_OTLP_HEADERS', parseHeaders) ?? {}
  const serviceName =
    read('OTEL_SERVICE_NAME', (text) => (text.length <= NAME_CHARS_MAX ? text : null)) ??
    TRACES_DEFAULTS.OTEL_SERVICE_NAME
  const ratio = read('OTEL_TRACES_SAMPLER_ARG', parseRatio) ?? TRACES_DEFAULTS.OTEL_TRACES_SAMPLER_ARG
  return url === null ? null : Object.freeze({ url, headers, serviceName, ratio })
}

function parseEndpoint(text: string): string | null {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol) || /[?#\s]/.test(text)) return null
  if (url.username !== '' || url.password !== '') return null
  return `${url.href.replace(/\/$/, '')}${TRACES_PATH}`
}

/** As in W3C Baggage: a value may have `=` in it. */
function parseHeaders(text: string): Readonly<Record<string, string>> | null {
  try {
    const headers = new Headers()
    for (const pair of text.split(',')) {
      const equals = pair.indexOf('=')
      if (equals === -1) return null
      headers.set(pair.slice(0, equals).trim(), decodeURIComponent(pair.slice(equals + 1).trim()))
    }
    return Object.freeze(Object.fromEntries(headers.entries()))
  } catch {
    // Not a valid header name or value, or malformed percent-encoding.
    return null
  }
}

function parseRatio(text: string): number | null {
  const ratio = /^\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN
  return ratio >= 0 && ratio <= 1 ? ratio : null
}
