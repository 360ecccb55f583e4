import { describe, expect, test } from 'bun:test'
import type { EncodedEntry } from '../../../src/core/journal/entry-codec.ts'
import { Journal } from '../../../src/core/journal/journal.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { agenciesOfShards, audited, booked } from '../../support/journal-records.ts'
import { MemoryJournalStore } from '../../support/memory-journal-store.ts'
import { CHAIN_KEYS } from '../../support/samples.ts'

const [A = '', B = ''] = agenciesOfShards(2)

async function opened() {
  const store = new MemoryJournalStore()
  const clock = new FakeClock()
  const reported: string[] = []
  const journal = new Journal({
    store,
    clock,
    chainKeys: CHAIN_KEYS,
    term: await store.takeOver(),
    newRenewalId: () => 'renewal',
    limits: { waitingMax: 100, batchMax: 3, queuedMsMax: 5_000 },
    lanes: 1,
    onFenced: () => {},
    onDurable: (entries) => reported.push(entries.map(nameOf).join()),
  })
  const append = (label: string, agencyId = A) =>
    journal.append(booked(label, { agencyId })).then(({ seq }) => void reported.push(`answered ${seq}`))
  return { store, clock, journal, reported, append }
}

function nameOf({ agencyId, seq }: EncodedEntry): string {
  return `${agencyId === A ? 'A' : 'B'}${seq}`
}

describe('what has become durable', () => {
  test('is told once a batch, in order, before those who appended it', async () => {
    const { journal, reported, append } = await opened()
    await Promise.all([append('1'), append('2', B), append('3'), append('4')])
    await journal.append(audited('5', 1, { agencyId: A }))
    expect(reported.filter((what) => !what.startsWith('answered'))).toEqual(['A1,B1,A2', 'A3', ''])
    expect(reported.indexOf('answered 3')).toBeGreaterThan(reported.indexOf('A3'))
    expect(reported[0]).toBe('A1,B1,A2')
  })

  test('is not told while its outcome is unknown, and then once', async () => {
    const { store, clock, reported, append } = await opened()
    let sends = 0
    store.fate = () => (sends++ === 0 ? 'lose_reply' : sends < 4 ? 'refuse_connection' : 'deliver')
    const appending = append('1')
    await settle()
    expect([store.journal.length, reported]).toEqual([1, []])
    await clock.advance(1_000)
    await appending
    expect(reported).toEqual(['A1', 'answered 1'])
  })

  test('is the end of the log, and nothing else is', async () => {
    const { store, journal, append } = await opened()
    const begin = journal.endOf(A)
    store.fate = () => 'poison'
    await append('1').catch(() => {})
    expect([begin.lastSeq, journal.endOf(A)]).toEqual([0, begin])
    store.fate = () => 'deliver'
    await append('2')
    const [row] = store.journal
    expect(journal.endOf(A)).toEqual({
      lastSeq: 1,
      lastMonth: row?.month ?? '',
      lastLink: row?.link ?? new Uint8Array(),
    })
    expect(journal.endOf(B)).toEqual(begin)
  })
})
