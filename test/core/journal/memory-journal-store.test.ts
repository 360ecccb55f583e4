import { MemoryJournalStore } from '../../support/memory-journal-store.ts'
import { journalStoreContract } from './journal-store.contract.ts'

journalStoreContract('the journal in memory, as tests use it', async () => {
  const store = new MemoryJournalStore()
  return {
    store,
    seqsOf: async (agencyId) => store.journal.filter((row) => row.agencyId === agencyId).map(({ seq }) => seq),
    bookingIds: async () => [...store.bookings.keys()].sort(),
    auditCounts: async () => [...store.audit.values()].map(({ count }) => count),
    takeShard: async (shard) => void store.takeOverShards([shard], 'other'),
  }
})
