import { describe, expect, test } from 'bun:test'
import { encodeEntry } from '../../src/core/journal/entry-codec.ts'
import type { Journal } from '../../src/core/journal/journal.ts'
import type { BatchToAppend } from '../../src/core/journal/journal-store.ts'
import { brokenPromises } from './oracle.ts'
import type { BuildFaults } from './sim-process.ts'
import { SimWorld } from './sim-world.ts'

/* The simulation is worth something only if it catches builds that are wrong. Each of these is, in one place. */

const SEEDS_MAX = 50

/** Reports a record as durable as soon as it is appended: memory and answer run ahead of the log. */
function answerBeforeAppend(journal: Journal): Journal {
  let promised = journal.stats.durableSeq
  return new Proxy(journal, {
    get(target, name) {
      if (name !== 'append') return Reflect.get(target, name, target)
      return async (record: Parameters<Journal['append']>[0]) => {
        void Promise.allSettled([target.append(record)])
        if (record.entry === undefined) return { seq: null }
        promised += 1
        return { seq: promised }
      }
    },
  })
}

/** After an unknown outcome takes new numbers from what the journal shows, instead of sending the identical batch. */
function rereadMaxSeq(store: SimWorld['store']): void {
  const append = store.appendBatch.bind(store)
  const sent = new Map<string, number>()
  store.appendBatch = async (batch: BatchToAppend) => {
    const attempt = (sent.get(batch.batchId) ?? 0) + 1
    sent.set(batch.batchId, attempt)
    return attempt === 1 ? append(batch) : append(renumbered(batch, attempt, store.journal.at(-1)?.seq ?? 0))
  }
}

function renumbered(batch: BatchToAppend, attempt: number, lastSeq: number): BatchToAppend {
  const shift = lastSeq + 1 - batch.firstSeq
  const records = batch.records.map(({ record, entry, body }) => {
    if (record.entry === undefined || entry === null) return { record, entry, body }
    return { record, entry: encodeEntry(record.entry.event, entry.seq + shift), body }
  })
  return { ...batch, batchId: `${batch.batchId} ${attempt}`, firstSeq: lastSeq + 1, records }
}

const BROKEN: Record<string, () => BuildFaults> = {
  'skips the fence': () => ({
    changeStore: (store) => {
      store.withoutFence = true
    },
  }),
  'applies and answers before the log': () => ({ wrapJournal: answerBeforeAppend }),
  're-reads max(seq) after an unknown outcome': () => ({ changeStore: rereadMaxSeq }),
  'forgets that an earlier send is in doubt': () => ({
    changeStore: (store) => {
      const append = store.appendBatch.bind(store)
      store.appendBatch = async (batch) => {
        const outcome = await append(batch)
        return outcome !== 'durable' && outcome.kind === 'unknown' ? { ...outcome, kind: 'refused' } : outcome
      }
    },
  }),
  'looks for a batch in doubt without raising its epoch': () => ({
    changeStore: (store) => {
      store.renewEpoch = async (epoch) => epoch
    },
  }),
  'takes a batch in doubt for not written': () => ({
    changeStore: (store) => {
      store.wasWritten = async () => false
    },
  }),
  'drops one event in twenty': () => {
    let events = 0
    return { wrapAnnounce: (announce) => (input) => (++events % 20 === 0 ? null : announce(input)) }
  },
}

describe('the simulation catches a build that', () => {
  for (const [what, faults] of Object.entries(BROKEN)) {
    test(what, async () => {
      for (let seed = 1; seed <= SEEDS_MAX; seed++) {
        if ((await brokenPromises(await SimWorld.run(seed, 300, faults()))).length > 0) return
      }
      expect.unreachable(`No promise broke in ${SEEDS_MAX} seeds`)
    })
  }
})
