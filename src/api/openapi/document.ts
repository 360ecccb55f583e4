import { swagger } from '@elysiajs/swagger'
import { Elysia } from 'elysia'
import type { Operation } from '../operation.ts'
import { normalised } from './normalise.ts'
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
