/** Where `listen` gets its changes from: `GET /changes`, without end. */
import { CliError, RefusedError } from './exit-codes.ts'
import { isFinal, NoStreamError, type PartnerClient } from './partner-client.ts'
import { type Json, queryOf } from './portal-client.ts'

/** A change, as the service wrote it; null when only the cursor has moved. */
export interface Reading {
  readonly cursor: string
  readonly change: string | null
}

/** What is read from the service. */
export type ChangeReader = Pick<PartnerClient, 'get' | 'events'>

export interface SourceOptions {
  readonly after: string
  /** The `include` of the request, undefined for none. */
  readonly include: string | undefined
  /** Ends the reading. */
  readonly stop: AbortSignal
  /** Says why it is read again, or in another way. */
  readonly onTrouble: (sentence: string) => void
  /** Resolves after so many milliseconds, or when `stop` is aborted. */
  readonly pause: (ms: number) => Promise<void>
}

/** Between two connections, at least. */
const AGAIN_MS = 1_000
/** After a 429. */
const LIMITED_MS = 5_000
const WAIT_S = 20

/**
 * Every change after a cursor, in their order, until `stop` is aborted: as server-sent events, or by long polling where a proxy holds
 * those back. A connection that ends is made again from the last cursor.
 * @throws CliError when the service refuses, or cannot be reached at all
 */
export async function* changesAfter(client: ChangeReader, options: SourceOptions): AsyncGenerator<Reading> {
  const { include, stop, onTrouble, pause } = options
  let { after } = options
  let isPolling = false
  let hasAnswered = false
  while (!stop.aborted) {
    let isHeard = false
    let wait = AGAIN_MS
    try {
      for await (const reading of isPolling
        ? poll(client, after, include, stop)
        : stream(client, after, include, stop)) {
        after = reading.cursor
        hasAnswered = true
        isHeard = true
        yield reading
        if (stop.aborted) return
      }
      if (isPolling) wait = 0
    } catch (error) {
      if (stop.aborted) return
      if (!(error instanceof CliError)) throw error
      const sentence = error.message.split('\n')[0] ?? ''
      if (error instanceof NoStreamError && !isHeard) {
        isPolling = true
        onTrouble(`${sentence}: polling every ${WAIT_S} s instead`)
      } else {
        // Before the first answer, it may be the command line that is wrong. What is refused now will be refused again.
        if (!hasAnswered || isFinal(error)) throw error
        if (error instanceof RefusedError && error.status === 429) wait = LIMITED_MS
        onTrouble(`${sentence}: trying again`)
      }
    }
    if (wait > 0) await pause(wait)
  }
}

async function* stream(
  client: ChangeReader,
  after: string,
  include: string | undefined,
  stop: AbortSignal,
): AsyncGenerator<Reading> {
  for await (const { id, data } of client.events(`/changes${queryOf({ after, include })}`, null, stop))
    if (id !== '') yield { cursor: id, change: data }
}

/** One request, which waits for a change. */
async function* poll(
  client: ChangeReader,
  after: string,
  include: string | undefined,
  stop: AbortSignal,
): AsyncGenerator<Reading> {
  const page = await client.get(`/changes${queryOf({ after, include, wait: WAIT_S, limit: 500 })}`, stop)
  for (const change of page['changes'] as Json[])
    yield { cursor: String(change['cursor']), change: JSON.stringify(change) }
  yield { cursor: String(page['cursor']), change: null }
}

const SPANS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of `30m`, `24h`, `7d`; null for any other text. */
export function spanOf(text: string): number | null {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  return count === undefined ? null : Number(count) * (SPANS[unit] ?? 0)
}

/**
 * The cursor before the first change that happened at `since` or later. No request asks for a time, and cursors have no order that a client
 * knows: this reads from the beginning, 500 changes a request.
 * @param since milliseconds since 1970
 * @returns `requests`: how many it took
 */
export async function cursorAt(
  client: ChangeReader,
  since: number,
  { include, pause }: Pick<SourceOptions, 'include' | 'pause'>,
): Promise<{ readonly cursor: string; readonly requests: number }> {
  let after = 'start'
  for (let requests = 1; ; requests++) {
    const page = await patiently(() => client.get(`/changes${queryOf({ after, include, limit: 500 })}`), pause)
    for (const { cursor, occurredAt } of page['changes'] as Json[]) {
      if (Date.parse(String(occurredAt)) >= since) return { cursor: after, requests }
      after = String(cursor)
    }
    after = String(page['cursor'])
    if (page['hasMore'] !== true) return { cursor: after, requests }
  }
}

/** A long history takes more requests than a minute allows: then it waits. */
async function patiently<T>(ask: () => Promise<T>, pause: SourceOptions['pause']): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof RefusedError) || error.code !== 'RATE_LIMITED') throw error
      await pause(LIMITED_MS)
    }
  }
}
