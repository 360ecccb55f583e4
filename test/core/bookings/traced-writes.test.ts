import { expect, test } from 'bun:test'
import { MemoryLedger } from '../../support/memory-ledger.ts'
import { RecordedSpans } from '../../support/recorded-spans.ts'
import { AGENCY, CALLER, requestFor, sampleId, sampleUnit } from '../../support/samples.ts'

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const UNIT = sampleUnit({ id: sampleId('unt', '0') })
const STAY = requestFor(UNIT, '2027-03-01', '2027-03-03')

async function world() {
  const tracer = new RecordedSpans()
  const ledger = await MemoryLedger.open([UNIT])
  await ledger.takeOver({ tracer })
  return { ledger, spans: tracer.spans, book: (caller = CALLER) => ledger.commands.book(AGENCY, STAY, caller) }
}

test('a write is a span of the trace of its caller, making it durable one of that, and its entry names the write', async () => {
  const { ledger, spans, book } = await world()
  await book({ ...CALLER, traceparent: TRACEPARENT })
  const [command, commit] = spans
  expect(spans.map(({ kind, parent, end }) => [kind, parent, end])).toEqual([
    ['command', TRACEPARENT, {}],
    ['commit', command?.traceparent ?? '', {}],
  ])
  expect(commit?.traceparent).not.toBe(command?.traceparent)
  expect(ledger.store.journal.at(-1)?.traceparent).toBe(command?.traceparent ?? '')
})

test('a refusal is no error of the trace; a write that fails is', async () => {
  const { ledger, spans, book } = await world()
  await book()
  await book({ ...CALLER, traceparent: TRACEPARENT })
  expect(spans.map(({ kind, end }) => [kind, end])).toEqual([
    ['command', {}],
    ['commit', {}],
  ])
  await ledger.journal.close()
  await expect(book({ ...CALLER, traceparent: TRACEPARENT })).rejects.toThrow()
  expect(spans.slice(2).map(({ kind, end }) => [kind, end])).toEqual([
    ['command', { isError: true }],
    ['commit', { isError: true }],
  ])
})

test('a write of a caller without a trace has none', async () => {
  const { ledger, spans, book } = await world()
  await book()
  expect(spans).toEqual([])
  expect(ledger.store.journal.at(-1)?.traceparent).toBeNull()
})
