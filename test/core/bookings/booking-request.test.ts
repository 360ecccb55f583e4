import { expect, test } from 'bun:test'
import { type BookingRequest, newBookingOf } from '../../../src/core/bookings/booking-turns.ts'
import { AGENCY, night, requestFor, sampleId, sampleUnit } from '../../support/samples.ts'

const expectedUntil = night('2027-03-08')
const bookingAs = (status: BookingRequest['status']) =>
  newBookingOf(requestFor(sampleUnit(), '2027-03-01', '2027-03-05', { status, expectedUntil }), AGENCY, {
    id: sampleId('bkg', 'a'),
    at: 0,
  })

test('only a guest who has arrived is expected to stay longer than booked', () => {
  expect(bookingAs('checked_in').expectedUntil).toBe(expectedUntil)
  expect(bookingAs('confirmed').expectedUntil).toBeNull()
})

test('a booking has an extra bed only with children', () => {
  const bookedWith = (children: number) =>
    newBookingOf(requestFor(sampleUnit(), '2027-03-01', '2027-03-05', { children, extraBed: true }), AGENCY, {
      id: sampleId('bkg', 'a'),
      at: 0,
    })
  expect(bookedWith(1).extraBed).toBe(true)
  expect(bookedWith(0).extraBed).toBe(false)
})
