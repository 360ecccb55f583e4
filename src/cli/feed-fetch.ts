/**
 * X2: fetches a channel's feed from a host that is not trusted. Its answer costs bounded time and memory, and it cannot
 * lead the request into the importer's own network: only the first address is the importer's choice.
 */
import { gunzipSync } from 'node:zlib'
import { type AddressRefusal, refusalOfAddress } from '../events/webhooks/address-class.ts'
import { parseEndpointUrl } from '../events/webhooks/endpoint-url.ts'
import { type Destination, pinned, tlsFor } from '../events/webhooks/guarded-post.ts'
import { checkTarget, DnsResolver, type NameResolver } from '../events/webhooks/name-resolver.ts'
import { DeadlineError, withDeadline } from '../lib/deadline.ts'

/** From the first look-up to the last byte, over all redirects. */
const FEED_DEADLINE_MS = 30_000
/** Of the body, and again of what it decodes to. */
export const FEED_BYTES_MAX = 5_000_000
const REDIRECTS_MAX = 3

interface FeedFetchOptions {
  readonly resolver?: NameResolver
  /** Replaces the address check, and the public authorities. Used by tests, whose hosts are on loopback. */
  readonly refusalOf?: (address: string) => AddressRefusal | null
  readonly trustedCa?: readonly string[]
  readonly deadlineMs?: number
}

/**
 * @param from an http or https URL
 * @returns the text, at most `FEED_BYTES_MAX` bytes
 * @throws Error whose message continues "Cannot read the feed:"
 */
export async function fetchFeed(from: string, options: FeedFetchOptions = {}): Promise<string> {
  const { deadlineMs = FEED_DEADLINE_MS } = options
  const controller = new AbortController()
  try {
    return await withDeadline(followed(from, options, controller.signal, deadlineMs), deadlineMs)
  } catch (error) {
    throw error instanceof DeadlineError ? new Error(`it took longer than ${deadlineMs / 1_000} s`) : error
  } finally {
    controller.abort()
  }
}

async function followed(
  from: string,
  options: FeedFetchOptions,
  signal: AbortSignal,
  withinMs: number,
): Promise<string> {
  let url = from
  let destination: Destination = { url: from, name: null }
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const response = await fetch(destination.url, {
      signal,
      redirect: 'manual',
      // Bun would decode all of a body before its size can be looked at.
      decompress: false,
      headers: {
        'accept-encoding': 'gzip',
        ...(destination.name === null ? {} : { host: destination.name.header }),
      },
      ...(destination.url.startsWith('https:') ? { tls: tlsFor(destination, options.trustedCa) } : {}),
    })
    const location = response.headers.get('location')
    if (response.status >= 300 && response.status < 400 && location !== null) {
      url = URL.parse(location, url)?.href ?? location
      destination = await destinationOf(url, options, withinMs)
    } else {
      if (!response.ok) throw new Error(`it answered ${response.status}`)
      return textOf(await bodyOf(response), response.headers.get('content-encoding'))
    }
  }
  throw new Error(`it redirects more than ${REDIRECTS_MAX} times; use the address that it leads to`)
}

/** Where a redirect leads: https, and an address of the Internet. */
async function destinationOf(
  url: string,
  { resolver = new DnsResolver(), refusalOf = refusalOfAddress }: FeedFetchOptions,
  withinMs: number,
): Promise<Destination> {
  const to = `it redirects to ${url.slice(0, 200)}`
  const target = parseEndpointUrl(url, [])
  if (typeof target === 'string') throw new Error(`${to}, which must be an https URL without a password`)
  const checked = await checkTarget(target, resolver, withinMs, refusalOf)
  if (checked.kind === 'refused') throw new Error(`${to}, which is not publicly routable`)
  const address = checked.kind === 'addresses' ? checked.addresses[0] : undefined
  if (address === undefined) throw new Error(`${to}, whose name does not resolve`)
  return pinned(target, address)
}

/** Reads no more than the limit. */
async function bodyOf(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > FEED_BYTES_MAX) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function textOf(body: Buffer, encoding: string | null): string {
  if (encoding === null || encoding === 'identity') return new TextDecoder().decode(body)
  if (encoding !== 'gzip')
    throw new Error(`its Content-Encoding is ${encoding.slice(0, 20)}, which must be gzip or none`)
  try {
    return new TextDecoder().decode(gunzipSync(body, { maxOutputLength: FEED_BYTES_MAX }))
  } catch (error) {
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    throw isTooLarge ? tooLarge() : new Error('its body is not gzip')
  }
}

function tooLarge(): Error {
  return new Error(`it is larger than ${FEED_BYTES_MAX} bytes`)
}
