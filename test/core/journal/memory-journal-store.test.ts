import { MemoryJournalStore } from '../../support/memory-journal-store.ts'
import { journalStoreContract } from './journal-store.contract.ts'

journalStoreContract('the journal in memory, as tests use it', async () => {
  const store = new MemoryJournalStore()
  return {
    store,
    journalSeqs: async () => store.journal.map(({ seq }) => seq),
    bookingIds: async () => [...store.bookings.keys()].sort(),
    auditCounts: async () => [...store.audit.values()].map((row) => Number(row['count'])),
  }
})
