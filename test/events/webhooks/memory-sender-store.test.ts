import { CorruptLedgerError } from '../../../src/core/journal/journal-error.ts'
import { bodyOfEntry } from '../../../src/events/webhooks/envelope.ts'
import { senderStoreContract } from './sender-store.contract.ts'
import { type MemoryEntry, MemorySenderStore } from './support/memory-sender-store.ts'
import type { SampleEntry } from './support/sample-entries.ts'

function memoryEntryOf(entry: SampleEntry): MemoryEntry {
  const { agencyId, seq, id, at, isAnnounced, after } = entry
  const body = () => {
    try {
      return bodyOfEntry(entry, after.sourceRef)
    } catch (error) {
      if (error instanceof CorruptLedgerError) return null
      throw error
    }
  }
  return { agencyId, seq, id, at, isAnnounced, body }
}

senderStoreContract('in memory', async () => {
  const journal: MemoryEntry[] = []
  const raised = new Map<number, number>()
  const epochOf = (shard: number) => 1 + (raised.get(shard) ?? 0)
  const store = new MemorySenderStore(() => journal, epochOf)
  const delivery = (id: string) => {
    const found = store.deliveries.get(id)
    if (found === undefined) throw new Error(`No delivery ${id}`)
    return found
  }
  const endpoint = (id: string) => {
    const found = store.endpoints.get(id)
    if (found === undefined) throw new Error(`No endpoint ${id}`)
    return found
  }
  return {
    store,
    epoch: store.epoch,
    ownership: async (shard) => ({ shard, epoch: epochOf(shard) }),
    raiseEpoch: async (shard) => void raised.set(shard, epochOf(shard)),
    addEntry: async (entry) => void journal.push(memoryEntryOf(entry)),
    damageEntry: async (entry) => {
      const found = journal.find(({ id }) => id === entry.id)
      Object.assign(found ?? {}, memoryEntryOf({ ...entry, payload: `${entry.payload} ` }))
    },
    addEndpoint: async (one) => void store.addEndpoint(one),
    addDelivery: async (deliveryId, { id, agencyId }, at) => void store.addDelivery(id, at, { deliveryId, agencyId }),
    delivery: async (id) => {
      const { status, attempts, tries, nextAttemptAt, finishedAt, claimedBy, log } = delivery(id)
      return { status, attempts, tries, nextAttemptAt, finishedAt, claimedBy, log }
    },
    endpoint: async (id) => endpoint(id),
    setEndpoint: async (id, change) => void Object.assign(endpoint(id), change),
    setDelivery: async (id, change) => void Object.assign(delivery(id), change),
  }
})
