import { type AddressRefusal, refusalOfAddress } from './address-class.ts'
import type { AttemptOutcome } from './attempt-outcome.ts'
import { parseEndpointUrl, type Target } from './endpoint-url.ts'
import { checkTarget, type NameResolver } from './name-resolver.ts'
import { ATTEMPT_MS_MAX, type PostOnce } from './post-once.ts'

/** Of an answer's body so much is read, so that a polite receiver can finish; then the connection is closed. */
export const ANSWER_BYTES_MAX = 16_384
/** The answer counts from its headers on; its body may take so long and no longer. */
const ANSWER_BODY_MS_MAX = 1_000
/** Addresses tried when a connection is refused at once. */
const ADDRESSES_TRIED_MAX = 3

/** A connection was not made, so nothing was sent: the next address may be tried. */
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
  /** PEM certificates to trust instead of the public authorities; tests have their own. */
  readonly trustedCa?: readonly string[]
  /** Tests let loopback through, which is where their receivers are. */
  readonly refusalOf?: (address: string) => AddressRefusal | null
  readonly deadlineMs?: number
}

/**
 * W5: the only way out to a receiver. The name is resolved and judged immediately before the request, and the request goes to
 * the very address that was judged: the URL names the address, `Host` and SNI the name, so that a second look-up, which
 * could answer otherwise, never happens (docs/decisions.md: nothing else that was tried did this).
 */
export function guardedPost(options: GuardedPostOptions): PostOnce {
  const { resolver, allowHosts, trustedCa, refusalOf = refusalOfAddress, deadlineMs = ATTEMPT_MS_MAX } = options

  return async (url, message) => {
    const since = performance.now()
    const left = () => Math.max(1, deadlineMs - (performance.now() - since))
    const ended = (outcome: AttemptOutcome) => ({ outcome, durationMs: Math.round(performance.now() - since) })

    const target = parseEndpointUrl(url, allowHosts)
    if (typeof target === 'string') return ended({ kind: 'refused', refusal: target })
    const places = await placesOf(target, left())
    if (!Array.isArray(places)) return ended(places)

    let outcome: AttemptOutcome = { kind: 'unreachable', cause: 'connection' }
    for (const place of places.slice(0, ADDRESSES_TRIED_MAX)) {
      const sent = await send(place, message, left())
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

  async function placesOf(target: Target, withinMs: number): Promise<Place[] | AttemptOutcome> {
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

  async function send(place: Place, { headers, body }: Parameters<PostOnce>[1], withinMs: number): Promise<Sent> {
    const expired = Symbol('expired')
    const controller = new AbortController()
    let expire = () => {}
    const timer = setTimeout(() => {
      controller.abort()
      // Not left to fetch: a request that does not notice being called off must not hold the attempt.
      expire()
    }, withinMs)
    try {
      const fetching = fetch(place.url, {
        method: 'POST',
        body,
        headers: place.name === null ? headers : { ...headers, host: place.name.header },
        redirect: 'manual',
        // An answer of 200 KB may unpack to 200 MB.
        decompress: false,
        keepalive: false,
        signal: controller.signal,
        tls: {
          rejectUnauthorized: true,
          ...(place.name === null || place.name.isAddress ? {} : { serverName: place.name.host }),
          ...(trustedCa === undefined ? {} : { ca: [...trustedCa] }),
        },
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

/** One place to connect to. `name` is null when the URL's own name is used, which only an exempt receiver's is. */
interface Place {
  readonly url: string
  readonly name: { readonly header: string; readonly host: string; readonly isAddress: boolean } | null
}

interface Sent {
  readonly outcome: AttemptOutcome
  readonly response: Response | null
  readonly mayTryNext: boolean
}

/** OpenSSL's names for what is wrong with a certificate, as Bun passes them on. */
const CERTIFICATE = /CERT|SELF_SIGNED|ISSUER|SIGNATURE|ALTNAME/

function pinned(target: Target, address: string): Place {
  const url = new URL(target.url)
  const header = url.host
  url.hostname = address.includes(':') ? `[${address}]` : address
  return { url: url.href, name: { header, host: target.host.replace(/\.$/, ''), isAddress: target.isLiteral } }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** What is read is thrown away; an unread body would hold its connection. */
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
    // The receiver broke off; its answer was already there.
  } finally {
    clearTimeout(timer)
    stop()
  }
}
