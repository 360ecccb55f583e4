/**
 * Which shard a credential or a slug belongs to, in a node that has only its own agencies in memory. What is remembered here never changes: a
 * key, a token and a session belong to their agency for good, and an agency keeps its slug, unless it is a sandbox, which can be deleted.
 * Whether they are valid is the owner's to say.
 */
import { shardOf } from '../../core/journal/shard.ts'
import { BatchedCalls } from '../../lib/batched-calls.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Named, Naming } from '../../postgres/stores/postgres-directory-rows.ts'

/** The port that the directory reads through. */
export interface DirectoryRows {
  /**
   * Those of the names that exist.
   * @throws what the database rejects with
   */
  find(names: readonly Naming[]): Promise<readonly Named[]>
}

/** `operator`: a session of the operator, which belongs to no agency. Otherwise the shard of the agency. */
export type Home = number | 'operator'

/** Remembered names; the oldest is forgotten first. About 200 bytes each. */
const REMEMBERED_MAX = 200_000
/** Secrets that do not exist, remembered so that a wrong one does not ask the database each time. Nobody can guess one that will. */
const UNKNOWN_MAX = 20_000
/** Secrets can be restored or imported too. */
const UNKNOWN_MS = 5_000
/** Look-ups that wait for the statement in flight. */
const WAITING_MAX = 10_000
/** Names in one statement. */
const ASKED_AT_ONCE = 500

/** Too many look-ups wait. The request was not handled. */
class DirectoryFullError extends Error {
  override readonly name = 'DirectoryFullError'
}

export class AgencyDirectory {
  readonly #rows: DirectoryRows
  readonly #homes = new Map<string, Home>()
  readonly #unknown = new Set<string>()
  #unknownSinceMs = 0
  readonly #clock: Clock
  readonly #lookUps: BatchedCalls<Naming, Home | null>

  constructor(rows: DirectoryRows, clock: Clock) {
    this.#rows = rows
    this.#clock = clock
    this.#lookUps = new BatchedCalls((namings) => this.#ask(namings), ASKED_AT_ONCE, clock)
  }

  /**
   * Null: nothing has this name. At once when that is remembered; a slug that does not exist is asked for every time, because it may exist
   * by the next, and so is that of a sandbox, because it may be another agency's by then.
   * @throws DirectoryFullError, or what the database rejects with
   */
  home(naming: Naming): Home | null | Promise<Home | null> {
    const text = textOf(naming)
    const known = this.#homes.get(text)
    if (known !== undefined) return known
    if (this.#isUnknown(text)) return null
    if (this.#lookUps.waiting >= WAITING_MAX)
      return Promise.reject(
        new DirectoryFullError(`Cannot look up an agency: ${WAITING_MAX} look-ups are already waiting`),
      )
    return this.#lookUps.call(naming)
  }

  #isUnknown(text: string): boolean {
    if (!this.#unknown.has(text)) return false
    if (this.#clock.monotonicMs() - this.#unknownSinceMs < UNKNOWN_MS) return true
    this.#unknown.clear()
    return false
  }

  async #ask(namings: readonly Naming[]): Promise<(Home | null)[]> {
    const names = [...new Map(namings.map((naming) => [textOf(naming), naming])).values()]
    const found = new Map((await this.#rows.find(names)).map((named) => [textOf(named), named]))
    return namings.map((naming) => {
      const text = textOf(naming)
      const named = found.get(text)
      const home = named === undefined ? null : homeOf(named)
      if (named?.isForGood !== false) this.#remember(naming, text, home)
      return home
    })
  }

  #remember({ kind }: Naming, text: string, home: Home | null): void {
    if (home === null) {
      if (kind === 'slug') return
      if (this.#unknown.size >= UNKNOWN_MAX) this.#unknown.clear()
      if (this.#unknown.size === 0) this.#unknownSinceMs = this.#clock.monotonicMs()
      this.#unknown.add(text)
      return
    }
    if (this.#homes.size >= REMEMBERED_MAX) {
      for (const oldest of this.#homes.keys()) {
        this.#homes.delete(oldest)
        break
      }
    }
    this.#homes.set(text, home)
  }
}

function homeOf({ agencyId }: Named): Home {
  return agencyId === null ? 'operator' : shardOf(agencyId)
}

function textOf({ kind, name }: Naming): string {
  return `${kind} ${name}`
}
