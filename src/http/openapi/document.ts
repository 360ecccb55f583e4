import { swagger } from '@elysiajs/swagger'
import { Elysia } from 'elysia'
import type { Operation } from '../operation.ts'
import { operationObject } from './operation-object.ts'
import type { SurfaceDescription } from './surface-description.ts'

const GATHERED_AT = '/gathered'
const VERSION_AND_LICENSE = { version: '1.0.0', license: { name: 'MIT', identifier: 'MIT' } }

/**
 * The OpenAPI 3.1 document of a surface, made from the operations that its routes validate with.
 * @returns its text
 */
export async function surfaceDocument(operations: readonly Operation[], surface: SurfaceDescription): Promise<string> {
  const { info, tags, securityScheme, otherSecuritySchemes = [], components = {}, webhooks } = surface
  const securitySchemes = Object.fromEntries(
    [securityScheme, ...otherSecuritySchemes].map(({ name, scheme }) => [name, scheme]),
  )
  const gatherer = new Elysia().use(
    swagger({
      path: '/gatherer',
      specPath: GATHERED_AT,
      excludeStaticFile: false,
      exclude: ['/gatherer', GATHERED_AT],
      documentation: {
        // The plugin's types stop at 3.0.
        ...({ openapi: '3.1.0', webhooks } as object),
        info: { ...info, ...VERSION_AND_LICENSE },
        servers: [{ url: '/', description: 'This service' }],
        tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
        components: { ...components, securitySchemes } as object,
      },
    }),
  )
  for (const operation of operations) {
    const path = operation.path.replaceAll(/\{(\w+)\}/g, ':$1')
    gatherer.route(operation.method, path, () => '', { detail: operationObject(operation, surface) })
  }
  const gathered = await gatherer.handle(new Request(`http://localhost${GATHERED_AT}`))
  return JSON.stringify(normalised(await gathered.json()))
}

/**
 * Turns what @elysiajs/swagger has gathered from the routes into a clean OpenAPI 3.1 document: schemas with an `$id` are moved to
 * `components` and referred to, and what only TypeBox needs is removed. Done once, at start.
 */

type Json = Record<string, unknown>

/** @throws Error when two different schemas have the same `$id` */
function normalised(document: unknown): Json {
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
