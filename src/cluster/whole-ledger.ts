import type { SessionRows } from '../accounts/portal-sessions.ts'
import type { Journal } from '../core/journal/journal.ts'
import { OF_SHARD_0 } from '../core/journal/shard.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import type { Ownership, RateRows } from './ownership.ts'
import { type OwnedStores, type TakenOver, type TakeOverSteps, takeOver, warmUpStatements } from './take-over.ts'

/** The one process that serves: all shards are its own, until another process takes them all. */
export class WholeLedger implements Ownership {
  readonly sessions: SessionRows
  readonly #stores: OwnedStores
  readonly #holder: string
  readonly #clock: Clock
  #journal: Pick<Journal, 'epoch' | 'append'> | null = null

  /** @param options.holder the name of this writer in `shard`: host and process */
  constructor({ stores, holder, clock }: { stores: OwnedStores; holder: string; clock: Clock }) {
    this.#stores = stores
    this.#holder = holder
    this.#clock = clock
    this.sessions = stores.sessionRows.writtenBy(() => this.epoch())
  }

  readonly termOf = (): number => 0

  owned(): 'all' {
    return 'all'
  }

  epoch(): number {
    return this.#writing.epoch
  }

  warmUp(): Promise<void> {
    return warmUpStatements(this.#stores)
  }

  acquire(steps: TakeOverSteps): Promise<TakenOver> {
    return takeOver({ ...this.#stores, ...steps, holder: this.#holder, clock: this.#clock })
  }

  serveWith({ journal }: { readonly journal: Journal }): void {
    this.#journal = journal
  }

  /** Appends an empty record, which the fence rejects; `onFenced` of the journal tells those who wait. */
  async findLost(): Promise<void> {
    await Promise.allSettled([this.#writing.append({ agencyId: OF_SHARD_0, at: this.#clock.now() })])
  }

  beat(): Promise<{ readonly isAwaited: boolean } | null> {
    return this.#stores.writers.beat(this.#stores.writerId)
  }

  async openRateRows(journal: Pick<Journal, 'epoch'>): Promise<RateRows> {
    const term = journal.epoch
    return { persist: (keep) => this.#stores.rateRows.keep({ epoch: journal.epoch, term }, keep) }
  }

  /** The epoch says it. */
  sendWith(): void {}

  async release(): Promise<void> {}

  async end(): Promise<void> {
    await this.#stores.writers.release(this.#stores.writerId)
  }

  async close(): Promise<void> {}

  get #writing() {
    assert(this.#journal !== null, 'Cannot write: the ledger is not taken over')
    return this.#journal
  }
}
