import type { TSchema } from '@sinclair/typebox'
import { assert } from '../../../lib/assert.ts'

type ObjectSchema = { type: 'object'; [keyword: string]: unknown }

/**
 * A schema as a client gets it: without TypeBox's symbols, and without `$id`s, because a validator that takes in
 * several tools refuses the second schema of one name.
 */
export function publishedSchema(schema: TSchema): ObjectSchema {
  const published = withoutIds(JSON.parse(JSON.stringify(schema))) as ObjectSchema
  assert(published.type === 'object', 'Cannot publish a schema of a tool: it is not of an object')
  return published
}

function withoutIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutIds)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([keyword]) => keyword !== '$id')
      .map(([keyword, member]) => [keyword, withoutIds(member)]),
  )
}
