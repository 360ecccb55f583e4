/**
 * Turns what @elysiajs/swagger has gathered from the routes into a clean OpenAPI 3.1 document: schemas with an `$id` are moved to
 * `components` and referred to, and what only TypeBox needs is removed. Done once, at start.
 */

type Json = Record<string, unknown>

/** @throws Error when two different schemas have the same `$id` */
export function normalised(document: unknown): Json {
  // Through JSON: TypeBox's symbols are lost, and nothing is shared with the schemas that validate.
  const root = JSON.parse(JSON.stringify(document)) as Json
  const schemas: Json = {}
  const paths = hoisted(root['paths'], schemas)
  const webhooks = hoisted(root['webhooks'], schemas)
  const components = (root['components'] ?? {}) as Json
  return { ...root, paths, webhooks, components: { ...components, schemas: sorted(schemas) } }
}

function hoisted(value: unknown, schemas: Json): unknown {
  if (Array.isArray(value)) return value.map((element) => hoisted(element, schemas))
  if (typeof value !== 'object' || value === null) return value
  const { $id, ...members } = value as Json
  const clean: Json = {}
  for (const [name, member] of Object.entries(members)) clean[name] = hoisted(member, schemas)
  if (typeof $id !== 'string') return clean
  const known = schemas[$id]
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(clean))
    throw new Error(`Cannot describe the surface: two schemas are called ${$id}`)
  schemas[$id] = clean
  return { $ref: `#/components/schemas/${$id}` }
}

function sorted(schemas: Json): Json {
  return Object.fromEntries(Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
