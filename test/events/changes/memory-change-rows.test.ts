import { openJournal } from '../../core/journal/support/open-journal.ts'
import { MemoryChangeRows } from '../../support/memory-change-rows.ts'
import { describeChangeRows } from './change-rows.contract.ts'

describeChangeRows('memory', async () => {
  const { store, journal } = await openJournal({ waitingMax: 100 })
  return { journal, rows: new MemoryChangeRows(store), close: () => journal.close() }
})
