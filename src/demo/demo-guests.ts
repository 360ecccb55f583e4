import type { BookingRequest } from '../core/bookings/booking-turns.ts'

/** First name, last name, nationality. Few enough that some of them come again. */
export const DEMO_GUESTS = [
  ['Marta', 'Silva', 'PT'],
  ['João', 'Ferreira', 'PT'],
  ['Emma', 'Lindqvist', 'SE'],
  ['Lukas', 'Brandt', 'DE'],
  ['Chloé', 'Moreau', 'FR'],
  ['Oliver', 'Hughes', 'GB'],
  ['Giulia', 'Conti', 'IT'],
  ['Sofía', 'Navarro', 'ES'],
  ['Noah', 'de Vries', 'NL'],
  ['Aoife', 'Byrne', 'IE'],
  ['Hana', 'Kobayashi', 'JP'],
  ['Ethan', 'Walker', 'US'],
  ['Zuzanna', 'Nowak', 'PL'],
  ['Mateo', 'Rojas', 'CL'],
  ['Ingrid', 'Solberg', 'NO'],
  ['Charlotte', 'Ashworth', 'GB'],
  ['Daniel', 'Okafor', 'GB'],
  ['Beatriz', 'Almeida', 'PT'],
  ['Tomás', 'Carvalho', 'PT'],
  ['Klara', 'Hoffmann', 'DE'],
  ['Jonas', 'Weber', 'DE'],
  ['Camille', 'Laurent', 'FR'],
  ['Antoine', 'Girard', 'FR'],
  ['Grace', 'Mitchell', 'US'],
  ['Samuel', 'Rosen', 'US'],
  ['Priya', 'Raman', 'IN'],
  ['Wei', 'Zhang', 'CN'],
  ['Anouk', 'Bakker', 'NL'],
  ['Elin', 'Sandberg', 'SE'],
  ['Mikkel', 'Holm', 'DK'],
  ['Aino', 'Virtanen', 'FI'],
  ['Luca', 'Bianchi', 'IT'],
  ['Elena', 'Popescu', 'RO'],
  ['Petr', 'Dvořák', 'CZ'],
  ['Larissa', 'Monteiro', 'BR'],
  ['Rafael', 'Barros', 'BR'],
  ['Siobhán', 'Kelly', 'IE'],
  ['Nadia', 'Haddad', 'MA'],
  ['Yusuf', 'Demir', 'TR'],
  ['Mei', 'Tanaka', 'JP'],
] as const

/** Numbers that the countries' regulators have set aside for fiction; two digits follow. */
const FICTIONAL_PHONES: Readonly<Record<string, string>> = {
  DE: '+49 30 231250',
  FR: '+33 1 99 00 12 ',
  GB: '+44 7700 9001',
  SE: '+46 70 174 06 ',
  US: '+1 202 555 01',
}

/** @param index any number: a guest of the list */
export function demoGuest(index: number): NonNullable<BookingRequest['guest']> {
  const at = index % DEMO_GUESTS.length
  const [firstName, lastName, nationality] = DEMO_GUESTS[at] ?? DEMO_GUESTS[0]
  const phone = FICTIONAL_PHONES[nationality]
  return {
    firstName,
    lastName,
    nationality,
    email: emailOf(firstName, lastName),
    phone: phone === undefined ? null : `${phone}${10 + at}`,
  }
}

function emailOf(firstName: string, lastName: string): string {
  const plain = `${firstName}.${lastName}`.normalize('NFD').replaceAll(/[^A-Za-z.]/g, '')
  return `${plain.toLowerCase()}@example.com`
}
