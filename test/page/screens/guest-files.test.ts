import { expect, test } from 'bun:test'

// Not followed by the compiler: the page has another environment.
const { guestFile, staysFile } = await import(`${'../../../src/page/screens/guests/guest-files.ts'}`)

const GUEST = {
  id: 'gst_1',
  firstName: 'Ana',
  lastName: 'Reis',
  email: null,
  phone: null,
  nationality: null,
  createdAt: 'x',
}

test('a guest’s file has everything once, and nothing that only the page knows', () => {
  const bookings = [{ id: 'bkg_1', guest: GUEST, notes: 'A cot' }]
  const text = guestFile(
    { guest: { ...GUEST, stays: [] }, bookings, agency: { slug: 'a', name: 'A', id: 'agc_1' } },
    new Date(0),
  )
  expect(JSON.parse(text)).toEqual({
    exportedAt: '1970-01-01T00:00:00.000Z',
    agency: { slug: 'a', name: 'A' },
    guest: GUEST,
    bookings: [{ id: 'bkg_1', notes: 'A cot' }],
  })
})

test('stays are lines that a spreadsheet reads as text', () => {
  const bookings = [
    { id: 'bkg_1', notes: 'one, "two"\nthree', sourceRef: '=1+1', totalAmount: -5, guest: GUEST },
    { id: 'bkg_2', notes: null, sourceRef: ' a', totalAmount: 5, groupId: 'grp_1', guest: GUEST },
  ]
  expect(staysFile(bookings)).toBe(
    'id,notes,sourceRef,totalAmount,groupId\nbkg_1,"one, ""two""\nthree",\'=1+1,-5,\nbkg_2,," a",5,grp_1\n',
  )
  expect(staysFile([])).toBe('\n')
})
