import type { TSchema } from '@sinclair/typebox'
import { type ReadBody, useJson } from '../http/strict-json.ts'
import { invalid, invalidField } from '../problems/problems.ts'
import { validator } from '../schema/validator.ts'

const MISSING: ReadBody = { kind: 'refused', problem: invalidField('body', 'is required and must be a JSON object') }

/** Reads a request's JSON body and uses it. Rejects only if `use` does. */
export type BodyReader = <T>(request: Request, use: (body: ReadBody) => T | Promise<T>) => Promise<T>

/** Makes the reader of an operation's JSON body. An optional body that is missing reads as `{}`. */
export function bodyReader(schema: TSchema, isOptional: boolean): BodyReader {
  const shape = validator(schema, 'body')
  const accept = (read: ReadBody): ReadBody => {
    if (read.kind === 'refused') return read
    const value = read.value === undefined && isOptional ? {} : read.value
    if (value === undefined) return MISSING
    if (!shape.passes(value)) return { kind: 'refused', problem: invalid(shape.faultsOf(value)) }
    return value === read.value ? read : { kind: 'read', value }
  }
  return (request, use) => useJson(request, (read) => use(accept(read)))
}
