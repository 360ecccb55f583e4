/**
 * The fields of a stored record, declared once: the type of the record, its form in JSON and in rows, and the functions that
 * encode and decode it all follow from the declaration.
 */

import { instantText } from '../../lib/clock.ts'
import { type IdPrefix, idOf } from '../../lib/ids.ts'
import type { Instant } from '../domain/booking.ts'
import { formatNight, type Night, parseNight } from '../domain/night.ts'
import { corrupt } from './journal-error.ts'

/**
 * `id`: stored as a UUID. `night`: stored as a date. `instant`: stored as a point in time. The others are stored as they are;
 * `texts` is a list.
 */
export type FieldKind =
  | 'id'
  | 'text'
  | 'integer'
  | 'bigint'
  | 'digits'
  | 'double'
  | 'boolean'
  | 'night'
  | 'instant'
  | 'texts'
  | 'json'

export interface Field<T, K extends FieldKind = FieldKind> {
  readonly kind: K
  readonly isNullable: null extends T ? true : false
  /** Of an `id`. */
  readonly prefix?: IdPrefix
  /** Exists for the compiler only. */
  readonly value?: T
}

/** By name. */
export type Fields = Readonly<
  Record<string, { readonly kind: FieldKind; readonly isNullable: boolean; readonly prefix?: IdPrefix }>
>

type ValueOf<F> = F extends { readonly value?: infer T } ? T : never

/** A record as the domain has it. */
type Decoded<F extends Fields> = { readonly [N in keyof F]: ValueOf<F[N]> }

/** A record as JSON and rows have it: a night as `YYYY-MM-DD`, an instant in ISO 8601. */
export type Encoded<F extends Fields> = {
  readonly [N in keyof F]: F[N]['kind'] extends 'night' | 'instant'
    ? string | Extract<ValueOf<F[N]>, null>
    : ValueOf<F[N]>
}

/** What can be decoded: encoded values, and instants also as `Date`, as the database driver returns them. */
export type Stored<F extends Fields> = {
  readonly [N in keyof F]: F[N]['kind'] extends 'instant' ? Date | Encoded<F>[N] : Encoded<F>[N]
}

/** An id with this prefix (src/lib/ids.ts). */
export const id = (prefix: IdPrefix): Field<string, 'id'> => ({ ...field<string, 'id'>('id'), prefix })
export const text = <T extends string = string>() => field<T, 'text'>('text')
/** 32 bits. */
export const integer = () => field<number, 'integer'>('integer')
/** Exact up to 2^53. */
export const bigint = () => field<number, 'bigint'>('bigint')
/** 64 bits, as decimal digits. */
export const digits = () => field<string, 'digits'>('digits')
export const double = () => field<number, 'double'>('double')
export const boolean = () => field<boolean, 'boolean'>('boolean')
export const night = () => field<Night, 'night'>('night')
export const instant = () => field<Instant, 'instant'>('instant')
export const texts = <T extends string>() => field<readonly T[], 'texts'>('texts')
export const json = <T extends object>() => field<T, 'json'>('json')

export function nullable<T, K extends FieldKind>(of: Field<T, K>): Field<T | null, K> {
  return { ...of, isNullable: true } as Field<T | null, K>
}

function field<T, K extends FieldKind>(kind: K): Field<T, K> {
  return { kind, isNullable: false } as Field<T, K>
}

/** @returns a function that encodes a record. It keeps the order of the record's members */
export function encoderOf<F extends Fields>(fields: F): (record: Decoded<F>) => Encoded<F> {
  const nights = namesOf(fields, 'night')
  const instants = namesOf(fields, 'instant')
  return (record) => {
    const encoded: Record<string, unknown> = { ...record }
    for (const name of nights) if (encoded[name] !== null) encoded[name] = formatNight(encoded[name] as Night)
    for (const name of instants) if (encoded[name] !== null) encoded[name] = encodeInstant(encoded[name] as Instant)
    return encoded as Encoded<F>
  }
}

/** @returns a function that decodes a stored record, and throws CorruptLedgerError when a value is missing or has another form */
export function decoderOf<F extends Fields>(fields: F): (stored: Stored<F>) => Decoded<F> {
  const each = Object.entries(fields)
  return (stored) => {
    const decoded: Record<string, unknown> = {}
    for (const [name, { kind, isNullable, prefix }] of each) {
      const value: unknown = stored[name]
      if (value === undefined || (value === null && !isNullable)) corrupt(name)
      decoded[name] = value === null ? null : decodeValue(kind, value, prefix)
    }
    return decoded as Decoded<F>
  }
}

/** Rows as they were read column by column: each a list, all of the same length. */
export type Columns<F extends Fields> = { readonly [N in keyof F]: readonly Stored<F>[N][] }

/**
 * As `decoderOf`, of many rows at once: a row is one object literal, made by a function of its own. Ten times as fast, which a start with many
 * agencies is made of (docs/decisions.md#speed).
 */
export function columnDecoderOf<F extends Fields>(fields: F): (columns: Columns<F>) => readonly Decoded<F>[] {
  const each = Object.entries(fields)
  const members = each.map(([name]) => JSON.stringify(name)).map((name) => `${name}: columns[${name}][i]`)
  const row = new Function('columns', 'i', `return {${members.join()}}`) as (of: object, i: number) => Decoded<F>
  return (columns) => {
    const decoded: Record<string, readonly unknown[]> = {}
    for (const [name, { kind, isNullable, prefix }] of each) {
      const lists = new Map<string, unknown>()
      decoded[name] = (columns[name] ?? corrupt(name)).map((value: unknown) => {
        if (value === undefined || (value === null && !isNullable)) corrupt(name)
        if (kind === 'texts' && Array.isArray(value)) return sharedList(lists, value)
        return value === null ? null : decodeValue(kind, value, prefix)
      })
    }
    return (decoded[each[0]?.[0] ?? ''] ?? []).map((_, i) => row(decoded, i))
  }
}

/** Equal lists of words as one: keys mostly have the same scopes. */
function sharedList(lists: Map<string, unknown>, list: readonly unknown[]): unknown {
  const text = JSON.stringify(list)
  const known = lists.get(text) ?? list
  lists.set(text, known)
  return known
}

function decodeValue(kind: FieldKind, value: unknown, prefix?: IdPrefix): unknown {
  if (kind === 'id') return prefix === undefined || typeof value !== 'string' ? corrupt('an id') : idOf(prefix, value)
  if (kind === 'night') return decodeNight(value)
  if (kind === 'instant') return decodeInstant(value)
  return value
}

/** @throws CorruptLedgerError */
export function decodeNight(value: unknown): Night {
  const night = typeof value === 'string' ? parseNight(value) : null
  return night ?? corrupt('a date')
}

/** ISO 8601, UTC, with milliseconds. */
export function encodeInstant(instant: Instant): string {
  return instantText(instant)
}

function decodeInstant(value: unknown): Instant {
  const instant = value instanceof Date ? value.getTime() : Date.parse(String(value))
  return Number.isNaN(instant) ? corrupt('an instant') : instant
}

function namesOf(fields: Fields, kind: FieldKind): readonly string[] {
  return Object.keys(fields).filter((name) => fields[name]?.kind === kind)
}

/** The same fields with `more` after one of them: the order matters where values are identified by their position. */
export function withAfter<F extends Fields, M extends Fields>(fields: F, name: keyof F & string, more: M): F & M {
  const entries = Object.entries(fields)
  const at = entries.findIndex(([each]) => each === name) + 1
  return Object.fromEntries([...entries.slice(0, at), ...Object.entries(more), ...entries.slice(at)]) as F & M
}

/**
 * Equal parts of decoded rules as one object. The units of an agency mostly have the same weekday prices and discounts; lists of their
 * own for each were a quarter of a resident unit's memory (docs/decisions.md#speed). Decoded rules are never changed, so sharing
 * cannot be noticed.
 */
export class SharedValues<T extends object> {
  readonly #max: number
  readonly #byText = new Map<string, T>()

  /** @param max of values kept; when there are more, all are forgotten, and those in use stay with their users */
  constructor(max: number) {
    this.#max = max
  }

  /** The first value with this JSON text. Members in another order make another value. */
  shared(value: T): T {
    const text = JSON.stringify(value)
    const known = this.#byText.get(text)
    if (known !== undefined) return known
    if (this.#byText.size >= this.#max) this.#byText.clear()
    this.#byText.set(text, value)
    return value
  }
}
