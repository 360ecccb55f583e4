/**
 * How a process waits for its turn to write. It takes over
 * - at once when nobody has a shard, when its writer has released it, or when that process is dead, as one on its machine can tell;
 * - when the writer has been silent for SILENT_MS by the clock of Postgres, and this process has seen it be silent for SEEN_MS: after
 *   a fail-over or an outage of the database the last heartbeat is old, although the writer lives.
 * The fence (J5) keeps any take-over from harming the log. That no process is fenced out while it serves from memory (P3), the take-over
 * itself sees to: it takes from the writers alone that were seen to be gone, so of two that wait, one continues waiting.
 */
import { type Clock, sleep } from '../lib/clock.ts'
import type { PostgresWriters, Writer } from '../postgres/stores/postgres-writers.ts'
import { SILENT_MS } from '../postgres/stores/postgres-writers.ts'

/** Two of them. */
const SEEN_MS = 2_000
/** How long Postgres waits for a change before it is asked again. */
const WAIT_MS = 200
const PAUSE_MS = 200
/** How often a process of this machine is looked at. */
const LOOK_MS = 50

/** What a process needs while it waits for its turn. */
export interface Turn {
  readonly writers: Pick<PostgresWriters, 'list' | 'change' | 'await' | 'checkSchema'>
  /** Of this process. It may be a writer already: the answer to a take-over may have been lost. */
  readonly writerId: string
  /** Repeats what a booking after the take-over will need first, so that it finds connections, caches and plans in place. */
  warmUp(): Promise<void>
}

/** What becomes of waiting. */
export interface TurnWatch {
  /** Called once, when there is a writer to wait for. */
  onWaiting(writer: Writer): void
  /** A writer that was waited for stops, or has released its shards already: it is our turn in a moment. Called once. */
  onDraining(writer: Writer): void
  /** The writer has been silent for too long, or its process is dead. */
  onTurn(why: 'silent' | 'dead', writer: Writer): void
  /** The database did not answer. It is asked again. */
  onFailure(error: unknown): void
}

/** A heartbeat that was seen, and since when (monotonic milliseconds). */
interface Seen {
  readonly beatAt: number
  readonly since: number
}

/** Resolves when it is this process's turn, or when `isCancelled`. @returns the ids of the writers that are gone */
export async function awaitTurn(options: {
  writers: Omit<Turn['writers'], 'checkSchema'>
  /** Whether a writer is waited for: not this process itself. */
  isAhead: (writer: Writer) => boolean
  clock: Clock
  isOver: (run: string) => boolean
  isCancelled: () => boolean
  watch: TurnWatch
}): Promise<readonly string[]> {
  const { writers, isAhead, clock, isOver, isCancelled, watch } = options
  let seen = new Map<string, Seen>()
  let isWaiting = false
  let isDrainingKnown = false
  while (!isCancelled()) {
    try {
      const list = (await writers.list()).filter(isAhead)
      seen = lastSeen(list, seen, clock.monotonicMs())
      const found = list.map((writer) => ({ writer, why: whyGone(writer, { seen, now: clock.monotonicMs(), isOver }) }))
      const ahead = found.find(({ why }) => why === null)?.writer
      // Of several nodes, one may be gone while another one is there.
      if (ahead === undefined) for (const { writer, why } of found) if (isTurn(why)) watch.onTurn(why, writer)
      if (ahead !== undefined && !isWaiting) watch.onWaiting(ahead)
      isWaiting ||= ahead !== undefined
      const stopping = ahead === undefined ? list.find(({ isReleased }) => isReleased) : ahead
      if (isWaiting && !isDrainingKnown && (stopping?.isDraining || stopping?.isReleased)) {
        isDrainingKnown = true
        watch.onDraining(stopping)
      }
      if (ahead === undefined) return list.map(({ writerId }) => writerId)
      await writers.await()
      const waiting = { isOver: false }
      // One that drains beside the one that is waited for is no news either.
      const isKnown = isDrainingKnown || list.some(({ isDraining }) => isDraining)
      const changed = writers.change({ waitMs: WAIT_MS, isDrainingKnown: isKnown }).finally(() => {
        waiting.isOver = true
      })
      await Promise.race([changed, untilOver(list, { clock, isOver, waiting })])
    } catch (error) {
      watch.onFailure(error)
      // What was seen before an outage says nothing about after it.
      seen = new Map()
      await sleep(clock, PAUSE_MS)
    }
  }
  return []
}

/** Resolves when one of the writers has died since, as this machine can tell, or when the wait is over anyway. */
async function untilOver(
  list: readonly Writer[],
  { clock, isOver, waiting }: { clock: Clock; isOver: (run: string) => boolean; waiting: { readonly isOver: boolean } },
): Promise<void> {
  const alive = list.flatMap(({ run }) => (run === null || isOver(run) ? [] : [run]))
  while (!waiting.isOver && !alive.some(isOver)) await sleep(clock, LOOK_MS)
}

function lastSeen(list: readonly Writer[], before: ReadonlyMap<string, Seen>, now: number): Map<string, Seen> {
  return new Map(
    list.map(({ writerId, beatAt }) => {
      const last = before.get(writerId)
      return [writerId, last?.beatAt === beatAt ? last : { beatAt, since: now }]
    }),
  )
}

type Gone = 'released' | 'silent' | 'dead'

function isTurn(why: Gone | null): why is 'silent' | 'dead' {
  return why === 'silent' || why === 'dead'
}

/** Null: it is there, and is waited for. */
function whyGone(
  writer: Writer,
  { seen, now, isOver }: { seen: ReadonlyMap<string, Seen>; now: number; isOver: (run: string) => boolean },
): Gone | null {
  if (writer.isReleased) return 'released'
  if (writer.run !== null && isOver(writer.run)) return 'dead'
  const since = seen.get(writer.writerId)?.since ?? now
  return writer.silentMs >= SILENT_MS && now - since >= SEEN_MS ? 'silent' : null
}
