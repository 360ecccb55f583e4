/** Members of portal bodies that TypeBox's own types cannot check: each says what is accepted. */

import { Kind, type TUnsafe, Type, TypeRegistry } from '@sinclair/typebox'
import type { Agency } from '../../core/catalogue/agency.ts'
import { basisPointsOfPct, pctOfBasisPoints } from '../../core/domain/money.ts'
import { parseNight } from '../../core/domain/night.ts'
import { charactersOf } from '../../http/text-schema.ts'
import { EXPECTED } from '../../http/validator.ts'
import { assert } from '../../lib/assert.ts'
import { dayStart, isTimeZone, parseInstant } from '../../lib/clock.ts'

const TESTED = 'Tested'
const TEST = Symbol('test')

TypeRegistry.Set<{ [TEST]: (value: unknown) => boolean }>(TESTED, (schema, value) => schema[TEST](value))

/** @param expected completes `must be …` */
function tested<T extends string | number>(
  json: Record<string, unknown>,
  expected: string,
  test: (value: T) => boolean,
): TUnsafe<T> {
  const type = json['type'] === 'number' ? 'number' : 'string'
  return Type.Unsafe<T>({
    ...json,
    [Kind]: TESTED,
    [EXPECTED]: expected,
    [TEST]: (value: unknown) => typeof value === type && test(value as T),
  })
}

/** A secret in the answer that makes it. */
export const newSecret = () =>
  Type.Union([Type.String(), Type.Null()], {
    description: 'Null when the response is a repeated one: no secret is stored.',
  })

const SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const SLUG_LENGTH_MAX = 60

export const slug = (description: string) =>
  tested<string>(
    { type: 'string', pattern: SLUG.source, maxLength: SLUG_LENGTH_MAX, description },
    `at most ${SLUG_LENGTH_MAX} lower-case letters, digits and single hyphens between them, such as sea-view`,
    (value) => value.length <= SLUG_LENGTH_MAX && SLUG.test(value),
  )

/**
 * Nobody sees them, or they turn the direction of the text (UAX #9): with them, one name looks like another. Joiners are no part of it:
 * Persian and emoji are written with them.
 */
const UNSEEN =
  /[\p{Cc}\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/u
/** Something that is seen. */
const SEEN = /[\p{L}\p{N}\p{P}\p{S}]/u

/** A text for people: not blank, on one line, without characters that nobody sees. */
export const label = (maxLength: number, description: string) =>
  tested<string>(
    { type: 'string', minLength: 1, maxLength, description },
    `a string of 1 to ${maxLength} characters on one line, none of them invisible`,
    (value) => SEEN.test(value) && charactersOf(value) <= maxLength && !UNSEEN.test(value),
  )

const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d$/

export const timeOfDay = (description: string) =>
  tested<string>({ type: 'string', pattern: TIME.source, description }, 'a time HH:MM from 00:00 to 23:59', (value) =>
    TIME.test(value),
  )

const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'))

export const currency = () =>
  tested<string>(
    {
      type: 'string',
      pattern: '^[A-Z]{3}$',
      description: 'ISO 4217 code. Cannot be changed: all amounts are in its minor unit.',
    },
    'an ISO 4217 currency code in capitals, such as EUR',
    (value) => CURRENCIES.has(value),
  )

const ZONES = new Map(Intl.supportedValuesOf('timeZone').map((name) => [name.toLowerCase(), name]))
const ZONE = /^[A-Z][\w+-]*(?:\/[A-Z][\w+-]*)*$/

/** In its canonical spelling: the name is shown to partners, whose libraries may not take another one. */
function isZoneName(name: string): boolean {
  return ZONE.test(name) && (ZONES.get(name.toLowerCase()) ?? name) === name && isTimeZone(name)
}

export const timezone = () =>
  tested<string>(
    { type: 'string', description: 'IANA name. Cannot be changed: it determines day boundaries.' },
    'an IANA time zone name, such as Europe/Lisbon',
    isZoneName,
  )

/** A percentage with at most two decimals; the domain counts in basis points. */
export const pct = (minBasisPoints: number, maxBasisPoints: number, description: string) => {
  const [minimum, maximum] = [pctOfBasisPoints(minBasisPoints), pctOfBasisPoints(maxBasisPoints)]
  return tested<number>(
    { type: 'number', minimum, maximum, description },
    `a number from ${minimum} to ${maximum} with at most two decimals`,
    (value) => value >= minimum && value <= maximum && basisPointsOfPct(value) !== null,
  )
}

/** A time, or a day, which means its start in the time zone of the agency. */
export const instantOrDate = (description: string) =>
  tested<string>(
    { type: 'string', description, examples: ['2027-03-01', '2027-03-01T12:00:00Z'] },
    'an ISO 8601 timestamp with a UTC offset, or a valid date YYYY-MM-DD from 2000 to 2099',
    (value) => parseNight(value) !== null || parseInstant(value) !== null,
  )

/** A text that passed `instantOrDate`, in milliseconds; a date is the beginning of that day in the time zone of the agency. */
export function agencyInstant(agency: Agency, text: string): number {
  if (text.length === 10) return dayStart(text, agency.timezone)
  const at = parseInstant(text)
  assert(at !== null, 'Cannot take a moment: it has not passed the schema')
  return at
}
