import { swagger } from '@elysiajs/swagger'
import { type AnyElysia, Elysia } from 'elysia'
import { HEADER_COMPONENTS, PARAMETER_COMPONENTS, SECURITY_SCHEMES } from './components.ts'
import { normalised } from './normalise.ts'
import { WEBHOOKS } from './webhooks.ts'

const GATHERED_AT = '/gathered'

const TAGS = [
  { name: 'Account', description: 'The agency and key in use, with rate limit and quota.' },
  { name: 'Units', description: "The agency's rental units." },
  { name: 'Availability and prices', description: 'Blocked nights, live prices and fees.' },
  { name: 'Bookings', description: 'Read, create and cancel bookings.' },
  { name: 'Guests', description: 'Personal data. Requires a separate scope.' },
  { name: 'Description', description: 'This document.' },
  { name: 'Events', description: 'Signed webhook messages about booking changes.' },
]

/**
 * The OpenAPI 3.1 document of the partner surface, generated from the definitions on the routes.
 * @returns its text
 */
export async function partnerDocument(resources: readonly AnyElysia[]): Promise<string> {
  const gatherer = new Elysia().use(
    swagger({
      path: '/gatherer',
      specPath: GATHERED_AT,
      excludeStaticFile: false,
      exclude: ['/gatherer', GATHERED_AT],
      documentation: {
        // The plugin's types stop at 3.0.
        ...({ openapi: '3.1.0', webhooks: WEBHOOKS } as object),
        info: {
          title: 'nightledger partner API',
          version: '1.0.0',
          summary: "One agency's units, availability, prices, bookings and guests",
          description:
            "Amounts are integers in the minor unit of the agency's currency. Dates are `YYYY-MM-DD`; a stay is the " +
            'half-open range `[arrival, departure)`. Changes inside this version are additive only.',
          license: { name: 'MIT', identifier: 'MIT' },
        } as object as { title: string; version: string },
        servers: [{ url: '/', description: 'This service' }],
        tags: TAGS,
        components: {
          headers: HEADER_COMPONENTS,
          parameters: PARAMETER_COMPONENTS,
          securitySchemes: SECURITY_SCHEMES,
        } as object,
      },
    }),
  )
  for (const resource of resources) gatherer.use(resource)
  const gathered = await gatherer.handle(new Request(`http://localhost${GATHERED_AT}`))
  return JSON.stringify(normalised(await gathered.json()))
}
