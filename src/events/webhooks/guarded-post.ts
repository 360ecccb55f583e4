import { unreachable } from '../../lib/assert.ts'
import { type AddressRefusal, refusalOfAddress } from './address-class.ts'
import { parseEndpointUrl, type Target, type UrlRefusal } from './endpoint-url.ts'
import { checkTarget, type NameResolver } from './name-resolver.ts'

/**
 * The contract's wording for every outcome that is not the receiver's own response (Events, Delivery rules 5 and 6).
 */
const COARSE_REASONS = [
  'endpoint address is not publicly routable',
  'endpoint not reachable',
  'no answer within 10s',
] as const
export type CoarseReason = (typeof COARSE_REASONS)[number]

/** Why nothing could be sent: the event's journal entry is damaged, or its month was removed. */
export const UNREADABLE_REASON = 'event could not be read'

/**
 * How one attempt ended. The detailed causes are internal: the service does not describe a receiver's network to
 * others.
 */
export type AttemptOutcome =
  | { readonly kind: 'answered'; readonly httpStatus: number }
  | { readonly kind: 'refused'; readonly refusal: AddressRefusal | UrlRefusal }
  | { readonly kind: 'unreachable'; readonly cause: UnreachableCause }
  | { readonly kind: 'timed_out'; readonly during: 'name' | 'answer' }

/**
 * `name`: the host name did not resolve. `certificate`: the certificate was refused. `connection`: any other failure to
 * connect or send.
 */
type UnreachableCause = 'name' | 'connection' | 'certificate'

export function isAccepted(outcome: AttemptOutcome): boolean {
  return outcome.kind === 'answered' && outcome.httpStatus >= 200 && outcome.httpStatus <= 299
}

/** The contract's wording for the outcome; null when the receiver answered, because its status is reported instead. */
export function coarseReason(outcome: AttemptOutcome): CoarseReason | null {
  switch (outcome.kind) {
    case 'answered':
      return null
    case 'refused':
      return 'endpoint address is not publicly routable'
    case 'unreachable':
      return 'endpoint not reachable'
    case 'timed_out':
      return 'no answer within 10s'
    default:
      return unreachable(outcome)
  }
}

/** Internal name of the cause, for the log and the table; null when the receiver answered. */
export function causeName(outcome: AttemptOutcome): string | null {
  switch (outcome.kind) {
    case 'answered':
      return null
    case 'refused':
      return outcome.refusal
    case 'unreachable':
      return outcome.cause
    case 'timed_out':
      return `slow_${outcome.during}`
    default:
      return unreachable(outcome)
  }
}

/**
 * Deadline for everything up to the response headers: name look-up, connection, TLS, request
 * (docs/contract.md#delivery, rule 1).
 */
const ATTEMPT_MS_MAX = 10_000

/**
 * A port: sends one POST, without retries, to the current address of the URL's host. Never rejects. Settles within
 * `ATTEMPT_MS_MAX` plus the time allowed for the response body.
 */
export type PostOnce = (
  url: string,
  message: { readonly headers: Record<string, string>; readonly body: string },
) => Promise<PostResult>

/** `durationMs`: until the response headers arrived, or the attempt failed. */
export interface PostResult {
  readonly outcome: AttemptOutcome
  readonly durationMs: number
}

/** How much of a response body is read, so that a well-behaved receiver can finish. Then the connection is closed. */
export const ANSWER_BYTES_MAX = 16_384
/** The outcome is decided by the response headers. Reading the body takes at most this long. */
const ANSWER_BODY_MS_MAX = 1_000
/** Addresses tried when connections are refused. */
const ADDRESSES_TRIED_MAX = 3

/** No connection was made, so nothing was sent: the next address can be tried. */
const NOT_CONNECTED: ReadonlySet<string> = new Set([
  'ConnectionRefused',
  'ECONNREFUSED',
  'FailedToOpenSocket',
  'ENETUNREACH',
  'EHOSTUNREACH',
])

export interface GuardedPostOptions {
  readonly resolver: NameResolver
  readonly allowHosts: readonly string[]
  /** PEM certificates to trust instead of the public authorities. Used by tests. */
  readonly trustedCa?: readonly string[]
  /** Replaces the address check. Tests use it to allow loopback, where their receivers listen. */
  readonly refusalOf?: (address: string) => AddressRefusal | null
  readonly deadlineMs?: number
}

/**
 * W5: every request to a receiver goes through this function. It resolves and checks the name immediately before the
 * request, and sends the request to the very address it checked: the URL contains the address, `Host` and SNI the name.
 * There is no second look-up that could return a different address. No other approach that was tried ensured this.
 */
export function guardedPost(options: GuardedPostOptions): PostOnce {
  const { resolver, allowHosts, trustedCa, refusalOf = refusalOfAddress, deadlineMs = ATTEMPT_MS_MAX } = options

  return async (url, message) => {
    const since = performance.now()
    const left = () => Math.max(1, deadlineMs - (performance.now() - since))
    const ended = (outcome: AttemptOutcome) => ({ outcome, durationMs: Math.round(performance.now() - since) })

    const target = parseEndpointUrl(url, allowHosts)
    if (typeof target === 'string') return ended({ kind: 'refused', refusal: target })
    const destinations = await destinationsOf(target, left())
    if (!Array.isArray(destinations)) return ended(destinations)

    let outcome: AttemptOutcome = { kind: 'unreachable', cause: 'connection' }
    for (const destination of destinations.slice(0, ADDRESSES_TRIED_MAX)) {
      const sent = await send(destination, message, left())
      outcome = sent.outcome
      if (sent.response !== null) {
        const result = ended(outcome)
        await readSome(sent.response, Math.min(left(), ANSWER_BODY_MS_MAX))
        return result
      }
      if (!sent.mayTryNext) break
    }
    return ended(outcome)
  }

  async function destinationsOf(target: Target, withinMs: number): Promise<Destination[] | AttemptOutcome> {
    if (target.isExempt) return [{ url: target.url, name: null }]
    const checked = await checkTarget(target, resolver, withinMs, refusalOf)
    switch (checked.kind) {
      case 'addresses':
        return checked.addresses.map((address) => pinned(target, address))
      case 'refused':
        return { kind: 'refused', refusal: checked.refusal }
      case 'unresolved':
        return { kind: 'unreachable', cause: 'name' }
      case 'timed_out':
        return { kind: 'timed_out', during: 'name' }
    }
  }

  async function send(
    destination: Destination,
    { headers, body }: Parameters<PostOnce>[1],
    withinMs: number,
  ): Promise<Sent> {
    const expired = Symbol('expired')
    const controller = new AbortController()
    let expire = () => {}
    const timer = setTimeout(() => {
      controller.abort()
      // Do not rely on fetch: a request that ignores the abort must not block the attempt.
      expire()
    }, withinMs)
    try {
      const fetching = fetch(destination.url, {
        method: 'POST',
        body,
        headers: destination.name === null ? headers : { ...headers, host: destination.name.header },
        redirect: 'manual',
        // A response of 200 KB can decompress to 200 MB.
        decompress: false,
        keepalive: false,
        signal: controller.signal,
        tls: tlsFor(destination, trustedCa),
      })
      const response = await Promise.race([
        fetching,
        new Promise<typeof expired>((resolve) => {
          expire = () => resolve(expired)
        }),
      ])
      if (response === expired) {
        fetching.then((late) => late.body?.cancel()).catch(() => {})
        return { outcome: { kind: 'timed_out', during: 'answer' }, response: null, mayTryNext: false }
      }
      return { outcome: { kind: 'answered', httpStatus: response.status }, response, mayTryNext: false }
    } catch (error) {
      if (controller.signal.aborted) {
        return { outcome: { kind: 'timed_out', during: 'answer' }, response: null, mayTryNext: false }
      }
      const code = codeOf(error)
      return {
        outcome: { kind: 'unreachable', cause: CERTIFICATE.test(code) ? 'certificate' : 'connection' },
        response: null,
        mayTryNext: NOT_CONNECTED.has(code),
      }
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Where to connect. `name` is null when the URL is used unchanged, which happens only for an exempt receiver. */
export interface Destination {
  readonly url: string
  readonly name: { readonly header: string; readonly host: string; readonly isAddress: boolean } | null
}

interface Sent {
  readonly outcome: AttemptOutcome
  readonly response: Response | null
  readonly mayTryNext: boolean
}

/** OpenSSL's names for certificate errors, as Bun passes them on. */
const CERTIFICATE = /CERT|SELF_SIGNED|ISSUER|SIGNATURE|ALTNAME/

/** W5: leads to the very address that was checked. */
export function pinned(target: Target, address: string): Destination {
  const url = new URL(target.url)
  const header = url.host
  url.hostname = address.includes(':') ? `[${address}]` : address
  return { url: url.href, name: { header, host: target.host.replace(/\.$/, ''), isAddress: target.isLiteral } }
}

/** A name's certificate is asked for by that name, although the URL has its address. */
export function tlsFor({ name }: Destination, trustedCa?: readonly string[]) {
  return {
    rejectUnauthorized: true,
    ...(name === null || name.isAddress ? {} : { serverName: name.host }),
    ...(trustedCa === undefined ? {} : { ca: [...trustedCa] }),
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** Reads and discards the body, because an unread body would keep its connection open. */
async function readSome(response: Response, withinMs: number): Promise<void> {
  const reader = response.body?.getReader()
  if (reader === undefined) return
  const stop = () => void reader.cancel().catch(() => {})
  const timer = setTimeout(stop, withinMs)
  try {
    for (let bytes = 0; bytes < ANSWER_BYTES_MAX; ) {
      const { done, value } = await reader.read()
      if (done) return
      bytes += value.byteLength
    }
  } catch {
    // The receiver closed the connection; its response headers had already arrived.
  } finally {
    clearTimeout(timer)
    stop()
  }
}
