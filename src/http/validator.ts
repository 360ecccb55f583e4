/**
 * Validation with messages that say what is accepted. A schema is compiled once; only a value that fails is examined again
 * to find out why.
 */
import type { Static, TSchema } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import { assert } from '../lib/assert.ts'

/** Fields that a caller is told about. Nothing is looked for beyond them: a body has room for a hundred thousand, which would take seconds (A1). */
export const FAULTS_MAX = 20
/** Of each of several shapes, to see which one the value is nearest to. A field can have a few. */
const ERRORS_OF_VARIANT_MAX = 10 * FAULTS_MAX

/** One offending field of a request. */
export interface FieldError {
  readonly field: string
  /** Names the field and what is accepted. */
  readonly message: string
}

export interface Validator<T> {
  readonly schema: TSchema
  passes(value: unknown): value is T
  /** Why `value` does not pass, the first offending field of the schema first. At least one, at most `FAULTS_MAX`. */
  faultsOf(value: unknown): FieldError[]
}

/** @param whole what the value as a whole is called in messages */
export function validator<S extends TSchema>(schema: S, whole: string): Validator<Static<S>> {
  const compiled = TypeCompiler.Compile(schema)
  return {
    schema,
    passes: (value): value is Static<S> => compiled.Check(value),
    faultsOf: (value) => {
      const faults = new Map<string, FieldError>()
      collectAll(compiled.Errors(value), whole, faults)
      assert(faults.size > 0, 'Cannot say why a value does not pass: it does')
      return [...faults.values()]
    },
  }
}

/** @param errors which TypeBox looks for one by one, when it is asked for the next */
function collectAll(errors: Iterable<ValueError>, whole: string, faults: Map<string, FieldError>): void {
  for (const error of errors) {
    collect(error, whole, faults)
    if (faults.size >= FAULTS_MAX) return
  }
}

/** One message per field: the first that TypeBox reports. */
function collect(error: ValueError, whole: string, faults: Map<string, FieldError>): void {
  const inner = error.type === ValueErrorType.Union ? innerErrors(error) : null
  if (inner !== null) {
    collectAll(inner, whole, faults)
    return
  }
  const field = fieldOf(error.path) || whole
  if (faults.has(field)) return
  if (error.type === ValueErrorType.ObjectAdditionalProperties) {
    const known = Object.keys(error.schema['properties'] as object).join(', ')
    faults.set(field, { field, message: `${field} must be left out: the members are ${known}` })
    return
  }
  const isMissing = error.type === ValueErrorType.ObjectRequiredProperty
  const verb = isMissing ? 'is required and must be' : 'must be'
  faults.set(field, { field, message: `${field} ${verb} ${expectation(error.schema)}` })
}

/** For a nullable object or array, or one of several: what is wrong inside it. Of several, in the one that it is nearest to. */
function innerErrors(error: ValueError): ValueError[] | null {
  if (typeof error.value !== 'object' || error.value === null) return null
  const type = Array.isArray(error.value) ? 'array' : 'object'
  const variants = error.schema['anyOf'] as TSchema[]
  const faults = variants.flatMap((variant, i) => (variant['type'] === type ? [firstErrors(error.errors[i])] : []))
  return faults.toSorted((a, b) => a.length - b.length)[0] ?? null
}

function firstErrors(errors: Iterable<ValueError> = []): ValueError[] {
  return Iterator.from(errors).take(ERRORS_OF_VARIANT_MAX).toArray()
}

/** `/guest/firstName` as `guest.firstName`, `/seasons/0/from` as `seasons[0].from`. */
function fieldOf(path: string): string {
  return path
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((field, part) => (/^\d+$/.test(part) ? `${field}[${part}]` : field === '' ? part : `${field}.${part}`), '')
}

/** Under this symbol a schema says itself what it accepts. Not a member, because the published description must not show it. */
export const EXPECTED = Symbol('expected')

/** What a schema accepts, in words. */
function expectation(schema: TSchema): string {
  const said = (schema as { [EXPECTED]?: string })[EXPECTED]
  if (said !== undefined) return said
  const variants = schema['anyOf'] as TSchema[] | undefined
  if (variants !== undefined) return variants.map(expectation).join(' or ')
  if (schema['const'] !== undefined) return JSON.stringify(schema['const'])
  if (Array.isArray(schema['enum'])) return `one of ${schema['enum'].join(', ')}`
  switch (schema['type']) {
    case 'string':
      return expectedText(schema)
    case 'integer':
      return `an integer${range(schema)}`
    case 'number':
      return `a number${range(schema)}`
    case 'boolean':
      return 'true or false'
    case 'array':
      return expectedArray(schema)
    case 'null':
      return 'null'
    default:
      return 'an object'
  }
}

function expectedArray({ minItems, maxItems }: TSchema): string {
  if (maxItems === undefined) return 'an array'
  return minItems === undefined
    ? `an array of at most ${maxItems} items`
    : `an array of ${minItems} to ${maxItems} items`
}

function expectedText(schema: TSchema): string {
  const { format, minLength = 0, maxLength } = schema as { format?: string; minLength?: number; maxLength?: number }
  if (format === 'date') return 'a valid date YYYY-MM-DD from 2000-01-01 to 2099-12-31'
  if (format === 'date-time')
    return 'an ISO 8601 timestamp with a UTC offset, such as 2027-03-01T12:00:00Z (in a URL, + is written %2B)'
  const what =
    format === 'email'
      ? 'an e-mail address'
      : minLength > 0 && maxLength === undefined
        ? 'a non-empty string'
        : 'a string'
  if (maxLength === undefined) return what
  return minLength > 0
    ? `${what} of ${minLength} to ${maxLength} characters`
    : `${what} of at most ${maxLength} characters`
}

function range(schema: TSchema): string {
  const { minimum, maximum } = schema as { minimum?: number; maximum?: number }
  if (minimum !== undefined && maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER)
    return ` from ${minimum} to ${maximum}`
  if (minimum !== undefined) return ` of at least ${minimum}`
  return maximum === undefined ? '' : ` of at most ${maximum}`
}
