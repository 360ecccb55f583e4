/**
 * How a process waits for its turn to write. It takes over
 * - at once when nobody has a shard, when its writer has released it, or when that process is dead, as one on its machine can tell;
 * - when the writer has been silent for SILENT_MS by the clock of Postgres, and this process has seen it be silent for SEEN_MS: after
 *   a fail-over or an outage of the database the last heartbeat is old, although the writer lives.
 * The fence (J5) makes a take-over safe in any case; waiting only keeps two processes from fencing out each other.
 */
import { type Clock, sleep } from '../lib/clock.ts'
import type { Writer } from '../postgres/stores/postgres-writers.ts'

/** Five heartbeats. */
const SILENT_MS = 5_000
/** Two of them. */
const SEEN_MS = 2_000
/** How long Postgres waits for a change before it is asked again. */
const WAIT_MS = 200
const PAUSE_MS = 200
/** How often a process of this machine is looked at. */
const LOOK_MS = 50

export interface TurnWatch {
  /** Called once, when there is a writer to wait for. */
  onWaiting(writer: Writer): void
  /** A writer that was waited for stops, or has released its shards already: it is our turn in a moment. Called once. */
  onDraining(writer: Writer): void
  /** The writer has been silent for too long, or its process is dead. */
  onTurn(why: 'silent' | 'dead', writer: Writer): void
  onFailure(error: unknown): void
}

/** A heartbeat that was seen, and since when (monotonic milliseconds). */
interface Seen {
  readonly beatAt: number
  readonly since: number
}

/** Resolves when it is this process's turn, or when `isCancelled`. */
export async function awaitTurn(options: {
  writers: {
    list(): Promise<readonly Writer[]>
    change(asked: { waitMs: number; isDrainingKnown: boolean }): Promise<void>
  }
  clock: Clock
  isOver: (run: string) => boolean
  isCancelled: () => boolean
  watch: TurnWatch
}): Promise<void> {
  const { writers, clock, isOver, isCancelled, watch } = options
  let seen = new Map<string, Seen>()
  let isWaiting = false
  let isDrainingKnown = false
  while (!isCancelled()) {
    try {
      const list = await writers.list()
      seen = lastSeen(list, seen, clock.monotonicMs())
      const ahead = list.find((writer) => !isGone(writer, { seen, now: clock.monotonicMs(), isOver, watch }))
      if (ahead !== undefined && !isWaiting) watch.onWaiting(ahead)
      isWaiting ||= ahead !== undefined
      const stopping = ahead === undefined ? list.find(({ isReleased }) => isReleased) : ahead
      if (isWaiting && !isDrainingKnown && (stopping?.isDraining || stopping?.isReleased)) {
        isDrainingKnown = true
        watch.onDraining(stopping)
      }
      if (ahead === undefined) return
      const waiting = { isOver: false }
      const changed = writers.change({ waitMs: WAIT_MS, isDrainingKnown }).finally(() => {
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

function isGone(
  writer: Writer,
  options: { seen: ReadonlyMap<string, Seen>; now: number; isOver: (run: string) => boolean; watch: TurnWatch },
): boolean {
  const { seen, now, isOver, watch } = options
  if (writer.isReleased) return true
  const since = seen.get(writer.writerId)?.since ?? now
  const isSilent = writer.silentMs >= SILENT_MS && now - since >= SEEN_MS
  const isDead = writer.run !== null && isOver(writer.run)
  if (!isSilent && !isDead) return false
  watch.onTurn(isDead ? 'dead' : 'silent', writer)
  return true
}
