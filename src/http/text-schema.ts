/**
 * Strings of requests as schemas: one definition validates, gives the text of refusals, and is published in the OpenAPI
 * document. A length counts characters (code points), as JSON Schema's does; TypeBox's own string counts UTF-16 units.
 */
import { Kind, type TSchema, type TUnsafe, Type, TypeRegistry } from '@sinclair/typebox'
import { parseNight } from '../core/domain/night.ts'
import { parseInstant } from '../lib/clock.ts'

interface TextOptions {
  readonly minLength?: number
  readonly maxLength?: number
  readonly format?: 'date' | 'email' | 'date-time'
  readonly description?: string
  readonly examples?: readonly string[]
}

const TEXT = 'Text'

export function text(options: TextOptions = {}): TUnsafe<string> {
  return Type.Unsafe<string>({ ...options, [Kind]: TEXT, type: 'string' })
}

/** One of a few words. */
export function choice<const V extends string>(
  values: readonly V[],
  options: { description?: string; default?: V } = {},
): TUnsafe<V> {
  return Type.Unsafe<V>({ ...options, [Kind]: TEXT, type: 'string', enum: [...values] })
}

export const nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()])

/** A date that exists (docs/design.md#nights). */
export function dateText(description: string): TUnsafe<string> {
  return text({ format: 'date', description, examples: ['2027-03-01'] })
}

/** A moment, with its offset from UTC. */
export function timestampText(description: string): TUnsafe<string> {
  return text({ format: 'date-time', description, examples: ['2027-03-01T12:00:00Z'] })
}

/** RFC 5321 allows no longer address; a longer one would not fit the index that guests are matched by. */
export const EMAIL_LENGTH_MAX = 254

/** As `email` is read by the JSON Schema validators in use. Applied to at most EMAIL_LENGTH_MAX characters. */
const EMAIL =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/i

TypeRegistry.Set<TextOptions & { readonly enum?: readonly string[] }>(TEXT, (schema, value) => {
  if (typeof value !== 'string') return false
  if (schema.enum !== undefined) return schema.enum.includes(value)
  if (schema.format === 'date') return parseNight(value) !== null
  if (schema.format === 'date-time') return parseInstant(value) !== null
  const { minLength = 0, maxLength } = schema
  if (value.length < minLength) return false
  // No string has more characters than UTF-16 units, so most need no counting.
  if (maxLength !== undefined && value.length > maxLength && charactersOf(value) > maxLength) return false
  return schema.format !== 'email' || EMAIL.test(value)
})

/** Code points. */
export function charactersOf(value: string): number {
  let characters = 0
  for (const _ of value) characters += 1
  return characters
}
