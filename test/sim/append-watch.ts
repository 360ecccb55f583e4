import type { BatchToAppend } from '../../src/core/journal/journal-store.ts'
import type { JournalRecord } from '../../src/core/journal/record.ts'

/** Watches what the lanes of one process send. */
export class AppendWatch {
  /** What they must not have done. */
  readonly broken: string[] = []
  /** The shards of the appends whose outcome the process does not know yet. */
  readonly #inFlight = new Set<number>()
  readonly #sent = new WeakSet<JournalRecord>()
  #isFenced = false

  /** Called when the process learns that another writer has taken over. */
  fence(): void {
    this.#isFenced = true
  }

  /** Called at every send. @param known settles when its outcome reaches the process */
  watch<T>({ shards, records }: BatchToAppend, known: Promise<T>): Promise<T> {
    for (const { shard } of shards) {
      if (this.#inFlight.has(shard)) this.broken.push(`J1: two appends of shard ${shard} are in flight`)
      this.#inFlight.add(shard)
    }
    for (const { record } of records) {
      if (this.#isFenced && !this.#sent.has(record)) this.broken.push('J5: a new record was sent after the fence')
      this.#sent.add(record)
    }
    return known.finally(() => {
      for (const { shard } of shards) this.#inFlight.delete(shard)
    })
  }
}
