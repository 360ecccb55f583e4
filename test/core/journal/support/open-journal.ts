import { Journal, type JournalLimits } from '../../../../src/core/journal/journal.ts'
import type { JournalError } from '../../../../src/core/journal/journal-error.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { MemoryJournalStore } from '../../../support/memory-journal-store.ts'
import { CHAIN_KEYS } from '../../../support/samples.ts'

const LIMITS: JournalLimits = { waitingMax: 8, batchMax: 4, queuedMsMax: 5_000 }

/** A journal over a store in memory, as the only writer of all shards: of one lane, unless more are asked for. */
export async function openJournal(
  {
    lanes = 1,
    atEndOfTurn,
    ...limits
  }: Partial<JournalLimits> & { lanes?: number; atEndOfTurn?: (task: () => void) => void } = {},
  clock = new FakeClock(),
) {
  const store = new MemoryJournalStore()
  const fencedBy: unknown[] = []
  const fenced = Promise.withResolvers<{ settled: Promise<void> }>()
  let renewals = 0
  const journal = new Journal({
    store,
    clock,
    lanes,
    chainKeys: CHAIN_KEYS,
    limits: { ...LIMITS, ...limits },
    term: await store.takeOver(),
    onFenced: (cause, settled) => {
      fencedBy.push(cause)
      fenced.resolve({ settled })
    },
    newRenewalId: () => `renewal ${++renewals}`,
    ...(atEndOfTurn === undefined ? {} : { atEndOfTurn }),
  })
  return { store, clock, journal, fencedBy, fenced: fenced.promise }
}

/** How a promise ends, without an unhandled rejection on the way. */
export function ending(appended: Promise<{ seq: number | null }>): { state: string } {
  const seen = { state: 'open' }
  appended.then(
    ({ seq }) => {
      seen.state = `durable ${seq}`
    },
    (error: JournalError) => {
      seen.state = error.kind
    },
  )
  return seen
}
