import type { TSchema } from '@sinclair/typebox'
import { type ReadBody, readJson } from '../http/strict-json.ts'
import { invalid, invalidField } from '../problems/problems.ts'
import { validator } from '../schema/validator.ts'

const MISSING: ReadBody = { kind: 'refused', problem: invalidField('body', 'is required and must be a JSON object') }

/** Makes the reader of an operation's JSON body. An optional body that is missing reads as `{}`. It never rejects. */
export function bodyReader(schema: TSchema, isOptional: boolean): (request: Request) => Promise<ReadBody> {
  const shape = validator(schema, 'body')
  const accept = (read: ReadBody): ReadBody => {
    if (read.kind === 'refused') return read
    const value = read.value === undefined && isOptional ? {} : read.value
    if (value === undefined) return MISSING
    return shape.passes(value) ? { kind: 'read', value } : { kind: 'refused', problem: invalid(shape.faultsOf(value)) }
  }
  return (request) => readJson(request).then(accept)
}
