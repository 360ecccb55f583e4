import { expect, test } from 'bun:test'
import { CorruptLedgerError } from '../../../src/core/journal/journal-error.ts'
import { bodyOfEntry, webhookBody } from '../../../src/events/webhooks/envelope.ts'
import { night, sampleBooking, sampleId } from '../../support/samples.ts'
import { sampleEntry } from './support/sample-entries.ts'

test('W3: a body is this text, byte for byte: receivers may have stored or signed it', () => {
  const body = webhookBody({
    id: 'evt_01a1fc67d5ad70b08731a17623d0c8dc',
    kind: 'booking.updated',
    at: Date.UTC(2026, 10, 21, 4, 40, 25, 773),
    seq: 2,
    about: {
      booking: sampleBooking({
        id: 'bkg_01a1fc67d5ad70ae9d753ebd45de4787',
        status: 'checked_in',
        arrival: night('2027-03-01'),
        departure: night('2027-03-04'),
        adults: 2,
        children: 1,
        totalAmount: 35_000,
        version: 3,
      }),
      sourceRef: 'Äb "7"',
      envelope: { unitSlug: 'sea-view', unitName: 'Zoë’s 🏡', currency: 'EUR' },
    },
  })
  expect(body).toBe(
    '{"id":"evt_01a1fc67d5ad70b08731a17623d0c8dc","event":"booking.updated","occurredAt":"2026-11-21T04:40:25.773Z",' +
      '"seq":2,"data":{"id":"bkg_01a1fc67d5ad70ae9d753ebd45de4787","unitSlug":"sea-view","unitName":"Zoë’s 🏡",' +
      '"type":"guest","status":"checked_in","source":"partner","sourceRef":"Äb \\"7\\"","arrival":"2027-03-01",' +
      '"departure":"2027-03-04","nights":3,"adults":2,"children":1,"totalAmount":35000,"currency":"EUR","version":3}}',
  )
})

test('W3: a body rendered from an entry of the journal is this text, too', () => {
  const entry = sampleEntry(sampleId('agc', 'a'), 7, { at: Date.UTC(2027, 0, 1) })
  expect(bodyOfEntry(entry, null)).toBe(
    '{"id":"evt_36313030203700000000000000000000","event":"booking.created","occurredAt":"2027-01-01T00:00:00.000Z",' +
      '"seq":7,"data":{"id":"bkg_36313030203700000000000000000000","unitSlug":"sea-view","unitName":"Sea View",' +
      '"type":"guest","status":"confirmed","source":"partner","sourceRef":null,"arrival":"2027-03-01",' +
      '"departure":"2027-03-05","nights":4,"adults":2,"children":0,"totalAmount":45000,"currency":"EUR","version":1}}',
  )
})

test('an entry that is damaged, or that fires no event, has no body', () => {
  const entry = sampleEntry(sampleId('agc', 'a'), 7, { at: 0 })
  const damaged = { ...entry, payload: entry.payload.replace('45000', '45001') }
  expect(() => bodyOfEntry(damaged, null)).toThrow(CorruptLedgerError)
  const silent = sampleEntry(sampleId('agc', 'a'), 7, { at: 0, isAnnounced: false })
  expect(() => bodyOfEntry(silent, null)).toThrow(CorruptLedgerError)
})
